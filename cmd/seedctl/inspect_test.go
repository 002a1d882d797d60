package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// inspect runs the command on the saved web.
func inspect(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return seedctl("", append([]string{"inspect", "--web", "testdata/web"}, args...)...)
}

func TestInspect_ShowsTheContract(t *testing.T) {
	code, out, errOut := inspect(t, "www.council.example.com")
	if code != exitOK {
		t.Fatalf("code %d: %s", code, errOut)
	}
	for _, want := range []string{
		"allows crawling, delay 2 s",
		"https://www.council.example.com/sitemap.xml, urlset, 5 URLs",
		"https://www.council.example.com/feeds/news.rss",
		"https://www.council.example.com/news/2026/bridge-reopens",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "/intranet/rota") {
		t.Errorf("what robots.txt forbids is among the URLs that matter:\n%s", out)
	}
}

func TestInspect_PrintsTheDocument(t *testing.T) {
	code, out, errOut := inspect(t, "--json", "--verbose", "https://www.council.example.com/news/")
	var doc contract.Document
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		t.Fatalf("code %d, %v: %s%s", code, err, out, errOut)
	}
	if doc.Domain != "example.com" || !doc.Robots.Exists || doc.Sitemap.URLCount != 5 || len(doc.URLs) != 1 {
		t.Errorf("got %+v", doc)
	}
	if got := strings.Count(errOut, "/robots.txt: 200"); got != 1 {
		t.Errorf("robots.txt was asked for %d times:\n%s", got, errOut)
	}
}

func TestInspect_Failures(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing answers", []string{"nowhere.example.org"}, exitFailed, "nothing answered"},
		{"no registrable domain", []string{"localhost"}, exitFailed, "has no registrable domain"},
		{"an address", []string{"http://127.0.0.1/"}, exitFailed, "has no registrable domain"},
		{"no argument", nil, exitUsage, "name one domain"},
		{"a wrong agent", []string{"--agent", "(compatible)", "www.council.example.com"}, exitFailed, "USER_AGENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errOut := inspect(t, c.args...)
			if code != c.code || !strings.Contains(out+errOut, c.want) {
				t.Errorf("code %d, want %d with %q:\n%s%s", code, c.code, c.want, out, errOut)
			}
		})
	}
}

// A saved web ends at its directory.
func TestInspect_SavedWebStaysInItsDirectory(t *testing.T) {
	code, out, errOut := inspect(t, "--json", "--verbose",
		"https://www.council.example.com/../../web_test.go?../../../../etc/passwd")
	if code != exitOK || strings.Contains(out+errOut, "root:") {
		t.Errorf("code %d:\n%s%s", code, out, errOut)
	}
}

// A name without requests has no status, and its sitemap is not robots.txt.
func TestInspect_RefusedName(t *testing.T) {
	_, out, _ := inspect(t, "nosuch.invalid")
	if strings.Contains(out, "status") || strings.Count(out, "/robots.txt") != 1 ||
		!strings.Contains(out, "sitemap     not asked for, since robots.txt could not be read\n") ||
		strings.Contains(out, "raw file") {
		t.Error(out)
	}
}

const savedPage = `<title>Bridge reopens</title><h1>Bridge reopens</h1><p>It reopens on Monday after eleven months of repairs,
says the council of the city.</p>`

func TestInspect_Page(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a.html", "b.html"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte(savedPage), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errOut := seedctl("", append([]string{"inspect", "--page", "--json"}, files...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != len(files) {
		t.Fatalf("code %d: %s%s", code, out, errOut)
	}
	for i, line := range lines {
		var report pageReport
		if err := json.Unmarshal([]byte(line), &report); err != nil || report.File != files[i] ||
			report.Page.H1 != "Bridge reopens" || !strings.HasPrefix(report.Page.Text, "It reopens on Monday") {
			t.Errorf("%v: %s", err, line)
		}
	}
	if code, out, _ := seedctl(savedPage, "inspect", "--page", "-"); code != exitOK ||
		!strings.Contains(out, "Bridge") {
		t.Errorf("code %d: %s", code, out)
	}
	if code, out, errOut := seedctl("", "inspect", "--page", "--json", "nowhere.html", files[0]); code != exitFailed ||
		!strings.Contains(errOut, "nowhere.html") || strings.Count(out, "\n") != 1 {
		t.Errorf("a missing file: code %d: %s%s", code, out, errOut)
	}
}

// A page is fetched after the robots.txt of its host, which may forbid it.
func TestInspect_PageOfTheWeb(t *testing.T) {
	const site = "https://www.council.example.com"
	code, out, errOut := inspect(t, "--page", "--json", "--verbose", site+"/")
	if code != exitOK || !strings.Contains(out, `"title"`) || !strings.Contains(errOut, "/robots.txt") ||
		strings.Index(errOut, "/robots.txt") > strings.Index(errOut, site+"/:") {
		t.Errorf("code %d: %s%s", code, out, errOut)
	}
	for url, want := range map[string]string{
		site + "/intranet/rota": "robots.txt forbids it", site + "/none": "404", "https://127.0.0.1/": "address",
		"https://nowhere.example.org/": "resolve",
	} {
		if code, out, errOut := inspect(t, "--page", url); code != exitFailed || !strings.Contains(errOut, want) {
			t.Errorf("%s: code %d: %s%s", url, code, out, errOut)
		}
	}
}
