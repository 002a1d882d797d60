package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	const url = "https://www.example.gov/newsroom/press-releases/2026"
	code, out, errOut := seedctl("", "classify", url)
	if code != exitOK || errOut != "" {
		t.Fatalf("%d, %s", code, errOut)
	}
	for _, want := range []string{"press_release ", url, "\n  path       /newsroom /press-releases /{year}\n",
		"\n  domain     government\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}

	code, out, _ = seedctl("", "classify", "--json", url, "https://example.com/faq")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 2 || !strings.Contains(lines[1], `"primary_type":"faq"`) {
		t.Errorf("%d\n%s", code, out)
	}

	code, out, errOut = seedctl("", "classify", "notaurl", "https://example.com/faq")
	if code != exitFailed || !strings.Contains(errOut, `"notaurl" is not an http or https URL`) ||
		strings.Contains(out, "notaurl") || !strings.Contains(out, "/faq") {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
	if code, _, errOut := seedctl("", "classify"); code != exitUsage || !strings.Contains(errOut, "name a URL") {
		t.Errorf("without a URL: %d, %s", code, errOut)
	}
	if code, _, _ := seedctl("", "classify", "--jsonl", url); code != exitUsage {
		t.Errorf("--jsonl with a URL: %d", code)
	}
}

func TestClassify_Lines(t *testing.T) {
	code, out, errOut := seedctl(`{"url":"https://example.com/faq"}

{"url":""}
nonsense
{"url":"https://example.com/contact-us","authority":"gov"}`, "classify", "--jsonl")
	if code != exitFailed || errOut != "" {
		t.Errorf("%d, %s", code, errOut)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d answers:\n%s", len(lines), out)
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &answer); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"url", "primary_type", "secondary_types", "confidence", "evidence"} {
		if answer[field] == nil {
			t.Errorf("no %s in %s", field, lines[0])
		}
	}
	if answer["primary_type"] != "faq" || len(answer) != 5 {
		t.Errorf("%s", lines[0])
	}
	for _, i := range []int{1, 2} {
		if !strings.HasPrefix(lines[i], `{"error":`) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
	if !strings.Contains(lines[3], `"contact"`) || !strings.Contains(lines[3], `"government"`) {
		t.Errorf("%s", lines[3])
	}
}

// TestClassify_Texts: a title or the text of a link decides where the URL says nothing.
func TestClassify_Texts(t *testing.T) {
	const url = `"url":"https://www.example.go.kr/kor/menu.es?mid=a1010"`
	code, out, _ := seedctl(`{`+url+`}
{`+url+`,"title":"보도자료"}
{`+url+`,"anchor":"공지사항"}`, "classify", "--jsonl")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if code != exitOK || len(lines) != 3 {
		t.Fatalf("%d\n%s", code, out)
	}
	for i, want := range []string{`"primary_type":"unknown"`, `"primary_type":"press_release"`,
		`"primary_type":"announcement"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("no %s in %s", want, lines[i])
		}
	}
	if !strings.Contains(lines[1], `"keyword_sources":["title"]`) ||
		!strings.Contains(lines[2], `"keyword_sources":["anchor"]`) {
		t.Errorf("sources in\n%s", out)
	}
}

// TestClassify_Site: the URLs of a domain are judged together, in any order of the lines.
func TestClassify_Site(t *testing.T) {
	lines := []string{
		`{"url":"https://www.example.go.kr/kor/menu.es?mid=a1010","anchor":"보도자료"}`,
		`{"url":"https://www.example.go.kr/kor/board.es?mid=a1010&bid=7&act=view&list_no=12"}`,
		"https://www.example.go.kr/kor/board.es?mid=a1010&bid=7&act=view&list_no=13",
		`{"url":"https://other.example.com/faq","title":"FAQ","lastmod":"2026-01-28T00:00:00Z","method":"feed"}`,
		"mailto:nobody",
		`{"url":""}`,
	}
	path := filepath.Join(t.TempDir(), "urls.jsonl")
	answers := func(lines []string) map[string]string {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := seedctl("", "classify", "--site", path)
		got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if code != exitFailed || errOut != "" || len(got) != len(lines) {
			t.Fatalf("%d, %s\n%s", code, errOut, out)
		}
		by := map[string]string{}
		for i, line := range lines {
			by[line] = got[i]
		}
		return by
	}
	got := answers(lines)
	for i, want := range []string{"press_release", "press_release", "press_release", "faq", "", ""} {
		if answer := got[lines[i]]; want != "" && !strings.Contains(answer, `"primary_type":"`+want+`"`) ||
			want == "" && !strings.HasPrefix(answer, `{"error":`) {
			t.Errorf("%s: %s", lines[i], answer)
		}
	}
	slices.Reverse(lines)
	if reversed := answers(lines); !maps.Equal(got, reversed) {
		t.Errorf("in another order %v, then %v", got, reversed)
	}
	if code, _, errOut := seedctl("", "classify", "--site", path, "https://x.com/"); code != exitUsage ||
		!strings.Contains(errOut, "--site") {
		t.Errorf("with a URL: %d, %s", code, errOut)
	}
	if code, _, _ := seedctl("", "classify", "--site", path+".gone"); code != exitFailed {
		t.Errorf("no such file: %d", code)
	}
}

// Evidence as inspect --page prints it, and as other programs have it.
func TestClassify_Page(t *testing.T) {
	const url = `"https://www.example.org/a1010"`
	for name, page := range map[string]string{
		"of inspect": `{"title":"Press release: bridge reopens","h1":"Press release","headings":["A"],"words":300,"published":"2026-03-02T00:00:00Z",
			"published_from":"meta","paywall":"markup","lang":"en"}`,
		"of others": `{"h1":"Press release","headings":"A\nB","breadcrumb":"Home > Press","dates":["2026-03-02"],` +
			`"links":12,"other":{}}`,
		"empty": `{}`, "null fields": `{"h1":null,"headings":null,"words":null}`,
	} {
		line := strings.ReplaceAll(`{"url":`+url+`,"page":`+page+`}`, "\n", "")
		code, out, errOut := seedctl(line+"\n", "classify", "--jsonl")
		if code != exitOK {
			t.Errorf("%s: code %d: %s%s", name, code, out, errOut)
		}
		if strings.Contains(page, "Press release") != strings.Contains(out, `"primary_type":"press_release"`) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if code, out, _ := seedctl(`{"url":`+url+`,"page":{"h1":[1]}}`+"\n", "classify", "--jsonl"); code != exitFailed ||
		!strings.Contains(out, "h1") {
		t.Errorf("code %d: %s", code, out)
	}
}
