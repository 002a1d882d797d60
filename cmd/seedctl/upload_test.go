package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
)

// lay writes files below a new directory and gives it.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const day = "country=sg/category=news/date=2026-01-28/"

// TestUpload: which files go where. The engine has raw_0001 of 2 bytes in sg/news/2026-01-28.
func TestUpload(t *testing.T) {
	flags := "--country sg --category news --date 2026-01-28 "
	for _, c := range []struct {
		name  string
		files map[string]string
		line  string // in the directory of the files
		code  int
		sent  string // paths of the datasets
		want  string // in the complaints
	}{
		{"number of the path", map[string]string{day + "raw_0007.json": "[]"}, day + "raw_0007.json", exitOK,
			"sg/news/2026-01-28/raw_0007", ""},
		{"flags before the path", map[string]string{day + "raw_0007.json": "[]"},
			"--date 2026-02-01 --country kr --category=gov " + day + "raw_0007.json", exitOK,
			"kr/gov/2026-02-01/raw_0007", ""},
		{"some of each", map[string]string{"country=sg/x/raw_123456.json": " \n[]"},
			"--category news --date 2026-01-28 country=sg/x/raw_123456.json", exitOK, "sg/news/2026-01-28/raw_123456",
			""},
		{"next free", map[string]string{"export.json": "\xef\xbb\xbf{}", "b.json": "[0]"}, flags + "export.json b.json",
			exitOK, "sg/news/2026-01-28/raw_0002 sg/news/2026-01-28/raw_0003", ""},
		{"first of a day", map[string]string{"export.json": "{}"}, flags + "--date 2026-03-01 export.json", exitOK,
			"sg/news/2026-03-01/raw_0001", ""},
		{"names before free numbers", map[string]string{"export.json": "{}", "raw_0002.json": "[]"},
			flags + "export.json raw_0002.json", exitOK, "sg/news/2026-01-28/raw_0002 sg/news/2026-01-28/raw_0003", ""},
		{"chunk", map[string]string{"export.json": "{}"}, flags + "--chunk 0100 export.json", exitOK,
			"sg/news/2026-01-28/raw_0100", ""},
		{"a short chunk", map[string]string{"export.json": "{}"}, flags + "--chunk 7 export.json", exitOK,
			"sg/news/2026-01-28/raw_0007", ""},
		{"next", map[string]string{day + "raw_0001.json": "[{}]", day + "raw_0009.json": "[0]"}, "--next .", exitOK,
			"sg/news/2026-01-28/raw_0002 sg/news/2026-01-28/raw_0003", ""},
		{"directory", map[string]string{day + "raw_0002.json": "[]", day + "raw_metadata.json": "{}",
			day + ".DS_Store":             "x",
			day + "raw_0002.json.success": "",
			"country=sg/category=news/date=2026-01-29/raw_0001.json": "[]"}, ".", exitOK,
			"sg/news/2026-01-28/raw_0002 sg/news/2026-01-29/raw_0001", ""},
		{"there already", map[string]string{day + "raw_0001.json": "[]", day + "raw_0002.json": "[]"}, ".", exitOK,
			"sg/news/2026-01-28/raw_0002", ""},
		{"there, but another", map[string]string{day + "raw_0001.json": "[{}]", day + "raw_0002.json": "[]"}, ".",
			exitFailed, "sg/news/2026-01-28/raw_0002",
			"raw_0001.json is there with another content, and was processed; --next takes the next free number " +
				"(already_exists)"},
		{"refused", map[string]string{"country=xx/category=news/date=2026-01-28/raw_0001.json": "[]",
			day + "raw_0002.json": "[]"}, ".", exitFailed, "sg/news/2026-01-28/raw_0002", "country: "},

		{"no arguments", nil, "", exitUsage, "", "name raw files or directories"},
		{"both", map[string]string{"a.json": "[]"}, flags + "--next --chunk 0001 a.json", exitUsage, "",
			"exclude each other"},
		{"no number", map[string]string{"a.json": "[]"}, flags + "--chunk 1a a.json", exitUsage, "",
			`--chunk "1a" is no number`},
		{"one chunk, two files", map[string]string{"a.json": "[]", "b.json": "[]"},
			flags + "--chunk 0001 a.json b.json",
			exitUsage, "", "--chunk is for one file"},
		{"twice", map[string]string{"a/raw_0002.json": "[]", "b/raw_0002.json": "[]"}, flags + ".", exitUsage, "",
			"are both raw/country=sg/category=news/date=2026-01-28/raw_0002.json"},
		{"no partition", map[string]string{"raw_0002.json": "[]"}, "raw_0002.json", exitUsage, "",
			"raw_0002.json: give --country, --category and --date, since its path has no country=…, category=… or " +
				"date=…\n"},
		{"part of a partition", map[string]string{"country=sg/raw_0002.json": "[]"},
			"--date 2026-01-28 country=sg/raw_0002.json", exitUsage, "",
			"raw_0002.json: give --category, since its path has no category=…\n"},
		{"no such day", map[string]string{"raw_0002.json": "[]"}, flags + "--date 2026-02-30 raw_0002.json", exitUsage,
			"",
			"--date"},
		{"no such file", map[string]string{day + "raw_0002.json": "[]"}, flags + day + "raw_0002.json nothing.json",
			exitFailed, "", "seedctl upload: nothing.json: no such file"},
		{"standard input", nil, flags + "-", exitUsage, "", "no length"},
		{"nothing in it", map[string]string{"a/b.json": "[]"}, flags + "a", exitFailed, "",
			"a holds no files called raw_NNNN.json"},
		{"no JSON", map[string]string{day + "raw_0002.json": "[]", day + "raw_0003.json": "\x1f\x8b\x08"}, ".",
			exitFailed,
			"", "raw_0003.json is no raw file"},
		{"empty", map[string]string{day + "raw_0003.json": " \n"}, ".", exitFailed, "", "raw_0003.json is no raw file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			e.before = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/xx/") {
					respond(w, 400, &client.Error{Code: "validation_error", Message: "is not known", Field: "country"})
				}
				return strings.Contains(r.URL.Path, "/xx/")
			}
			t.Chdir(lay(t, c.files))
			code, out, errOut := seedctl("", append([]string{"upload", "--json"}, strings.Fields(c.line)...)...)
			var sent []string
			for _, asked := range e.asked() {
				if path, put := strings.CutPrefix(asked, "PUT /datasets/"); put {
					sent = append(sent, strings.Fields(path)[0])
				}
			}
			if code != c.code || strings.Join(sent, " ") != c.sent || !strings.Contains(errOut, c.want) ||
				c.want == "" && errOut != "" {
				t.Errorf("%d, sent %v: %s%s", code, sent, out, errOut)
			}
			n := 0
			for line := range strings.Lines(out) {
				var u uploaded
				if err := json.Unmarshal([]byte(line), &u); err != nil {
					t.Error(err, line)
				}
				if u.State == stored {
					n++
				}
				if (u.State == failed) != (u.Error != nil) {
					t.Error(line)
				}
			}
			if n != len(sent) {
				t.Errorf("%d said to be stored of %d: %s", n, len(sent), out)
			}
		})
	}
}

// TestUpload_Orchestrates: each partition that holds files is queued once, at the end.
func TestUpload_Orchestrates(t *testing.T) {
	e := newEngine(t)
	dir := lay(t, map[string]string{day + "raw_0001.json": "[]", day + "raw_0002.json": "[]",
		"country=sg/category=gov/date=2026-01-28/raw_0001.json": "[]",
		"country=sg/category=bad/date=2026-01-28/raw_0001.json": "[]"})
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == "PUT" && strings.Contains(r.URL.Path, "/bad/") {
			respond(w, 400, &client.Error{Code: "validation_error", Message: "bad", Field: "category"})
			return true
		}
		return false
	}
	code, out, errOut := seedctl("", "upload", "--orchestrate", dir)
	if code != exitFailed || !strings.Contains(out,
		"sg/news/2026-01-28: 150 raw files found, 149 queued, 1 skipped (1 finished)\n") ||
		!strings.Contains(errOut, "category: bad (validation_error)") {
		t.Error(code, out, errOut)
	}
	asked := slices.DeleteFunc(e.asked(), func(s string) bool { return !strings.HasPrefix(s, "POST") })
	if want := []string{`POST /seeds/orchestrate {"country":"sg","category":"gov","date":"2026-01-28"}`,
		`POST /seeds/orchestrate {"country":"sg","category":"news","date":"2026-01-28"}`}; !slices.Equal(asked, want) {
		t.Error(asked)
	}
	if _, out, _ = seedctl("", "upload", "--orchestrate", "--json", dir); !strings.HasSuffix(out,
		`{"partition_info":{"country":"sg","category":"news","date":"2026-01-28"},"files_found":150,"sent":149,`+
			`"skipped":1,"finished":1}`+"\n") {
		t.Error(out)
	}
}

// The content decides whether a file is there already; its size only where the store has no digest.
func TestUpload_SameOrReplace(t *testing.T) {
	e := newEngine(t)
	t.Chdir(lay(t, map[string]string{day + "raw_0001.json": "{}", day + "raw_0003.json": "[1]"}))
	if code, _, errOut := seedctl("", "upload", "."); code != exitFailed ||
		!strings.Contains(errOut, "raw_0001.json is there with another content") {
		t.Errorf("another file of the same size: %d %s", code, errOut)
	}
	e.with(func() { e.files["sg/news/2026-01-28/raw_0001"] = playedFile{size: 2} })
	if code, out, errOut := seedctl("", "upload", "."); code != exitOK || strings.Count(out, "exists") != 2 {
		t.Errorf("without a digest: %d %s%s", code, out, errOut)
	}
	e.with(func() { e.files["sg/news/2026-01-28/raw_0001"] = playedFile{2, md5Text("[]")} })
	e.asked()
	code, out, errOut := seedctl("", "upload", "--replace", ".")
	if code != exitOK || !strings.HasPrefix(out,
		"replaced  raw/country=sg/category=news/date=2026-01-28/raw_0001.json") ||
		!strings.Contains(out, "exists  raw/") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	if asked := e.asked(); len(asked) != 2 ||
		!strings.HasPrefix(asked[1], "PUT /datasets/sg/news/2026-01-28/raw_0001?replace=true") {
		t.Errorf("asked %q", asked)
	}
	e.with(func() { e.files["sg/news/2026-01-28/raw_0005"] = playedFile{2, md5Text("[]")} })
	t.Chdir(lay(t, map[string]string{day + "raw_0005.json": "{}"}))
	if code, _, errOut := seedctl("", "upload", "."); code != exitFailed || !strings.Contains(errOut,
		"raw_0005.json is there with another content; --next takes the next free number, --replace stores this one "+
			"in its place (already_exists)") {
		t.Errorf("one that was not processed: %d %s", code, errOut)
	}
	e.with(func() { e.files["sg/news/2026-01-28/raw_0666"] = playedFile{2, md5Text("[]")} })
	t.Chdir(lay(t, map[string]string{day + "raw_0666.json": "{}"}))
	if code, _, errOut := seedctl("", "upload", "--replace", "."); code != exitFailed ||
		!strings.Contains(errOut, "raw_0666 was processed") {
		t.Errorf("a processed one: %d %s", code, errOut)
	}
}

// TestUpload_Races: a number that somebody else takes first, and an answer that gets lost.
func TestUpload_Races(t *testing.T) {
	const other, same = "sg/news/2026-01-28/raw_0002", "sg/news/2026-01-28/raw_0002"
	take := func(e *playedEngine, w http.ResponseWriter, content string) bool {
		e.files[other] = playedFile{int64(len(content)), md5Text(content)}
		return false
	}
	for name, c := range map[string]struct {
		file   string
		before func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool // n counts PUTs
		code   int
		state  string
		key    string
		want   string
	}{
		"a free number is taken": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				return n == 1 && take(e, w, "{}")
			}, exitOK, stored, "raw_0003", ""},
		"a free number is taken by the same": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				return n == 1 && take(e, w, "[]")
			}, exitOK, exists, "raw_0002", ""},
		"a fixed number is taken by the same": {"raw_0002.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				return n == 1 && take(e, w, "[]")
			}, exitOK, exists, "raw_0002", ""},
		"a fixed number is taken by another": {"raw_0002.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				return n == 1 && take(e, w, "{}")
			}, exitFailed, failed, "raw_0002", "is there with another content"},
		"stored, and the answer lost": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					io.Copy(io.Discard, r.Body)
					e.files[same] = playedFile{2, md5Text("[]")}
					panic(http.ErrAbortHandler)
				}
				return false
			}, exitOK, stored, "raw_0002", "trying again"},
		"lost before it was stored": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					panic(http.ErrAbortHandler)
				}
				return false
			}, exitOK, stored, "raw_0002", "trying again"},
		"storage down for a moment": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					respond(w, 503, &client.Error{Code: "storage_error", Message: "down"})
				}
				return n == 1
			}, exitOK, stored, "raw_0002", "trying again"},
		"always taken, never there": {"export.json",
			func(e *playedEngine, n int, w http.ResponseWriter, r *http.Request) bool {
				respond(w, 409, &client.Error{Code: "already_exists", Message: "taken"})
				return true
			}, exitFailed, failed, "raw_0002", "taken"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.with(func() { e.files["sg/news/2026-01-28/raw_0001"] = playedFile{2, md5Text("11")} })
			n := 0
			e.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != "PUT" {
					return false
				}
				n++
				return c.before(e, n, w, r)
			}
			dir := lay(t, map[string]string{c.file: "[]"})
			code, out, errOut := seedctl("", "upload", "--json", "--country", "sg", "--category", "news", "--date",
				"2026-01-28", filepath.Join(dir, c.file))
			var u uploaded
			if err := json.Unmarshal([]byte(out), &u); err != nil || code != c.code || u.State != c.state ||
				!strings.HasSuffix(u.Key, c.key+".json") || !strings.Contains(errOut, c.want) {
				t.Errorf("%d: %s%s", code, out, errOut)
			}
		})
	}
}

// The same file under another name is recognised where its number is free to choose, and a discarded one is revived by
// its own bytes.
func TestUpload_SameContent(t *testing.T) {
	e := newEngine(t)
	t.Chdir(lay(t, map[string]string{"export.json": "[7]", "copy.json": "[7]", day + "raw_0009.json": "[7]"}))
	flags := []string{"--country", "sg", "--category", "news", "--date", "2026-01-28"}
	upload := func(args ...string) (code int, out string, puts []string) {
		e.asked()
		code, out, errOut := seedctl("", append(append([]string{"upload"}, flags...), args...)...)
		for _, asked := range e.asked() {
			if path, put := strings.CutPrefix(asked, "PUT /datasets/sg/news/2026-01-28/"); put {
				puts = append(puts, strings.Fields(path)[0])
			}
		}
		return code, out + errOut, puts
	}
	code, out, puts := upload("export.json", "copy.json")
	if code != exitOK || !slices.Equal(puts, []string{"raw_0002"}) || !strings.Contains(out, "exists  raw/"+day+
		"raw_0002.json") {
		t.Errorf("twice: %d, sent %q: %s", code, puts, out)
	}
	if code, out, puts := upload("copy.json"); code != exitOK || puts != nil {
		t.Errorf("again: %d, sent %q: %s", code, puts, out)
	}
	if code, out, puts := upload(day + "raw_0009.json"); code != exitOK || !slices.Equal(puts, []string{"raw_0009"}) ||
		!strings.HasSuffix(out, ": the partition has these bytes as raw_0002 too\n") {
		t.Errorf("with a number of its own: %d, sent %q: %s", code, puts, out)
	}

	// raw_0777 is discarded.
	e.with(func() {
		e.files = map[string]playedFile{"sg/news/2026-01-28/raw_0777": {3, md5Text("[7]")}}
	})
	if code, out, puts := upload("--chunk", "777", "export.json"); code != exitOK || puts != nil ||
		out != "discarded  raw/"+day+"raw_0777.json  3 bytes  export.json: it will not be processed; "+
			"--replace revives it\n" {
		t.Errorf("a discarded one without --replace: %d, sent %q: %s", code, puts, out)
	}
	if code, out, puts := upload("--chunk", "777", "--replace", "export.json"); code != exitOK ||
		!slices.Equal(puts, []string{"raw_0777?replace=true"}) || !strings.HasPrefix(out, "replaced") {
		t.Errorf("a discarded one: %d, sent %q: %s", code, puts, out)
	}
	if code, out, puts := upload("copy.json"); code != exitOK || !slices.Equal(puts, []string{"raw_0778"}) {
		t.Errorf("a discarded one under another number: %d, sent %q: %s", code, puts, out)
	}
}

// TestUpload_ChangedWhileRead: a file that grows or shrinks while it is sent has not been uploaded.
func TestUpload_ChangedWhileRead(t *testing.T) {
	for _, size := range []int64{10, 1 << 22} {
		e := newEngine(t)
		path := filepath.Join(lay(t, map[string]string{"raw_0002.json": "[" + strings.Repeat(" ", 1<<21) + "]"}),
			"raw_0002.json")
		e.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "GET" { // after the file was looked at
				if err := os.Truncate(path, size); err != nil {
					t.Error(err)
				}
			}
			return false
		}
		code, out, errOut := seedctl("", "upload", "--json", "--country", "sg", "--category", "news", "--date",
			"2026-01-28", path)
		if code != exitFailed || !strings.Contains(out, `"code":"file_changed"`) ||
			!strings.Contains(errOut, fmt.Sprintf("had 2097154 bytes and has %d now", size)) {
			t.Error(code, out, errOut)
		}
	}
}

// TestUpload_Streams: a file of 64 MB needs no more memory than a small one, and its length is sent.
func TestUpload_Streams(t *testing.T) {
	const size = 64 << 20
	e := newEngine(t)
	path := filepath.Join(lay(t, map[string]string{"raw_0002.json": "["}), "raw_0002.json")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	line := []string{"upload", "--country", "sg", "--category", "news", "--date", "2026-01-28", path}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code, out, errOut := seedctl("", line...)
	runtime.ReadMemStats(&after)
	if code != exitOK || e.files["sg/news/2026-01-28/raw_0002"].size != size {
		t.Error(code, out, errOut)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 { // client and server together
		t.Errorf("%d bytes allocated", allocated)
	}
}

// TestUpload_Stalls: an engine that stops taking bytes is given up; one that is only slow is not.
func TestUpload_Stalls(t *testing.T) {
	defer func(d time.Duration) { limits.Patience = d }(limits.Patience)
	limits.Patience = 400 * time.Millisecond
	e := newEngine(t)
	path := filepath.Join(lay(t, map[string]string{"raw_0002.json": "["}), "raw_0002.json")
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	line := []string{"upload", "--country", "sg", "--category", "news", "--date", "2026-01-28", path}
	ended := make(chan bool)
	stall := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == "PUT" {
			<-ended
		}
		return r.Method == "PUT"
	}
	e.before = stall
	began := time.Now()
	time.AfterFunc(5*limits.Patience, func() { close(ended) }) // the engine serves one at a time
	code, _, errOut := seedctl("", line...)
	if code == exitOK || !strings.Contains(errOut, "gave no answer in time") {
		t.Error(code, time.Since(began), errOut)
	}

	takes := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != "PUT" {
			return false
		}
		for part := make([]byte, 4<<20); ; time.Sleep(limits.Patience / 8) { // 16 parts: twice its patience
			if _, err := io.ReadFull(r.Body, part); err != nil {
				break
			}
		}
		respond(w, 201, map[string]any{"key": "k", "size": 64 << 20, "queued": false})
		return true
	}
	e.with(func() { e.before = takes }) // repeated uploads may still be on their way
	if code, out, errOut := seedctl("", line...); code != exitOK || strings.Contains(errOut, "again") {
		t.Error(code, out, errOut)
	}
}

// TestUpload_Interrupted: Ctrl-C ends an upload; repeated, it goes on where it was.
func TestUpload_Interrupted(t *testing.T) {
	e := newEngine(t)
	dir := lay(t, map[string]string{day + "raw_0002.json": "[]", day + "raw_0003.json": "[{}]"})
	reached := make(chan bool, 1)
	e.with(func() {
		e.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "PUT" && strings.HasSuffix(r.URL.Path, "3") {
				reached <- true
				<-r.Context().Done()
				return true
			}
			return false
		}
	})
	program := start(t, "upload", "--orchestrate", dir)
	<-reached
	code, out, errOut := program.interrupt(t)
	if code != exitInterrupted || strings.Count(out, "stored") != 1 || !strings.Contains(errOut, "1 of 2 files done") ||
		strings.Contains(errOut, "queued") {
		t.Error(code, out, errOut)
	}
	e.with(func() { e.before = nil })
	if code, out, errOut := seedctl("", "upload", dir); code != exitOK || strings.Count(out, "exists") != 1 ||
		strings.Count(out, "stored") != 1 {
		t.Error(code, out, errOut)
	}
}
