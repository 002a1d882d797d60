package info

import "testing"

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		want Category
		s    Subject
	}{
		{Environment, Subject{Title: "환경부, 분리배출 표시 기준 전면 개편"}},
		{Environment, Subject{Title: "Lifestyle: zero-waste kitchen tips",
			Snippet: "Tips for a kitchen with less waste."}},
		{Environment, Subject{Title: "Korea to ban direct landfill",
			Categories: []string{"environment", "politics"}}},
		{Environment, Subject{Title: "EU carbon border levy hits steel exporters", Categories: []string{"world"}}},
		{Energy, Subject{Title: "제주 풍력 출력제어 300회…ESS가 답일까"}},
		{Energy, Subject{Title: "전기차 폐배터리 재활용, 2030년 5조원 시장"}},
		{Energy, Subject{Title: "Science: perovskite cell passes 30%",
			Snippet: "A tandem solar cell passed 30% efficiency.", Categories: []string{"science"}}},
		{Energy, Subject{Title: "Maker opens EV plant"}},
		{AI, Subject{Title: "생성형 AI 데이터센터, 물 사용량 공개 의무화 추진"}},
		{AI, Subject{Title: "🌱 \"AI로 폐기물 선별\"… 로봇팔 1대가 하루 8t 처리 🤖", Snippet: "인공지능 선별 로봇"}},
		{AI, Subject{Title: "Startup trains language model on recycling labels",
			Keywords: []string{"ai", "recycling, ml"}}},
		{AI, Subject{Title: "Quarterly results", Tag: "artificial intelligence"}},
		{AI, Subject{Title: "인공지능 시대"}}, // decomposed letters

		// Keywords within other words, and words that only look like them.
		{"", Subject{Title: "Every event said to again raise rainfall",
			Snippet: "Officials said every event again paid attention.", Categories: []string{"top"}}},
		{"", Subject{Title: "Minister visits fishing port"}},
		{"", Subject{Title: "방탄소년단 컴백"}},
		{"", Subject{Title: "경찰 수소문 끝에 찾아"}},
		{"", Subject{Title: "교육환경 개선", Snippet: "작업환경"}},
		{"", Subject{Title: "유가족 위로"}},
		{"", Subject{Title: "Rate environment stays tough", Snippet: "The business environment"}},
		{"", Subject{Title: "New moons of the solar system"}},
		{"", Subject{Title: "고병원성 AI 확산", Snippet: "조류인플루엔자(AI) 방역"}},
		{"", Subject{Title: "Bank opens branch", Categories: []string{"technology", "business", "science", "world"}}},
		{"", Subject{Title: "Concert", Snippet: "A carbon microphone"}}, // one weak word, not in the title
		{"", Subject{}},
	} {
		got, evidence := Classify(c.s)
		if got != c.want || (got == "") != (len(evidence) == 0) {
			t.Errorf("%q: %q, not %q (%v)", c.s.Title, got, c.want, evidence)
		}
		for _, m := range evidence {
			if m.Category != got || m.Keyword == "" || m.Field == "" || m.Points < 1 {
				t.Errorf("%q: %+v is no reason for %s", c.s.Title, m, got)
			}
		}
	}
}

// Ties go to the title, then to the order of the categories.
func TestClassify_Ties(t *testing.T) {
	if c, _ := Classify(Subject{Title: "solar", Snippet: "recycling and landfill"}); c != Energy {
		t.Errorf("%s", c)
	}
	if c, _ := Classify(Subject{Title: "solar recycling"}); c != Environment {
		t.Errorf("%s", c)
	}
}
