package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const herald = `<?xml version="1.0"?><urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>/a?x=1&amp;y=2</loc><lastmod>2026-02-10</lastmod><news:news><news:title>A</news:title></news:news></url>
<url><loc>https://h.example/b</loc><lastmod>2026-02-09T18:30:00+09:00</lastmod></url><url><loc>mailto:x</loc></url>`

func TestSitemap_JSON(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "index.xml")
	if err := os.WriteFile(index,
		[]byte(
			"<sitemapindex><sitemap><loc>a.xml</loc></sitemap><sitemap><loc>/b.xml?c&amp;d</loc></sitemap>"+
				"</sitemapindex>"),
		0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := seedctl(herald, "sitemap", "--base", "https://h.example/maps/s.xml", "--json", "-", index)
	want := `{"file":"-","kind":"urlset","url_count":2,"child_sitemaps":[],"first_loc":"https://h.example/a?x=1&y=2",` +
		`"last_loc":"https://h.example/b",` +
		`"lastmod_min":"2026-02-09T09:30:00Z","lastmod_max":"2026-02-10T00:00:00Z","news_titles":1,"truncated":true,"over_limit":false,"error":null}
{"file":"` + index +
		`","kind":"index","url_count":0,"child_sitemaps":["https://h.example/maps/a.xml",` +
		`"https://h.example/b.xml?c&d"],"first_loc":null,"last_loc":null,` +
		`"lastmod_min":null,"lastmod_max":null,"news_titles":0,"truncated":false,"over_limit":false,"error":null}
`
	if code != exitOK || out != want || errOut != "" {
		t.Errorf("%d, %s\nwant %s\n%s", code, out, want, errOut)
	}
}

func TestSitemap_Table(t *testing.T) {
	code, out, errOut := seedctl(herald, "sitemap", "-", "--base=https://h.example/")
	want := `FILE  KIND    URLS  SITEMAPS  NEWS  OLDEST                NEWEST                NOTES
-     urlset  2     0         1     2026-02-09T09:30:00Z  2026-02-10T00:00:00Z  cut short; 1 without a usable URL
`
	if code != exitOK || out != want || errOut != "" {
		t.Errorf("%d, %s\nwant %s\n%s", code, out, want, errOut)
	}
	// What is no sitemap is an answer.
	code, out, _ = seedctl("<html>", "sitemap", "-")
	if code != exitOK ||
		!strings.Contains(out, "invalid  0     0         0     -       -       a web page, not a sitemap\n") {
		t.Errorf("%d, %s", code, out)
	}
}

func TestSitemap_Input(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no-such.xml")
	for _, c := range []struct {
		name      string
		args      []string
		code      int
		lines     int
		complaint string
	}{
		{"no file", nil, exitUsage, 0, "name a file"},
		{"relative base", []string{"--base", "/x", "-"}, exitUsage, 0, "--base"},
		{"base of another scheme", []string{"--base", "ftp://h.example/", "-"}, exitUsage, 0, "--base"},
		{"one file is missing", []string{"--json", missing, "-"}, exitFailed, 1, "no-such.xml"},
		{"a directory", []string{"--json", t.TempDir()}, exitFailed, 0, "directory"},
	} {
		code, out, errOut := seedctl("https://h.example/1\n", append([]string{"sitemap"}, c.args...)...)
		if code != c.code || strings.Count(out, "\n") != c.lines || !strings.Contains(errOut, c.complaint) {
			t.Errorf("%s: %d, %q, %q", c.name, code, out, errOut)
		}
	}
}

// TestSitemap_Corpus: the command line prints what the package's corpus expects.
func TestSitemap_Corpus(t *testing.T) {
	const corpus = "../../sitemap/testdata/corpus"
	data, err := os.ReadFile(corpus + "/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []map[string]any }
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(doc.Cases), err)
	}
	for _, x := range doc.Cases {
		file := x["file"].(string)
		code, out, errOut := seedctl("", "sitemap", "--base", x["base_url"].(string), "--json",
			filepath.Join(corpus, file))
		var got map[string]any
		if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&got); err != nil || code != exitOK ||
			errOut != "" {
			t.Errorf("%s: %d, %v, %s", file, code, err, errOut)
			continue
		}
		for _, field := range []string{"kind", "url_count", "first_loc", "last_loc", "lastmod_min", "lastmod_max",
			"news_titles", "truncated"} {
			if any, ok := x[field+"_any"].([]any); ok {
				x[field] = nil
				for _, v := range any {
					if v == got[field] {
						x[field] = v
					}
				}
			}
			if got[field] != x[field] {
				t.Errorf("%s: %s = %v, want %v", file, field, got[field], x[field])
			}
		}
	}
}
