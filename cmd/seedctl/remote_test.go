package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// remoteCommands are command lines that succeed with the engine of these tests, at least one for
// each command that talks to it, and the requests that they send.
var remoteCommands = []struct {
	line  string
	asked []string
}{
	{"status", []string{"GET /seeds/status"}},
	{"status --country sg --category news --date 2026-01-28 --by partition,error_type --trend 24",
		[]string{"GET /seeds/status?by=partition&by=error_type&category=news&country=sg&date=2026-01-28&trend=24"}},
	{"status --country sg --category news --date 2026-01-28 --files",
		[]string{"GET /seeds/status?category=news&country=sg&date=2026-01-28", "GET /datasets/sg/news/2026-01-28"}},
	{"orchestrate", []string{"POST /seeds/orchestrate {}", "GET /seeds/status"}},
	{"orchestrate --country sg --category news --date 2026-01-28 --force",
		[]string{`POST /seeds/orchestrate {"country":"sg","category":"news","date":"2026-01-28","force":true}`,
			"GET /seeds/status?category=news&country=sg&date=2026-01-28"}},
	{"files list --country sg --category news --date 2026-01-28", []string{"GET /datasets/sg/news/2026-01-28"}},
	{"files delete --country sg --category news --date 2026-01-28 1",
		[]string{"DELETE /datasets/sg/news/2026-01-28/raw_0001"}},
	{"domains", []string{"GET /seeds/domains?limit=50"}},
	{"domains --limit 0", []string{"GET /seeds/domains?limit=200"}},
	{"domains --country sg --state failed --robots false --sitemap true --error-type timeout_error " +
		"--slower-than 1.5s " +
		"--sort duration --limit 7",
		[]string{
			"GET /seeds/domains?country=sg&error_type=timeout_error&limit=7&robots=false&sitemap=true&" +
				"slower_than_ms=1500&sort=duration&state=failed"}},
	{"domains mom.gov.sg --date 2026-01-28", []string{"GET /seeds/domains/mom.gov.sg?date=2026-01-28"}},
	{"collect gone.example", []string{"POST /seeds/domains/gone.example/collect {}"}},
	{"collect --date 2026-01-28 gone.example",
		[]string{`POST /seeds/domains/gone.example/collect {"date":"2026-01-28"}`}},
	{"dlq list", []string{"GET /dlq?limit=50"}},
	{"dlq list --state stored --queue domain --error-type storage_error --country sg --category news " +
		"--date 2026-01-28 " +
		"--domain gone.example",
		[]string{
			"GET /dlq?category=news&country=sg&date=2026-01-28&domain=gone.example&error_type=storage_error&limit=50&" +
				"queue=domain&state=stored"}},
	{"domains https://mom.gov.sg/x?y=1", []string{"GET /seeds/domains/mom.gov.sg"}},
	{"domains --barrier refuses", []string{"GET /seeds/domains?barrier=refuses&limit=50"}},
	{"dlq list --domain https://www.gone.example/", []string{"GET /dlq?domain=gone.example&limit=50"}},
	{"dlq list --domain www.gone.co.uk", []string{"GET /dlq?domain=gone.co.uk&limit=50"}},
	{"dlq show 4f1c8d", []string{"GET /dlq/4f1c8d"}},
	{"dlq replay 9a02b7 4f1c8d 9a02b7", []string{`POST /dlq/replay {"ids":["4f1c8d","9a02b7"]}`}},
	{"dlq replay --all", []string{`POST /dlq/replay {"all":true}`}},
	{"dlq discard --queue domain --domain gone.example",
		[]string{`POST /dlq/discard {"filter":{"queue":"domain","domain":"gone.example"}}`}},
	{"exclusions list --kind domain", []string{"GET /exclusions?kind=domain&limit=50"}},
	{"exclusions add domain shop.example", []string{"PUT /exclusions/domain/shop.example"}},
	{"exclusions add url https://news.example/archive/*?a=b%20c --reason asked",
		[]string{`PUT /exclusions/url/https:%2F%2Fnews.example%2Farchive%2F%2A%3Fa=b%2520c {"reason":"asked"}`}},
	{"exclusions remove domain shop.example news.example",
		[]string{"DELETE /exclusions/domain/shop.example", "DELETE /exclusions/domain/news.example"}},
	{"alarms list", []string{"GET /seeds/status"}},
	{"alarms test", []string{"POST /alarms/test"}},
	{"frontier stats", []string{"GET /frontier/stats"}},
	{"cost", []string{"GET /seeds/status?trend=24", "GET /frontier/stats"}},
	{"frontier lease", []string{`POST /frontier/lease {"max":10,"lease_seconds":60,"per_host":1}`}},
	{"frontier lease --max 5 --seconds 30 --country kr --category news --types news,faq --kinds page," +
		"entry --per-host 2",
		[]string{
			`POST /frontier/lease {"max":5,"lease_seconds":30,"country":"kr","category":"news","types":["news",` +
				`"faq"],"kinds":["page","entry"],"per_host":2}`}},
	{"frontier lease --domain a.sg --host www.a.sg --min-score 0.5", []string{`POST /frontier/lease {"max":10,` +
		`"lease_seconds":60,"per_host":1,"domain":"a.sg","host":"www.a.sg","min_score":0.5}`}},
	{"frontier report --lease 0.1", nil},
	{"frontier put --country sg --category news --date 2026-01-28", nil},
	{"frontier url https://news.example/rss.xml https://a.example/?a=b",
		[]string{"GET /frontier/url?url=https%3A%2F%2Fnews.example%2Frss.xml",
			"GET /frontier/url?url=https%3A%2F%2Fa.example%2F%3Fa%3Db"}},
	{"frontier hosts", []string{"GET /frontier/hosts?limit=50"}},
	{"frontier hosts --sort size --blocked --limit 1000",
		[]string{"GET /frontier/hosts?blocked=true&limit=200&sort=size"}},
	{"frontier host a.example b.example:8080 --unblock --delay 2.5 --empty", []string{
		`POST /frontier/hosts/a.example {"block_until":null,"delay_seconds":2.5,"empty":true}`,
		`POST /frontier/hosts/b.example:8080 {"block_until":null,"delay_seconds":2.5,"empty":true}`}},
	{"frontier host a.example --delay 30s", []string{`POST /frontier/hosts/a.example {"delay_seconds":30}`}},
	{"frontier host a.example --delay 0d1h", []string{`POST /frontier/hosts/a.example {"delay_seconds":3600}`}},
	{"frontier hosts --blocked --unblock", []string{"GET /frontier/hosts?blocked=true&limit=200",
		`POST /frontier/hosts/www.mom.gov.sg {"block_until":null}`,
		`POST /frontier/hosts/news.example {"block_until":null}`,
		`POST /frontier/hosts/shop.example {"block_until":null}`,
		`POST /frontier/hosts/wall.example {"block_until":null}`,
		`POST /frontier/hosts/wire.example {"block_until":null}`}},
	{"frontier host a.example b.example", []string{"GET /frontier/hosts/a.example", "GET /frontier/hosts/b.example"}},
	{"frontier host a.example --forget all", []string{`POST /frontier/hosts/a.example {"forget":"all"}`}},
	{"frontier snapshot", []string{`POST /frontier/snapshot {}`}},
	{"frontier snapshot shard-1 shard-2", []string{`POST /frontier/snapshot {"shard":"shard-1"}`,
		`POST /frontier/snapshot {"shard":"shard-2"}`}},
	{"frontier import", nil},
	{"frontier restore shard-3", []string{`POST /frontier/restore {"shard":"shard-3"}`,
		`POST /frontier/restore {"shard":"shard-3","cursor":"c1"}`}},
	{"frontier restore --all --cursor c0", []string{`POST /frontier/restore {"cursor":"c0"}`}},
	{"frontier restore --all --live --cursor c0", []string{`POST /frontier/restore {"live":true,"cursor":"c0"}`}},
	{"feed --type news,policy --min-score 0.5 --country sg --category news",
		[]string{"GET /feed?category=news&country=sg&limit=50&min_score=0.5&type=news%2Cpolicy"}},
	{"feed --limit 0", []string{"GET /feed?limit=200"}},
	{"changes --limit 1 --cursor 1", []string{"GET /seeds/changes?cursor=1&limit=1"}},
	{"pause --reason moving", []string{`POST /pipeline/pause {"reason":"moving"}`}},
	{"resume", []string{"POST /pipeline/resume"}},
	{"reconcile --country sg --category news --date 2026-01-28", []string{
		`POST /seeds/reconcile {"country":"sg","category":"news","date":"2026-01-28"}`,
		`POST /seeds/reconcile {"country":"sg","category":"news","date":"2026-01-28","cursor":"c1"}`}},
}

func TestRequests(t *testing.T) {
	e := newEngine(t)
	for _, c := range remoteCommands {
		for _, asJSON := range []bool{false, true} {
			args := strings.Fields(c.line)
			if asJSON {
				args = append(args, "--json")
			}
			code, out, errOut := seedctl("", args...)
			if code != exitOK || out == "" || errOut != "" {
				t.Errorf("%s: %d, %q, %q", c.line, code, out, errOut)
			}
			if asked := e.asked(); strings.Join(asked, "\n") != strings.Join(c.asked, "\n") {
				t.Errorf("%s asked\n%s, not\n%s", c.line, strings.Join(asked, "\n"), strings.Join(c.asked, "\n"))
			}
			for line := range strings.Lines(out) {
				if isJSON := json.Valid([]byte(line)); isJSON != asJSON {
					if !isJSON || !strings.HasPrefix(line, "{") {
						t.Errorf("%s: json is %v: %s", c.line, asJSON, line)
					}
				}
			}
		}
	}
}

// TestUsage: what is wrong with a command line is said before anything is asked.
func TestUsage(t *testing.T) {
	e := newEngine(t)
	for line, want := range map[string]string{
		"status extra":                                 `unexpected argument "extra"`,
		"status --interval 0s":                         "--interval must be above 0",
		"status --files --country sg":                  "name a whole partition",
		"status --url seed":                            `"seed" is not the address of an engine`,
		"status --url ftp://seed":                      "is not the address of an engine",
		"status --url https://u:p@seed.example":        "scheme, host and path alone",
		"status --url http://seed.example":             "unencrypted",
		"status --token-file no/such/file":             "no/such/file",
		"orchestrate sg":                               `unexpected argument "sg"`,
		"orchestrate --timeout 0s":                     "above 0",
		"domains a.example b.example":                  "one DOMAIN at a time",
		"domains --limit -1":                           "--limit must not be below 0",
		"collect":                                      "name one DOMAIN",
		"dlq list 1":                                   `unexpected argument "1"`,
		"dlq show":                                     "name the ID",
		"dlq show 047":                                 "four characters",
		"files list":                                   "name a whole partition",
		"files delete 1":                               "name a whole partition",
		"domains --date 2026-13-01":                    `--date: "2026-13-01" is not a date`,
		"domains --country sgp":                        `--country: "sgp" is not a country`,
		"orchestrate --date yesterday":                 `--date: "yesterday" is not a date`,
		"dlq list --date yesterday":                    `--date: "yesterday" is not a date`,
		"dlq replay":                                   "name either ids",
		"dlq replay --all 1":                           "name either ids",
		"dlq discard --all --queue seed":               "name either ids",
		"dlq forget":                                   `seedctl dlq: no command "forget"`,
		"dlq repl":                                     `seedctl dlq: no command "repl"; did you mean "replay"?`,
		"statsu --json":                                `seedctl: no command "statsu"; did you mean "status"?`,
		"help domain":                                  `no command "domain"; did you mean "domains"?`,
		"exclusions add domain":                        "name a KIND",
		"pause now":                                    `unexpected argument "now"`,
		"feed now":                                     `unexpected argument "now"`,
		"feed --new":                                   "--new needs --follow",
		"feed --follow --new --cursor x":               "send one of",
		"feed --follow --interval 0s":                  "--interval must be above 0",
		"changes --limit -1":                           "--limit must not be below 0",
		"webhook skip":                                 "name the ID of the held delivery",
		"frontier stats all":                           `unexpected argument "all"`,
		"frontier report":                              "--lease is missing",
		"frontier put":                                 "name a whole partition",
		"frontier url":                                 "name a URL",
		"frontier host --empty":                        "name a HOST",
		"frontier host a.example --block -1h":          "--block must be above 0",
		"frontier host a --block 1h --unblock":         "either --block or --unblock",
		"frontier host a --block 1":                    `"1" is no time`,
		"frontier host a --block 1d12":                 `"1d12" is no time`,
		"frontier host a --delay NaN":                  `"NaN" is no time`,
		"frontier host a --delay 1e300":                `"1e300" is no time`,
		"frontier host a --delay=":                     `"" is no time`,
		"frontier host a --delay -1s":                  "--delay must be at least 0",
		"frontier hosts --unblock":                     "takes --blocked",
		"frontier hosts --blocked --unblock --limit 5": "leave --sort and --limit out",
		"frontier export":                              "name a SHARD",
		"frontier quarantine --drop":                   "name a SHARD/ROW",
		"frontier quarantine --drop shard-1":           "is not a SHARD/ROW",
		"frontier quarantine --drop --restore":         "either --drop or --restore",
		"frontier restore":                             "name either one SHARD or --all",
		"frontier restore --all shard-1":               "name either one SHARD or --all",
		"reconcile":                                    "name a whole partition",
		"reconcile --country sg --category news --date 2026-02-30": `--date: "2026-02-30" is not a date`,
		"version 1":         `unexpected argument "1"`,
		"completion tcsh":   `no command "tcsh"`,
		"completion bash 1": `unexpected argument "1"`,
	} {
		code, out, errOut := seedctl("", strings.Fields(line)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: %d, %q, %q", line, code, out, errOut)
		}
	}
	if asked := e.asked(); asked != nil {
		t.Error(asked)
	}
}

func TestTokens(t *testing.T) {
	newEngine(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token + "\n")
	t.Setenv("SEED_API_TOKEN", "another") // the file wins
	if code, _, errOut := seedctl("", "status", "--token-file", file); code != exitOK {
		t.Error(code, errOut)
	}
	code, _, errOut := seedctl("", "status")
	if code != exitDenied || !strings.Contains(errOut, "the token from SEED_API_TOKEN (unauthorized)") ||
		strings.Contains(errOut, "another") {
		t.Error(code, errOut)
	}
	for content, want := range map[string]string{"": "is empty", "a\nb": "holds blanks", "t\u00f6ken": "holds blanks"} {
		write(content)
		if code, _, errOut := seedctl("", "status", "--token-file", file); code != exitUsage ||
			!strings.Contains(errOut, want) {
			t.Errorf("%q: %d, %s", content, code, errOut)
		}
	}
}

// TestErrors: every way in which an engine fails, and what becomes of it. All commands share it.
func TestErrors(t *testing.T) {
	e := newEngine(t)
	fail := func(status int, code, message, field string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			respond(w, status, &client.Error{Code: code, Message: message, Field: field})
			return true
		}
	}
	raw := func(status int, kind, body string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		before func(w http.ResponseWriter, r *http.Request) bool
		line   string
		code   int
		asked  int
		want   string
	}{
		{"field", fail(400, "validation_error", `"x" is not a number`, "by"), "status --by x", exitFailed, 1,
			"seedctl status: by: \"x\" is not a number (validation_error)\n"},
		{"not found", nil, "domains absent.example", exitFailed, 2, // and the list, for one that was meant
			"seedctl domains: domain: there is no such domain (not_found)\n"},
		{"unauthorised", fail(401, "unauthorized", "send the API token", ""), "status", exitDenied, 1,
			"seedctl status: the engine does not accept the token from SEED_API_TOKEN (unauthorized)\n"},
		{"read only", fail(403, "forbidden", "this token may only read", ""), "pause", exitDenied, 1,
			"seedctl pause: the token from SEED_API_TOKEN is not enough: this token may only read (forbidden)\n"},
		{"no token there", fail(503, "token_not_configured", "API_TOKEN is not set", ""), "status", exitDenied, 1,
			"API_TOKEN is not set (token_not_configured, request r-1)"},
		{"internal", fail(500, "internal_error", "something went wrong", ""), "status", exitUnreachable, 1,
			"something went wrong (internal_error, request r-1)"},
		{"storage", fail(503, "storage_error", "the storage did not answer", ""), "status", exitUnreachable, 5,
			"trying again in 8ms"},
		{"storage, force", fail(503, "storage_error", "the storage did not answer", ""), "orchestrate --force",
			exitUnreachable, 1, "(storage_error, request r-1)\n"},
		{"receiver of alarms", fail(502, "webhook_refused", "hooks.example: the webhook answered 404", ""),
			"alarms test", exitFailed, 1, "hooks.example: the webhook answered 404 (webhook_refused, request r-1)\n"},
		{"busy", fail(429, "busy", "too many", ""), "orchestrate --force", exitUnreachable, 5, "too many (busy)"},
		{"other server", raw(200, "text/html", "<p>hello"), "status", exitUnreachable, 1,
			"answered 200 with text/html, otherwise than the Seed Engine; --url or SEED_API_URL"},
		{"gateway", raw(502, "text/html", "<p>bad gateway"), "status", exitUnreachable, 5,
			"answered 502 with text/html"},
		{"nothing", raw(200, "", ""), "status", exitUnreachable, 1, "otherwise than the Seed Engine"},
		{"broken", raw(200, "application/json", `{"success": true, "data": {`), "status", exitUnreachable, 1,
			"with broken JSON"},
		{"no data", raw(200, "application/json", `{"success": true}`), "status", exitUnreachable, 1, "with other JSON"},
		{"null", raw(200, "application/json", `{"success": true, "data": null}`), "status", exitUnreachable, 1,
			"with other JSON"},
		{"other type", raw(200, "application/json", `{"success": true, "data": {"paused": "no"}}`), "status",
			exitUnreachable, 1, "answers otherwise than the Seed Engine 1.0.0 does"},
		{"lie", raw(404, "application/json", `{"success": true, "data": {}}`), "status", exitUnreachable, 1,
			"answered 404 with other JSON"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://login.example/", http.StatusFound)
			return true
		}, "status", exitUnreachable, 1, "redirects to https://login.example/"},
		{"hang-up", func(w http.ResponseWriter, r *http.Request) bool {
			panic(http.ErrAbortHandler)
		}, "status", exitUnreachable, 5, "could not be reached: the connection was closed"},
		{"hang-up, force", func(w http.ResponseWriter, r *http.Request) bool {
			panic(http.ErrAbortHandler)
		}, "orchestrate --force", exitUnreachable, 1, "could not be reached: the connection was closed"},
		{"gateway, force", raw(502, "text/html", "<p>bad gateway"), "orchestrate --force", exitUnreachable, 1,
			"answered 502"},
		{"cut short", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			return raw(200, "application/json", `{"succ`)(w, r)
		}, "status", exitUnreachable, 5, "broke off its answer: the connection ended too early"},
		{"endless list", func(w http.ResponseWriter, r *http.Request) bool {
			respond(w, 200, contract.DomainPage{Cursor: ptr("again")})
			return true
		}, "domains", exitUnreachable, 2, "gives the same page again"},
		{"endless partition", func(w http.ResponseWriter, r *http.Request) bool {
			respond(w, 200, contract.Reconciled{Cursor: ptr("again")})
			return true
		}, "reconcile --country sg --category news --date 2026-01-28", exitUnreachable, 2,
			"to go on: --cursor \"again\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.before = c.before
			code, _, errOut := seedctl("", strings.Fields(c.line)...)
			if asked := e.asked(); code != c.code || len(asked) != c.asked || !strings.Contains(errOut, c.want) {
				t.Errorf("%d after %d requests: %s", code, len(asked), errOut)
			}
		})
	}
}

// TestRecovers: a request that fails for a while succeeds in the end.
func TestRecovers(t *testing.T) {
	e := newEngine(t)
	n := 0
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch n++; n {
		case 1:
			respond(w, 503, &client.Error{Code: "storage_error", Message: "the storage did not answer"})
		case 2:
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	code, out, errOut := seedctl("", "status", "--json")
	if code != exitOK || !json.Valid([]byte(out)) || !strings.Contains(errOut, "trying again") {
		t.Error(code, out, errOut)
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	for _, line := range []string{"status", "orchestrate --force",
		"upload --country sg --category news --date 2026-01-28 ../../sample/raw/country=sg/category=news/" +
			"date=2026-01-28/raw_0001.json"} {
		code, _, errOut := seedctl("", append(strings.Fields(line), "--url", address)...)
		if code != exitUnreachable || strings.Count(errOut, "trying again") != client.MaxRetries ||
			!strings.Contains(errOut, "the connection was refused") || strings.Contains(errOut, "dial tcp") {
			t.Errorf("%s: %d, %s", line, code, errOut)
		}
	}
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	certified.Config.ErrorLog = log.New(io.Discard, "", 0)
	code, _, errOut := seedctl("", "status", "--url", certified.URL)
	if code != exitUnreachable || strings.Contains(errOut, "trying again") || !strings.Contains(errOut, "certificate") {
		t.Errorf("foreign certificate: %d, %s", code, errOut)
	}
}

// TestSlow: an engine that does not answer, or answers for ever, is given up.
func TestSlow(t *testing.T) {
	defer func(d time.Duration) { limits.Patience = d }(limits.Patience)
	limits.Patience = 50 * time.Millisecond
	e := newEngine(t)
	ended := make(chan bool)
	defer close(ended)
	for name, before := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"silent": func(w http.ResponseWriter, r *http.Request) bool {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
			return true
		},
		"trickling": func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
			return true
		},
	} {
		e.before = before
		code, _, errOut := seedctl("", "status")
		if asked := e.asked(); code != exitUnreachable || len(asked) != 1+client.MaxRetries ||
			!strings.Contains(errOut, "gave no answer in time") {
			t.Errorf("%s: %d after %d requests: %s", name, code, len(asked), errOut)
		}
	}
}

func TestTooLarge(t *testing.T) {
	defer func(n int64) { limits.MaxAnswer = n }(limits.MaxAnswer)
	limits.MaxAnswer = 1 << 20
	e := newEngine(t)
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		for blank := strings.Repeat(" ", 1<<16); r.Context().Err() == nil; {
			if _, err := io.WriteString(w, blank); err != nil {
				break
			}
		}
		return true
	}
	code, _, errOut := seedctl("", "status")
	if code != exitUnreachable || !strings.Contains(errOut, "with more than 1048576 bytes") {
		t.Error(code, errOut)
	}
}

// TestHostile: none of the texts that an engine sends controls the terminal, begins a line or
// turns a line around, neither for people nor as JSON.
func TestHostile(t *testing.T) {
	const evil = "\x1b]0;owned\a\x1b[31m\r\nEVIL\tx\u009b2J\u202etxt\u2028\x7f"
	e := newEngine(t)
	poison := func(v any) any { return v }
	poison = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			clean := map[string]any{}
			for name, value := range v {
				if name == "cursor" {
					clean[name] = value
				} else {
					clean[name] = poison(value)
				}
			}
			if queues, ok := v["queues"].(map[string]any); ok {
				clean["queues"] = map[string]any{evil: queues["seed"], evil + "2": nil}
			}
			return clean
		case []any:
			for i := range v {
				v[i] = poison(v[i])
			}
			return v
		case string:
			if _, err := time.Parse(time.RFC3339, v); err == nil {
				return v
			}
			return v + evil
		}
		return v
	}
	inner := e.Config.Handler
	poisoned := func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		inner.ServeHTTP(recorder, r)
		body, err := json.Marshal(poison(decoded(recorder.Body.Bytes())))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "a\u009bb")
		w.WriteHeader(recorder.Code)
		w.Write(body)
	}
	server := httptest.NewServer(http.HandlerFunc(poisoned))
	defer server.Close()
	t.Setenv("SEED_API_URL", server.URL)
	lines := []string{"domains absent.example", "collect no.example", "dlq show no", "dlq replay no",
		"exclusions remove domain no.domain", "status --by no",
		"upload --country xx --category news --date 2026-01-28 ../../sample/raw/country=sg/category=news/" +
			"date=2026-01-28/raw_0001.json"}
	for _, c := range remoteCommands {
		lines = append(lines, c.line)
	}
	for _, line := range lines {
		for _, extra := range []string{"", " --json"} {
			_, out, errOut := seedctl("", strings.Fields(line+extra)...)
			for _, text := range []string{out, errOut} {
				if !utf8.ValidString(text) {
					t.Errorf("%s: not UTF-8: %q", line, text)
				}
				for l := range strings.Lines(text) {
					if strings.ContainsAny(l, "\x1b\a\r\t\u009b\u202e\u2028\x7f") || strings.HasPrefix(l, "EVIL") {
						t.Errorf("%s%s: %q", line, extra, l)
					}
				}
			}
			if extra != "" && strings.Contains(out, "owned") && !strings.Contains(out, `\u009b2J\u202etxt`) {
				t.Errorf("%s: the value is another: %q", line, out)
			}
			e.asked()
		}
	}
}

// TestPages: lists go on over pages up to their limit.
func TestPages(t *testing.T) {
	e := newEngine(t)
	code, out, errOut := seedctl("", "dlq", "list", "--limit", "1")
	if code != exitOK || strings.Count(out, "\n") != 2 || !strings.Contains(errOut, "--limit 0 shows all") {
		t.Error(code, out, errOut)
	}
	e.before = func(w http.ResponseWriter, r *http.Request) bool { // more than was asked for
		respond(w, 200, contract.ExclusionPage{Exclusions: []contract.Exclusion{sampleExclusion(), sampleExclusion()}})
		return true
	}
	if _, out, _ := seedctl("", "exclusions", "list", "--json", "--limit", "1"); strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
	total := 0
	e.before = func(w http.ResponseWriter, r *http.Request) bool { // 450 exclusions
		all := make([]contract.Exclusion, 450)
		for i := range all {
			all[i] = sampleExclusion()
		}
		some, cursor := pageOf(r.URL.Query(), all)
		total += len(some)
		respond(w, 200, contract.ExclusionPage{Exclusions: some, Cursor: cursor})
		return true
	}
	for limit, want := range map[string]int{"0": 450, "1": 1, "200": 200, "201": 201, "450": 450, "500": 450} {
		total = 0
		code, out, _ := seedctl("", "exclusions", "list", "--json", "--limit", limit)
		if code != exitOK || strings.Count(out, "\n") != want || total != want {
			t.Errorf("%s: %d, %d lines, %d asked", limit, code, strings.Count(out, "\n"), total)
		}
	}
}

// TestResolve: replay by ids and by all, over several calls.
func TestResolve(t *testing.T) {
	e := newEngine(t)
	code, out, errOut := seedctl("", "dlq", "replay", "4f1c8d", "9a02b7", "nobody", "--json")
	if code != exitFailed || out != `{"done":1,"skipped":1,"failed":[{"id":"nobody","code":"not_found",`+
		`"message":"there is no such dead letter"}],"remaining":0}`+"\n" ||
		errOut != "seedctl dlq replay: nobody: there is no such dead letter (not_found)\n" {
		t.Error(code, out, errOut)
	}
	e.asked()
	var ids []string
	for i := range 1001 {
		ids = append(ids, fmt.Sprintf("m%04d", i))
	}
	seedctl("", append([]string{"dlq", "discard"}, ids...)...)
	if asked := e.asked(); len(asked) != 3 || strings.Count(asked[0], "m0") != 500 {
		t.Error(len(asked))
	}
	for name, c := range map[string]struct {
		answers []contract.Resolved // the last one again and again
		asked   int
		code    int
		out     string
	}{
		"all": {[]contract.Resolved{{Done: 500, Remaining: 700}, {Done: 500, Remaining: 200}, {Done: 200}},
			3, exitOK, "1200 dead letters discarded, 0 skipped, 0 failed, 0 remaining\n"},
		"none": {[]contract.Resolved{{}}, 1, exitOK,
			"0 dead letters discarded, 0 skipped, 0 failed, 0 remaining\n"},
		"they come back": {[]contract.Resolved{{Done: 500, Remaining: 500}}, 2, exitFailed,
			"1000 dead letters discarded, 0 skipped, 0 failed, 500 remaining\n"},
		"one cannot": {[]contract.Resolved{{Done: 499, Remaining: 2, Failed: []contract.Unresolved{{ID: "x"}}},
			{Done: 1, Remaining: 1, Failed: []contract.Unresolved{{ID: "x"}}},
			{Remaining: 1, Failed: []contract.Unresolved{{ID: "x"}}}}, 3, exitFailed,
			"500 dead letters discarded, 0 skipped, 1 failed, 1 remaining\n"},
	} {
		n := 0
		e.before = func(w http.ResponseWriter, r *http.Request) bool {
			respond(w, 200, c.answers[min(n, len(c.answers)-1)])
			n++
			return true
		}
		code, out, _ := seedctl("", "dlq", "discard", "--all")
		if code != c.code || out != c.out || n != c.asked {
			t.Errorf("%s: %d after %d requests: %s", name, code, n, out)
		}
	}
	n := 0
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 1 {
			respond(w, 200, contract.Resolved{Done: 500, Remaining: 700})
		} else {
			respond(w, 500, &client.Error{Code: "internal_error", Message: "oh"})
		}
		return true
	}
	if code, out, errOut := seedctl("", "dlq", "replay", "--all"); code != exitUnreachable || out != "" ||
		!strings.Contains(errOut, "500 dead letters replayed before the error") {
		t.Error(code, out, errOut)
	}
}

// Items that the webhook skipped are not replayed, which the command says without a request.
func TestDLQ_ReplayOfWebhook(t *testing.T) {
	e := newEngine(t)
	code, _, errOut := seedctl("", "dlq", "replay", "--queue", "webhook")
	if asked := e.asked(); code != exitUsage || len(asked) != 0 ||
		!strings.Contains(errOut, `"seedctl dlq discard --queue webhook"`) {
		t.Error(code, asked, errOut)
	}
}

// TestRestore_Live: only a move of all shards warns of those that it cannot know.
func TestRestore_Live(t *testing.T) {
	newEngine(t)
	const warning = "removed shards that have no snapshot are not known"
	for line, warned := range map[string]bool{"--all --live": true, "shard-3 --live": false, "--all": false} {
		code, out, errOut := seedctl("", append([]string{"frontier", "restore"}, strings.Fields(line)...)...)
		if code != exitOK || errOut != "" || strings.Contains(out, warning) != warned ||
			strings.Contains(line, "--live") == strings.Contains(out, "of 1 snapshot") {
			t.Errorf("%s: %d, %q, %q", line, code, out, errOut)
		}
	}
}

// TestReconcile_GoesOn: the cursor of a call that failed is said, and taken.
func TestReconcile_GoesOn(t *testing.T) {
	e := newEngine(t)
	n := 0
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 2 {
			respond(w, 400, &client.Error{Code: "validation_error", Message: "no", Field: "cursor"})
			return true
		}
		return false
	}
	line := "reconcile --country sg --category news --date 2026-01-28 --json"
	code, _, errOut := seedctl("", strings.Fields(line)...)
	if code != exitFailed || !strings.Contains(errOut, `--cursor "c1"`) {
		t.Error(code, errOut)
	}
	e.asked()
	code, out, _ := seedctl("", strings.Fields(line+" --cursor c1")...)
	if asked := e.asked(); code != exitOK || len(asked) != 1 || !strings.Contains(out, `"files":50,`) {
		t.Error(code, asked, out)
	}
}
