package collector

import "testing"

func TestSnippets(t *testing.T) {
	for html, want := range map[string]string{
		"<p>One &amp; <b>two</b></p>\n<br/>three": "One & two three",
		"3 < 5 and a<b":             "3 < 5 and a<b",
		"<!-- no -->text":           "text",
		"&lt;script&gt;":            "<script>",
		"zero\u200bwidth \u202eand": "zerowidth and",
		"":                          "",
		"  <b>led</b> and trailed ": "led and trailed",
		"two  spaces":               "two spaces",
		"a\ttab":                    "a tab",
		" \u00a0no-break ":          "no-break",
		"rubbed\x7fout":             "rubbedout",
		"<":                         "<",
		"<a href='x":                "<a href='x",
	} {
		if got := snippetOf([]byte(html), false); got != want {
			t.Errorf("%q: %q, want %q", html, got, want)
		}
	}
	if got := snippetOf([]byte("a <b>\n c"), true); got != "a <b> c" {
		t.Errorf("%q", got)
	}
}
