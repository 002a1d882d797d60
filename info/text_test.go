package info

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"환경부, <b>분리배출</b> 기준&quot;확대&quot;", `환경부, 분리배출 기준"확대"`},
		{"D-10&#44; 지자체 &amp; 소각장 &#39;비상&#39;", "D-10, 지자체 & 소각장 '비상'"},
		{"A&middot;B&middot;C 3개 시&middot;군&hellip;", "A·B·C 3개 시·군…"},
		{"신&#x2F;재생&nbsp;에너지", "신/재생 에너지"},
		{"3 < 5 그리고 7 > 2", "3 < 5 그리고 7 > 2"},
		{"3 <b>< 5</b> 그리고 7 > 2", "3 < 5 그리고 7 > 2"},
		{"x<5 y", "x<5 y"},
		{"&lt;재생에너지 고시&gt; 개정", "<재생에너지 고시> 개정"},
		{"<AI 시대>의 <재생에너지>", "<AI 시대>의 <재생에너지>"},
		{"&amp;lt;b&amp;gt; once", "&lt;b&gt; once"},
		{"&lt;script&gt;alert(1)&lt;/script&gt;", ""},
		{"a<script>alert('<b>')</script >b", "a b"},
		{"<p>Steel makers face a <b>carbon</b> levy.</p> Read more", "Steel makers face a carbon levy. Read more"},
		{"one<br>two<BR/>three<p>four", "one two three four"},
		{"a<!-- <b>no</b> -->b", "a b"},
		{`<a href="x>y">link</a>`, "link"},
		{"tail <b", "tail <b"},
		{"&bogus; &#0; & done", "&bogus; & done"},
		{" \t two\n\n lines \x00\x07", "two lines"},
		{"🧑\u200d💻 🌱", "🧑\u200d💻 🌱"},
		{"left\u202eright", "leftright"},
		{"caf\xe9", "café"},
	} {
		if got := Text(c.html, 1000); got != c.want {
			t.Errorf("Text(%q) = %q, not %q", c.html, got, c.want)
		}
	}
}

func TestText_CutBetweenCharacters(t *testing.T) {
	got := Text(strings.Repeat("가", 600), 500)
	if utf8.RuneCountInString(got) != 500 || !strings.HasSuffix(got, "가…") {
		t.Errorf("%d characters, ending in %q", utf8.RuneCountInString(got), got[len(got)-6:])
	}
	if got := Text(strings.Repeat("가", 500), 500); strings.HasSuffix(got, "…") {
		t.Error("a text of exactly the limit was cut")
	}
}

// Markup that was escaped twice does not reach readers as text, nor does that of plain titles.
func TestText_EscapedMarkup(t *testing.T) {
	for in, want := range map[string]string{
		"&lt;b&gt;Bold&lt;/b&gt; news":     "Bold news",
		"&amp;lt;b&amp;gt; stays &amp;lt;": "&lt;b&gt; stays &lt;",
		"3 &lt; 5 and &lt;AI&gt;":          "3 < 5 and <AI>",
	} {
		if got := Text(in, 100); got != want {
			t.Errorf("Text(%q) = %q, not %q", in, got, want)
		}
	}
	d := Draft{Plain: true, URL: "https://a.example/1", Title: `<img src=x onerror=alert(1)>Title`, Snippet: "a < b",
		PublishedAt: time.Unix(1_769_000_000, 0)}
	if a, _, drop := d.Article(Feed, time.Now()); drop != "" || a.Title != "Title" || a.Snippet != "a < b" {
		t.Errorf("%+v %s", a, drop)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"<b>x</b>", "<script>", "<!--", "a&amp;lt;", "<", "</", "<!", "<style>x</sty",
		"\xff<p"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s, 50)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 50 || strings.ContainsAny(got, "\n\r\t\x00") {
			t.Errorf("Text(%q) = %q", s, got)
		}
	})
}
