package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	const url = "https://www.example.gov/newsroom/press-releases/2026"
	code, out, errOut := seedctl("", "classify", url)
	if code != exitOK || errOut != "" {
		t.Fatalf("%d, %s", code, errOut)
	}
	for _, want := range []string{"press_release ", url, "\n  path       /newsroom /press-releases /{year}\n", "\n  domain     government\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}

	code, out, _ = seedctl("", "classify", "--json", url, "https://example.com/faq")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 2 || !strings.Contains(lines[1], `"primary_type":"faq"`) {
		t.Errorf("%d\n%s", code, out)
	}

	if code, _, errOut := seedctl("", "classify"); code != exitUsage || !strings.Contains(errOut, "name a URL") {
		t.Errorf("without a URL: %d, %s", code, errOut)
	}
	if code, _, _ := seedctl("", "classify", "--jsonl", url); code != exitUsage {
		t.Errorf("--jsonl with a URL: %d", code)
	}
}

func TestClassifyLines(t *testing.T) {
	code, out, errOut := seedctl(`{"url":"https://example.com/faq"}

{"url":""}
nonsense
{"url":"https://example.com/contact-us","authority":"gov"}`, "classify", "--jsonl")
	if code != exitInput || errOut != "" {
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
