package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func sampleStats() contract.FrontierStats {
	full := contract.FrontierCounts{Hosts: 2, URLs: 1840, Entries: 3, Due: 1, Leased: 5, Done: 260, Failed: 4,
		Scheduled: 240, Revisited: 51, AnsweredToday: 130, RefreshedToday: 45, Bytes: 188_416,
		OldestDue: ptr(at("09:29:30"))}
	return contract.FrontierStats{
		FrontierCounts: full, Shards: []contract.FrontierShard{{Name: "shard-0", FrontierCounts: full},
			{Name: "shard-1"}},
		Unavailable: []string{"shard-2"},
		Scrapers: []contract.FrontierScraper{{First: at("00:00:00"), Last: at("09:12:00"), Leased: 12,
			Fetched: 10}, {Name: "reader-1", First: at("00:00:00"), Last: at("09:29:00"),
			Leased: 270, Fetched: 255, Failed: 9}},
		Found: []contract.FrontierFound{{Hour: at("09:00:00"), Count: 3,
			Types: map[string]int64{"news": 2, "event": 1}}},
	}
}

func (e *playedEngine) frontierStats(*http.Request) (int, any) { return 200, sampleStats() }

func sampleLease() contract.FrontierLease {
	item := contract.FrontierItem{
		ID: "0.mkx1c3b0.3f2a91c0de-41b8a90c55e2", URL: "https://www.mom.gov.sg/newsroom/press-releases/2026/rules",
		Host: "www.mom.gov.sg", Domain: "mom.gov.sg", Kind: "page",
		Type: "press_release", Priority: 0.842, Title: ptr("Rules"), LastMod: ptr(at("06:00:00")), CrawlDelay: 2.5,
		UserAgent: "NewsforkBot/1.0", Partition: sg,
	}
	feed := item
	feed.ID, feed.URL, feed.Host, feed.Domain, feed.Kind, feed.Method, feed.Type = "0.mkx1c3b0.5a2a91c0de-11b8a90c55e2",
		"https://news.example/rss.xml", "news.example", "news.example", "entry", ptr("rss"), "news"
	return contract.FrontierLease{LeaseID: ptr("0.mkx1c3b0"), ExpiresAt: ptr(at("09:31:00")),
		Items: []contract.FrontierItem{item, feed},
		Hosts: map[string]contract.FrontierLeasedHost{
			item.Host: {Delay: 2.5, Robots: contract.FrontierRobots{Status: contract.RobotsFresh,
				ExpiresAt: ptr(at("20:00:00")), URL: ptr("/api/v1/frontier/hosts/" + item.Host + "/robots.txt")}},
			feed.Host: {Delay: 2.5, Robots: contract.FrontierRobots{Status: contract.RobotsUnread}},
		}}
}

func (e *playedEngine) lease(r *http.Request) (int, any) {
	var body leaseBody
	json.NewDecoder(r.Body).Decode(&body)
	if body.Country == "kr" {
		return 200, contract.FrontierLease{Items: []contract.FrontierItem{}, RetryAfter: ptr(int64(12))}
	}
	return 200, sampleLease()
}

func (e *playedEngine) report(r *http.Request) (int, any) {
	var body struct {
		Results []struct {
			ID   string
			URLs []any
		}
	}
	json.NewDecoder(r.Body).Decode(&body)
	var answer contract.FrontierReported
	for i, result := range body.Results {
		if result.ID == "wrong" {
			return 400, &client.Error{Code: "validation_error", Message: "is out of range",
				Field: fmt.Sprintf("results[%d].status", i)}
		}
		answer.Accepted++
		answer.Added += len(result.URLs)
	}
	return 200, answer
}

func (e *playedEngine) putURLs(r *http.Request) (int, any) {
	var body struct{ URLs []struct{ URL string } }
	json.NewDecoder(r.Body).Decode(&body)
	answer := contract.FrontierPut{Rejected: []contract.RejectedURL{}}
	for _, u := range body.URLs {
		switch {
		case strings.HasPrefix(u.URL, "https://www.mom.gov.sg/"):
			answer.Duplicates++
		case strings.HasPrefix(u.URL, "https://"):
			answer.Accepted++
		default:
			answer.Rejected = append(answer.Rejected, contract.RejectedURL{URL: u.URL, Reason: "invalid_url"})
		}
	}
	return 200, answer
}

func (e *playedEngine) removeURLs(r *http.Request) (int, any) {
	var body struct{ URLs []struct{ URL string } }
	json.NewDecoder(r.Body).Decode(&body)
	answer := contract.FrontierRemoved{Rejected: []contract.RejectedURL{}}
	for _, u := range body.URLs {
		if strings.Contains(u.URL, "none.example") {
			answer.Rejected = append(answer.Rejected, contract.RejectedURL{URL: u.URL, Reason: "unknown"})
			continue
		}
		answer.Removed++
	}
	return 200, answer
}

func (e *playedEngine) hostDetail(r *http.Request) (int, any) {
	if r.PathValue("host") == "none.example" {
		return e.host(r)
	}
	return 200, contract.FrontierHostDetail{
		FrontierHost: sampleHosts()[0], Leased: []string{"https://www.mom.gov.sg/a"},
		Patterns: []contract.FrontierPattern{
			{Pattern: "news/0/0/*",
				Observed: contract.Observed{Given: 61, Fetched: 58, Gone: 2, Looks: 120, Changes: 9,
					ChangeHours: ptr(81.4)}},
			{Pattern: "search?page&q", Refused: true, Observed: contract.Observed{Given: 41, Fetched: 41, Copied: 38}}},
		Revisits: contract.FrontierRevisits{Scheduled: 120, NextAt: ptr(at("15:00:00")), LastmodTrusted: true,
			PerDay: 12_500,
			Made:   40_211, ShardScheduled: 910_233, Threshold: 0.0021},
		Of: contract.FrontierDomain{URLs: 312, Limit: 500, CollectedAt: ptr(at("08:00:00")),
			MoreStored: []contract.Partition{{Country: "sg", Category: "news", Date: "2026-01-28"}}},
	}
}

func sampleURL() contract.FrontierURL {
	return contract.FrontierURL{
		URL: "https://news.example/rss.xml", State: "waiting", DueAt: ptr(at("11:00:00")), LastStatus: ptr(200),
		Why: "it is an entry point; its next fetch is at 2026-01-28T11:00:00Z", WhyCode: contract.WhyEntryPoint,
		Checks: []contract.FrontierCheck{{At: at("08:00:00"), Status: ptr(304)}, {At: at("09:00:00")},
			{At: at("09:30:00"), Status: ptr(200), Changed: true}},
		Entry: &contract.FrontierEntry{Method: "rss", Interval: 5400, ETag: ptr("\"1\""),
			ChangedAt: ptr(at("09:30:00"))},
	}
}

func (e *playedEngine) urlState(r *http.Request) (int, any) {
	if url := r.URL.Query().Get("url"); url != sampleURL().URL {
		return 200, contract.FrontierURL{URL: url, State: "unknown", Checks: []contract.FrontierCheck{}}
	}
	return 200, sampleURL()
}

func sampleHosts() []contract.FrontierHost {
	return []contract.FrontierHost{
		{Host: "www.mom.gov.sg", Domain: "mom.gov.sg", URLs: 1830, Entries: 2, Due: 1200, Traps: 12, Delay: 2.5,
			ReadyAt: ptr(at("09:30:02")), DueAt: ptr(at("09:29:30")), Failures: 2,
			LastFailure: &contract.FrontierFailure{At: at("09:25:02"), Error: ptr("connection refused")}},
		{Host: "news.example", Domain: "news.example", URLs: 10, Entries: 1, Due: 10, Delay: 1,
			BlockedUntil: ptr(at("20:00:00"))},
		{Host: "shop.example", Domain: "shop.example", Delay: 1, Excluded: true},
		{Host: "wall.example", Domain: "wall.example", Delay: 1, ForbidsAll: true},
		{Host: "wire.example", Domain: "wire.example", Delay: 1, RobotsUnreadable: true},
	}
}

func (e *playedEngine) hosts(r *http.Request) (int, any) {
	some, cursor := pageOf(r.URL.Query(), sampleHosts())
	return 200, contract.FrontierHostPage{Hosts: some, Cursor: cursor, Unavailable: []string{}}
}

func (e *playedEngine) host(r *http.Request) (int, any) {
	if r.PathValue("host") == "none.example" {
		return 404, &client.Error{Code: "not_found", Message: "the frontier has no host none.example"}
	}
	return 200, contract.FrontierHostChanged{Host: r.PathValue("host")}
}

// export answers with two pages.
func (e *playedEngine) export(r *http.Request) (int, any) {
	page := contract.FrontierExport{Shard: r.PathValue("shard"), Snapshot: json.RawMessage(`{"version":1,"hosts":[]}`)}
	if r.URL.Query().Get("cursor") == "" {
		page.Cursor = ptr("7")
	}
	return 200, page
}

// quarantine serves two pages for each shard.
func (e *playedEngine) quarantine(r *http.Request) (int, any) {
	page := contract.FrontierQuarantine{Shard: r.PathValue("shard"), Rows: []contract.FrontierQuarantinedRow{{ID: 1,
		At: *ptr(at("08:30:00")), Table: "hosts", Key: 5, Name: "www.mom.gov.sg", Reason: "a stored record is damaged",
		Bytes: 1840}}}
	if r.URL.Query().Get("cursor") == "" {
		page.Cursor = ptr("1")
	} else {
		page.Rows[0].ID, page.Rows[0].Table, page.Rows[0].Name = 4, "feed", ""
	}
	return 200, page
}

func (e *playedEngine) quarantineRow(r *http.Request) (int, any) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	return 200, contract.FrontierQuarantineChanged{Shard: r.PathValue("shard"), ID: id}
}

func TestFrontierQuarantine_AllShards(t *testing.T) {
	e := newEngine(t)
	stats := sampleStats()
	stats.Shards[0].Quarantined = 2
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/stats") {
			return false
		}
		respond(w, 200, stats)
		return true
	}
	code, out, errOut := seedctl("", "frontier", "quarantine", "--json")
	if code != 0 || strings.Count(out, "\n") != 2 ||
		!strings.Contains(out, `{"shard":"`+stats.Shards[0].Name+`","id":1,`) {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
}

// restore takes two calls.
func (e *playedEngine) restore(r *http.Request) (int, any) {
	var body struct{ Cursor string }
	json.NewDecoder(r.Body).Decode(&body)
	if body.Cursor == "" {
		return 200, contract.Restored{Snapshots: []contract.Snapshotted{{Shard: "shard-3", Date: "2026-01-28"}},
			Pages: 20,
			Hosts: 9000, Cursor: ptr("c1")}
	}
	return 200, contract.Restored{Snapshots: []contract.Snapshotted{}, Pages: 4, Hosts: 1750, Done: true}
}

// snapshot orders one of the named shard, or of two.
func (e *playedEngine) snapshot(r *http.Request) (int, any) {
	var body struct{ Shard string }
	json.NewDecoder(r.Body).Decode(&body)
	if body.Shard != "" {
		return 202, contract.SnapshotsOrdered{Shards: []string{body.Shard}, Unavailable: []string{}}
	}
	return 202, contract.SnapshotsOrdered{Shards: []string{"shard-0", "shard-2"}, Unavailable: []string{}}
}

// importPage refuses hosts that are wrong.
func (e *playedEngine) importPage(r *http.Request) (int, any) {
	var page struct{ Hosts []struct{ Host string } }
	if err := json.NewDecoder(r.Body).Decode(&page); err != nil {
		return 400, &client.Error{Code: "parse_error", Message: err.Error()}
	}
	for _, h := range page.Hosts {
		if h.Host == "wrong" {
			return 400, &client.Error{Code: "validation_error", Field: "hosts", Message: "is damaged"}
		}
	}
	return 200, contract.FrontierImported{Hosts: int64(len(page.Hosts))}
}

// TestFrontierImport_Parts: lines are sent in parts that the engine takes, of which the last of a page alone may be
// the last one of all, and bad lines are named while the others are sent.
func TestFrontierImport_Parts(t *testing.T) {
	e := newEngine(t)
	large := strings.Repeat("A", 500_000)
	host := func(name string) string {
		return `{"host":"` + name + `","domain":"a.example","record":"` + large + `"}`
	}
	in := `{"version":1,"classes":[{"country":"sg","category":"news"}],"hosts":[` + host("a") + "," + host("b") + "," +
		host("c") +
		`],"domains":[{"domain":"a.example"}]}` + "\n\n{]\n" +
		`{"version":1,"hosts":[{"host":"wrong","domain":"a","record":""}],"next":7}` + "\n[]\n" +
		`{"version":1,"hosts":[{"host":"d","domain":"d","record":""}],"next":7}`
	code, out, errOut := seedctl(in, "frontier", "import")
	const name = "seedctl frontier import: -, line "
	if code != exitFailed || out != "4 hosts restored from 2 lines\n" ||
		errOut != name+"3: is not a line of an export\n"+name+"4: hosts: is damaged (validation_error)\n"+name+
			"5: is not a line of an export\n" {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	var nexts []string
	for _, asked := range e.asked() {
		if len(asked) > 1<<20 {
			t.Errorf("a part of %d bytes", len(asked))
		}
		nexts = append(nexts, asked[max(len(asked)-12, 0):])
	}
	if len(nexts) != 5 || !strings.HasSuffix(nexts[0], `"next":1}`) || !strings.HasSuffix(nexts[1], `"next":1}`) ||
		strings.Contains(nexts[2], "next") || !strings.HasSuffix(nexts[4], `"next":7}`) {
		t.Errorf("%q", nexts)
	}
}

// TestFrontier_Lines: what is read line by line is sent in pieces that the engine takes, and what it says of an
// element is said of the line.
func TestFrontier_Lines(t *testing.T) {
	e := newEngine(t)
	var in strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&in, "https://a.example/%d\n\n", i)
	}
	file := filepath.Join(t.TempDir(), "urls")
	if err := os.WriteFile(file, []byte(`{"url":"https://b.example/1","priority":0.5}`+"\nftp://c.example/"),
		0o644); err != nil {
		t.Fatal(err)
	}
	put := []string{"frontier", "put", "--country", "sg", "--category", "news", "--date", "2026-01-28"}
	code, out, errOut := seedctl(in.String(), append(put, "-", file)...)
	if code != exitFailed || out != "1002 URLs accepted, 0 duplicates, 1 rejected\n" ||
		errOut != "seedctl frontier put: ftp://c.example/: invalid_url\n" {
		t.Errorf("put: %d %q %q", code, out, errOut)
	}
	if asked := e.asked(); len(asked) != 2 ||
		!strings.HasSuffix(asked[1],
			`{"urls":[{"url":"https://a.example/1000"},{"url":"https://b.example/1","priority":0.5},`+
				`{"url":"ftp://c.example/"}],"partition_info":{"country":"sg","category":"news",`+
				`"date":"2026-01-28"}}`) {
		t.Errorf("asked %d times: %s", len(asked), asked[len(asked)-1])
	}

	in.Reset()
	long := strings.Repeat("x", 300_000)
	for i := range 4 {
		fmt.Fprintf(&in, `{"id":"i%d","status":200,"redirected_to":"%s"}`+"\n", i, long)
	}
	if code, out, _ := seedctl(in.String(), "frontier", "report", "--lease", "0.1"); code != exitOK ||
		out != "4 results accepted, 0 unknown; 0 found URLs added\n" || len(e.asked()) != 2 {
		t.Errorf("large results: %d %q", code, out)
	}
	for input, want := range map[string]string{
		`{"id":"a","status":200}` + "\n\n" + `{"id":"wrong","status":200}`: "seedctl frontier report: -, line 3: " +
			"status: is out of range (validation_error)\n",
		"https://a.example/":           "seedctl frontier report: -, line 1: is not a JSON object\n",
		`{"id":`:                       "seedctl frontier report: -, line 1: is not a JSON object\n",
		strings.Repeat("x", 1_000_000): "seedctl frontier report: -: bufio.Scanner: token too long\n",
	} {
		if code, _, errOut := seedctl(input, "frontier", "report", "--lease", "0.1"); code != exitFailed ||
			errOut != want {
			t.Errorf("%.50s: %d %q", input, code, errOut)
		}
	}
	if code, _, errOut := seedctl("", "frontier", "report", "--lease", "0.1", "no/such/file"); code != exitFailed ||
		!strings.Contains(errOut, "no/such/file") {
		t.Errorf("no file: %d %q", code, errOut)
	}
}

// TestFrontier_Host: a block ends at a time from now on.
func TestFrontier_Host(t *testing.T) {
	e := newEngine(t)
	begin := time.Now().Truncate(time.Second)
	if code, out, _ := seedctl("", "frontier", "host", "a.example", "--block", "1h"); code != exitOK ||
		out != "changed a.example\n" {
		t.Errorf("%d %q", code, out)
	}
	_, body, _ := strings.Cut(e.asked()[0], "{")
	var change struct {
		BlockUntil time.Time `json:"block_until"`
	}
	if err := json.Unmarshal([]byte("{"+body), &change); err != nil || change.BlockUntil.Before(begin.Add(time.Hour)) ||
		change.BlockUntil.After(time.Now().Add(time.Hour)) {
		t.Errorf("%s: %v", body, err)
	}
	if code, _, errOut := seedctl("", "frontier", "host", "none.example", "--empty"); code != exitFailed ||
		!strings.Contains(errOut, "no host none.example") {
		t.Errorf("%d %q", code, errOut)
	}
}

// A host that does not resolve says so, and a page that was refused with which status.
func TestFrontier_Trouble(t *testing.T) {
	var host, page bytes.Buffer
	var lost contract.FrontierHostDetail
	lost.UnresolvedUntil = ptr(at("20:00:00"))
	if err := errors.Join(writeHost(&host, &lost),
		writeURLState(&page, &contract.FrontierURL{State: "waiting", Attempts: 1, LastStatus: ptr(403)})); err != nil {
		t.Fatal(err)
	}
	want := "its name did not resolve; it is asked again at 2026-01-28 20:00:00\n"
	if !strings.Contains(host.String(), want) {
		t.Errorf("%s, want %q", &host, want)
	}
	if want = "last answer  403\n"; !strings.Contains(page.String(), want) {
		t.Errorf("%s, want %q", &page, want)
	}
}

// Whatever keeps URLs from being given is named, with whose decision it is.
func TestFrontier_StoppedBy(t *testing.T) {
	since, until := at("09:00:00"), at("20:00:00")
	for want, stop := range map[string]contract.FrontierStop{
		"pause by kim since 2026-01-28 09:00:00 (moving shards)": {Kind: contract.StopPause, By: ptr("kim"),
			Since: &since, Reason: ptr("moving shards")},
		"exclusion url https://a.example/* by kim": {Kind: contract.StopExclusion, Rule: ptr("url https://a.example/*"),
			By: ptr("kim")},
		"robots Disallow: / by https://a.example/robots.txt": {Kind: contract.StopRobots, Rule: ptr("Disallow: /"),
			By: ptr("https://a.example/robots.txt")},
		"block until 2026-01-28 20:00:00": {Kind: contract.StopBlock, Until: &until},
	} {
		var lease, state bytes.Buffer
		if err := errors.Join(writeLease(&lease, &contract.FrontierLease{RetryAfter: ptr(int64(60)), StoppedBy: &stop}),
			writeURLState(&state, &contract.FrontierURL{State: "waiting", StoppedBy: &stop})); err != nil {
			t.Fatal(err)
		}
		if got := lease.String(); got != "nothing to fetch: "+want+"; ask again in 60 s\n" {
			t.Errorf("a lease: %q, want %q", got, want)
		}
		if got := state.String(); !strings.Contains(got, "stopped by  "+want+"\n") {
			t.Errorf("a URL: %q, want %q", got, want)
		}
	}
}
