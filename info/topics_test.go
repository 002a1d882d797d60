package info

import (
	"strings"
	"testing"
)

// Another newsroom's topics take the place of ours.
func TestTopics(t *testing.T) {
	d, err := readTopics([]byte(`{"topics":[
		{"id":"football","names":{"ko":"축구","en":"Football"},"strong":["축구","football","world cup"],"weak":["goal*"],
			"source_categories":["soccer"]},
		{"id":"tennis","names":{"ko":"테니스","en":"Tennis"},"strong":["tennis","ace"],"weak":[]}],
		"misleading":["football pool*"],"homonyms":[{"word":"ace","beside":["bandage*"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	l := newLexicon(d)
	for _, c := range []struct {
		want Category
		s    Subject
	}{
		{"football", Subject{Title: "Two goals decide the World Cup"}},
		{"football", Subject{Title: "여자축구 대표팀"}},
		{"football", Subject{Title: "Results", Categories: []string{"Soccer"}}},
		{"tennis", Subject{Title: "An ace ends the match"}},
		{"", Subject{Title: "An ace among bandages"}},
		{"", Subject{Title: "Football pools closed"}},
		{"", Subject{Title: "인공지능과 재생에너지"}}, // ours
	} {
		if got, evidence := l.classify(c.s); got != c.want {
			t.Errorf("%q is %q, not %q: %v", c.s.Title, got, c.want, evidence)
		}
	}
}

func TestTopics_Invalid(t *testing.T) {
	topic := `{"id":"a","names":{"ko":"가","en":"A"},"strong":["a"]}`
	for text, want := range map[string]string{
		`{"topics":[]}`: "empty",
		`{"topics":[` + topic + `,` + topic + `]}`:                                       "topics[1].id",
		strings.ReplaceAll(`{"topics":[`+topic+`]}`, `"id":"a"`, `"id":"all"`):           `"all"`,
		strings.ReplaceAll(`{"topics":[`+topic+`]}`, `"id":"a"`, `"id":"A b"`):           `"A b"`,
		strings.ReplaceAll(`{"topics":[`+topic+`]}`, `,"en":"A"`, ``):                    "en",
		strings.ReplaceAll(`{"topics":[`+topic+`]}`, `"strong":["a"]`, `"strong":[" "]`): "empty keyword",
		strings.ReplaceAll(`{"topics":[`+topic+`]}`, `"strong":["a"]`, `"strong":["*"]`): "empty keyword",
		`{"topics":`: "unexpected end",
	} {
		if _, err := readTopics([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, without %s", text, err, want)
		}
	}
}
