package main

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

func TestMain(m *testing.M) {
	if os.Getenv("SEEDCTL_TEST_MAIN") != "" { // a test started this binary as the program
		main()
	}
	for _, name := range []string{"SEED_API_URL", "SEED_API_TOKEN"} {
		os.Unsetenv(name)
	}
	limits.BackOff = time.Millisecond
	os.Exit(m.Run())
}

const token = "s3cret"

// playedEngine plays the Seed Engine. Every request is checked against the published description of the API.
type playedEngine struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string                                          // method, path and query, and body, in order
	before   func(w http.ResponseWriter, r *http.Request) bool // true: it answered in place of the engine
	files    map[string]playedFile                             // raw files by path of their dataset
	// given one after the other, the last one again and again
	statuses []contract.Status
	paused   bool
	lacks    contract.Followed // of the pages of feed and changes
}

// playedFile is a raw file: its size, and the MD5 of its content, if the store has it.
type playedFile struct {
	size int64
	md5  string
}

func md5Text(content string) string { return fmt.Sprintf("%x", md5.Sum([]byte(content))) }

// newEngine starts an engine, and lets seedctl find it and its token in the environment.
func newEngine(t *testing.T) *playedEngine {
	e := &playedEngine{files: map[string]playedFile{"sg/news/2026-01-28/raw_0001": {2, md5Text("[]")}},
		statuses: []contract.Status{sampleStatus()}}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*http.Request) (int, any){
		"PUT /api/v1/datasets/{country}/{category}/{date}/{chunk}":    e.put,
		"DELETE /api/v1/datasets/{country}/{category}/{date}/{chunk}": e.deleteFile,
		"GET /api/v1/datasets/{country}/{category}/{date}":            e.list,
		"POST /api/v1/seeds/orchestrate":                              e.orchestrate,
		"GET /api/v1/seeds/status":                                    e.status,
		"GET /api/v1/seeds/domains":                                   e.domains,
		"GET /api/v1/seeds/changes":                                   e.changes,
		"GET /api/v1/feed":                                            e.feed,
		"GET /api/v1/feed/webhook":                                    e.webhook,
		"POST /api/v1/feed/webhook/{id}/skip":                         e.skipDelivery,
		"GET /api/v1/seeds/domains/{domain}":                          e.domain,
		"POST /api/v1/seeds/domains/{domain}/collect":                 e.collect,
		"POST /api/v1/seeds/reconcile":                                e.reconcile,
		"GET /api/v1/dlq":                                             e.dlq,
		"GET /api/v1/dlq/{id}":                                        e.deadLetter,
		"POST /api/v1/dlq/{verb}":                                     e.resolve,
		"GET /api/v1/exclusions":                                      e.exclusions,
		"PUT /api/v1/exclusions/{kind}/{value}":                       e.exclusion,
		"DELETE /api/v1/exclusions/{kind}/{value}":                    e.exclusion,
		"GET /api/v1/pipeline":                                        e.pipeline,
		"POST /api/v1/pipeline/{verb}":                                e.control,
		"GET /api/v1/frontier/stats":                                  e.frontierStats,
		"POST /api/v1/frontier/lease":                                 e.lease,
		"POST /api/v1/frontier/report":                                e.report,
		"POST /api/v1/frontier/urls":                                  e.putURLs,
		"DELETE /api/v1/frontier/urls":                                e.removeURLs,
		"GET /api/v1/frontier/hosts/{host}":                           e.hostDetail,
		"POST /api/v1/alarms/test": func(*http.Request) (int, any) {
			return 200, contract.AlarmTrial{ID: "PJ2QZ4XK7W", Signed: true}
		},
		"GET /api/v1/frontier/url":                                     e.urlState,
		"GET /api/v1/frontier/hosts":                                   e.hosts,
		"POST /api/v1/frontier/hosts/{host}":                           e.host,
		"GET /api/v1/frontier/shards/{shard}/export":                   e.export,
		"GET /api/v1/frontier/shards/{shard}/quarantine":               e.quarantine,
		"DELETE /api/v1/frontier/shards/{shard}/quarantine/{id}":       e.quarantineRow,
		"POST /api/v1/frontier/shards/{shard}/quarantine/{id}/restore": e.quarantineRow,
		"POST /api/v1/frontier/restore":                                e.restore,
		"POST /api/v1/frontier/snapshot":                               e.snapshot,
		"POST /api/v1/frontier/import":                                 e.importPage,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, data := handle(r)
			respond(w, status, data)
		})
	}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		if r.Method == http.MethodPost || r.ContentLength < 1<<16 {
			body, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.requests = append(e.requests,
			strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/api/v1")+" "+
				string(body)))
		if e.before != nil && e.before(w, r) {
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			respond(w, 401, &client.Error{Code: "unauthorized",
				Message: `send the API token as "Authorization: Bearer …"`})
			return
		}
		conform(t, r, body)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(e.Close)
	t.Setenv("SEED_API_URL", e.URL)
	t.Setenv("SEED_API_TOKEN", token)
	return e
}

// with changes the engine for another process, of which the race detector sees nothing.
func (e *playedEngine) with(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// asked returns the requests since the last call.
func (e *playedEngine) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.requests
	e.requests = nil
	return r
}

// respond answers data, or an error.
func respond(w http.ResponseWriter, status int, data any) {
	answer := map[string]any{"success": status < 400, "data": data}
	if err, failed := data.(*client.Error); failed {
		answer = map[string]any{"success": false, "error": err}
		if err.Data != nil {
			answer["data"] = err.Data
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Request-Id", "r-1")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer)
}

var described = sync.OnceValue(func() (d struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Ref  string `json:"$ref"`
			In   string `json:"in"`
			Name string `json:"name"`
		} `json:"parameters"`
		RequestBody *struct {
			Content map[string]struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
}) {
	if err := json.Unmarshal(contract.OpenAPI, &d); err != nil {
		panic(err)
	}
	return d
})

// conform fails the test when the published description has no such request.
func conform(t *testing.T, r *http.Request, body []byte) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for path, methods := range described().Paths {
		pattern := strings.Split(path, "/")
		method, ok := methods[strings.ToLower(r.Method)]
		if !ok || !slices.EqualFunc(pattern, segments,
			func(p, s string) bool { return p == s || strings.HasPrefix(p, "{") && s != "" }) {
			continue
		}
		for name := range r.URL.Query() {
			if !slices.ContainsFunc(method.Parameters, func(p struct {
				Ref  string `json:"$ref"`
				In   string `json:"in"`
				Name string `json:"name"`
			}) bool {
				return p.Name == name || strings.HasSuffix(p.Ref, "/"+name)
			}) {
				t.Errorf("%s %s: no query parameter %q", r.Method, path, name)
			}
		}
		if kind := r.Header.Get("Content-Type"); r.Method != http.MethodGet && kind != "application/json" {
			t.Errorf("%s %s comes as %q, which an engine without a token refuses", r.Method, path, kind)
		}
		if len(body) == 0 {
			return
		}
		if method.RequestBody == nil {
			t.Errorf("%s %s takes no body", r.Method, path)
			return
		}
		pointer := "#/paths/" + strings.ReplaceAll(strings.ReplaceAll(path, "~", "~0"), "/", "~1") + "/" +
			strings.ToLower(r.Method) + "/requestBody/content/application~1json/schema"
		if err := schema(pointer).Validate(decoded(body)); err != nil {
			t.Errorf("%s %s: %s: %v", r.Method, path, body, err)
		}
		return
	}
	t.Errorf("the API has no %s %s", r.Method, r.URL.Path)
}

func decoded(body []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))))
	if err != nil {
		return "no JSON: " + err.Error()
	}
	return v
}

// schema is a part of the API's description.
func schema(pointer string) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", decoded(contract.OpenAPI)); err != nil {
		panic(err)
	}
	return c.MustCompile("openapi.json" + pointer)
}

// TestDocs_SampleAnswers: what the engine of these tests answers is what the API is described to answer.
func TestDocs_SampleAnswers(t *testing.T) {
	detail := sampleDomain()
	for name, v := range map[string]any{
		"Status": sampleStatus(), "DomainPage": contract.DomainPage{Domains: []contract.DomainRecord{*detail.Record}},
		"DomainDetail":     detail,
		"DeadLetterPage":   contract.DeadLetterPage{DeadLetters: sampleDeadLetters()},
		"DeadLetterDetail": sampleDeadLetter(),
		"Exclusion":        sampleExclusion(), "Pipeline": samplePipeline(true),
		"Orchestrated":  orchestrator.Result{FilesFound: 3, Sent: 2, Skipped: 1},
		"FrontierStats": sampleStats(), "FrontierLease": sampleLease(), "FrontierURL": sampleURL(),
		"FrontierHostPage": contract.FrontierHostPage{Hosts: sampleHosts(), Unavailable: []string{}},
		"FeedPage": contract.FeedPage{Items: sampleFeed(), NextCursor: "1",
			Followed: contract.Followed{Unavailable: []string{}}},
		"ChangesPage": contract.ChangesPage{Items: sampleChanges(), NextCursor: "1",
			Followed: contract.Followed{Unavailable: []string{"shard-3"}}},
		"FeedDelivery": contract.FeedDelivery{ID: "9f3c", Items: sampleFeed(), Cursor: "1", Environment: "production"},
		"Reconciled":   contract.Reconciled{Partition: sg, Done: true},
		"Resolved":     contract.Resolved{Failed: []contract.Unresolved{}},
	} {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema("#/components/schemas/" + name).Validate(decoded(body)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, body)
		}
	}
}

var sg = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

func at(clock string) contract.Time {
	t, err := time.Parse(time.DateTime, "2026-01-28 "+clock)
	if err != nil {
		panic(err)
	}
	return contract.Time{Time: t}
}

func ptr[T any](v T) *T { return &v }

func sampleStatus() contract.Status {
	stats := contract.Stats{
		Processing: contract.ProcessingStats{FilesTotal: 150, FilesProcessed: 148, FilesFailed: 1, FilesPending: 1,
			DomainsTotal: 1250, DomainsProcessed: 1200, DomainsFailed: 20, DomainsPending: 30},
		Collection: contract.CollectionStats{RobotsFound: 1100, RobotsRate: 0.88, SitemapFound: 950, SitemapRate: 0.76,
			AvgProcessingMS: 2340},
		Excluded: 3, Records: 8250, RecordsRejected: 12, AvgFileMS: 840,
	}
	return contract.Status{
		Stats:       stats,
		DeadLetters: contract.DeadLetterCounts{Stored: 2, Replayed: 1},
		Rejections: []contract.FileRejection{{Partition: sg, Chunk: "raw_0001",
			Rejection: contract.Rejection{Record: 7, Offset: 1204, Reason: "has no url"}}},
		Alarms: []contract.AlarmState{
			{Name: "file_failures", State: contract.AlarmOK, Value: ptr(0.67), Threshold: 5, Unit: "percent",
				Window: ptr(60),
				Since:  ptr(at("08:00:00"))},
			{Name: "domain_failures", State: contract.AlarmOK, Value: ptr(1.64), Threshold: 10, Unit: "percent",
				Window: ptr(60), Since: ptr(at("08:00:00"))},
			{Name: "slow_domains", State: contract.AlarmOK, Threshold: 5000, Unit: "ms", Window: ptr(60),
				Since: ptr(at("08:00:00"))},
			{Name: "dead_letters", State: contract.AlarmFiring, Value: ptr(102.0), Threshold: 100, Unit: "count"},
		},
		Queues: map[string]*contract.Backlog{"seed": {Messages: 1, Bytes: 300, Oldest: ptr(at("09:29:00"))},
			"domain": {},
			"dlq":    nil},
		UpdatedAt: at("09:30:00"),
	}
}

func sampleDomain() contract.DomainDetail {
	document, err := json.Marshal(sampleDocument())
	if err != nil {
		panic(err)
	}
	return contract.DomainDetail{
		Domain: "mom.gov.sg", Partition: sg, ExcludedBy: []contract.Exclusion{},
		Key:      "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/domain_metadata.json",
		Document: document,
		Record: &contract.DomainRecord{Domain: "mom.gov.sg", Partition: sg, State: contract.Processed,
			Robots:     ptr(true),
			Sitemap:    ptr(true),
			DurationMS: ptr(int64(2340)), CollectedAt: ptr(at("09:20:00")), QueuedAt: ptr(at("09:15:00")),
			CrawlingAllowed: ptr(true)},
		Partitions: []contract.Partition{sg, {Country: "sg", Category: "news", Date: "2026-01-27"}},
		EntryPoints: []contract.EntryHistory{{URL: "https://www.mom.gov.sg/rss", Method: "rss", Interval: 8640,
			CheckedAt: ptr(at("09:20:00")), ChangedAt: ptr(at("09:20:00")),
			NextCheckAt: ptr(at("11:44:00")), Checks: []contract.FrontierCheck{{At: at("06:00:00"), Status: ptr(304)},
				{At: at("08:00:00")}, {At: at("09:20:00"), Status: ptr(200), Changed: true}}}},
	}
}

func sampleDocument() contract.Document {
	return contract.Document{
		SchemaVersion: contract.SchemaVersion, Revision: 2, Domain: "mom.gov.sg", ValidUntil: at("21:20:00"),
		Reachable: true,
		Robots:    contract.RobotsSummary{StatusCode: 200, Exists: true},
		Sitemap: contract.SitemapSummary{StatusCode: 200, Exists: true,
			URL: ptr("https://www.mom.gov.sg/sitemap.xml")},
		Source: contract.Source{RawFilePaths: []string{"raw/country=sg/category=news/date=2026-01-28/raw_0001.json"}},
		Technical: contract.Technical{
			RobotsTxt: contract.RobotsTxt{Exists: true, Size: 245, AllowsCrawling: true, CrawlDelaySeconds: ptr(2.5)},
			SitemapXML: contract.SitemapXML{Exists: true, Kind: ptr("urlset"), URLCount: 1840,
				LastUpdated: ptr(at("06:00:00"))},
			Feeds: []contract.Feed{{URL: "https://www.mom.gov.sg/rss", Kind: "rss", ItemCount: 20,
				LastUpdated: ptr(at("07:30:00"))}},
			ServerInfo: contract.ServerInfo{Server: ptr("nginx"), SupportsHTTPS: true,
				ResponseTimeAvgMS: ptr(int64(120)),
				EffectiveHost:     ptr("www.mom.gov.sg"), Requests: 4},
		},
		Processing: contract.Processing{TotalURLs: 12},
	}
}

func sampleDeadLetters() []contract.DeadLetterRecord {
	return []contract.DeadLetterRecord{
		{ID: "4f1c8d", State: contract.Stored, Work: "domain:gone.example", Partition: &sg, Domain: ptr("gone.example"),
			Key: "dlq/queue=newsfork-domain-dev/date=2026-01-28/4f1c8d.json",
			DeadLetterError: contract.DeadLetterError{ErrorType: contract.Storage, ErrorMessage: "put: 503",
				RetryCount: 3,
				FailedAt:   at("09:25:00").Time},
			DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-domain-dev", WorkerVersion: "1.0.0",
				ProcessingDurationMS: 812}},
		{ID: "9a02b7", State: contract.Replayed, ResolvedAt: ptr(at("09:10:00")), ResolvedBy: ptr("API_TOKEN"),
			Work: "domain:gone.example", Partition: &sg, Domain: ptr("gone.example"),
			Key: "dlq/queue=newsfork-domain-dev/date=2026-01-28/9a02b7.json",
			DeadLetterError: contract.DeadLetterError{ErrorType: contract.Timeout, ErrorMessage: "no answer in 10 s",
				RetryCount: 3, FailedAt: at("09:00:00").Time},
			DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-domain-dev", WorkerVersion: "1.0.0",
				ProcessingDurationMS: 30210}},
	}
}

func sampleDeadLetter() contract.DeadLetterDetail {
	records := sampleDeadLetters()
	return contract.DeadLetterDetail{
		DeadLetterRecord: records[0],
		Letter: &contract.DeadLetter{OriginalMessage: json.RawMessage(`{"domain":"gone.example","urls":[]}`),
			ErrorInfo: records[0].DeadLetterError, Context: records[0].DeadLetterContext},
		Attempts: []contract.Attempt{
			{MessageID: "4f1c8d", Attempt: 1, ErrorType: contract.Storage, ErrorMessage: "put: 503",
				FailedAt: at("09:24:00"), DurationMS: 790, Version: "1.0.0"}},
		History: records[1:],
	}
}

func sampleExclusion() contract.Exclusion {
	return contract.Exclusion{Kind: "domain", Value: "shop.example", Reason: ptr("asked us not to"),
		CreatedAt: at("08:00:00"), CreatedBy: "API_TOKEN"}
}

func samplePipeline(paused bool) contract.Pipeline {
	return contract.Pipeline{Paused: paused, Since: ptr(at("09:00:00")), By: ptr("API_TOKEN"),
		Reason: ptr("moving the bucket")}
}

func (e *playedEngine) put(r *http.Request) (int, any) {
	sum := md5.New()
	n, err := io.Copy(sum, r.Body)
	if err != nil || n != r.ContentLength {
		return 400, &client.Error{Code: "validation_error",
			Message: fmt.Sprintf("%d bytes of %d: %v", n, r.ContentLength, err), Field: "body"}
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/datasets/")
	_, taken := e.files[name]
	replace := r.URL.Query().Get("replace") == "true"
	if taken && !replace {
		return 409, &client.Error{Code: "already_exists", Message: "raw files are immutable"}
	}
	if taken && strings.HasSuffix(name, "raw_0666") {
		return 409, &client.Error{Code: "already_processed", Message: "raw_0666 was processed"}
	}
	e.files[name] = playedFile{n, fmt.Sprintf("%x", sum.Sum(nil))}
	answer := map[string]any{"key": name, "size": n, "queued": false}
	if taken {
		answer["replaced"] = true
		return 200, answer
	}
	return 201, answer
}

func (e *playedEngine) deleteFile(r *http.Request) (int, any) {
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/datasets/")
	p := contract.Partition{Country: r.PathValue("country"), Category: r.PathValue("category"),
		Date: r.PathValue("date")}
	key := contract.RawFile{Partition: p, Name: r.PathValue("chunk")}.Key()
	f, ok := e.files[name]
	if !ok {
		return 404, &client.Error{Code: "not_found", Message: "there is no raw file " + key}
	}
	if name != "sg/news/2026-01-28/raw_0001" { // which other commands need
		delete(e.files, name)
	}
	return 200, map[string]any{"key": key, "size": f.size}
}

// list answers with two files a page.
func (e *playedEngine) list(r *http.Request) (int, any) {
	dir := strings.TrimPrefix(r.URL.Path, "/api/v1/datasets/") + "/"
	var names []string
	for name := range e.files {
		if chunk, ok := strings.CutPrefix(name, dir); ok && chunk > r.URL.Query().Get("cursor") {
			names = append(names, chunk)
		}
	}
	slices.Sort(names)
	page := map[string]any{"cursor": nil}
	if len(names) > 2 {
		names = names[:2]
		page["cursor"] = names[1]
	}
	chunks := []rawFile{}
	for _, n := range names {
		f := e.files[dir+n]
		c := rawFile{Chunk: n, Key: "raw/…", Size: f.size, MD5: contract.Text(f.md5), UploadedAt: at("08:00:00"),
			State: "pending", Rejections: []contract.Rejection{}}
		switch n {
		case "raw_0001":
			c.State, c.ProcessedAt, c.Records, c.Rejected = "processed", ptr("2026-01-28T09:00:00Z"), ptr(int64(40)),
				ptr(int64(2))
			c.Rejections = []contract.Rejection{{Record: 7, Offset: 1204, Reason: "has no url"},
				{Record: 31, Offset: 6120, Reason: "url is not an absolute http or https URL"}}
		case "raw_0777":
			c.State = contract.DiscardedFile
		case "raw_0002":
			c.State, c.ErrorType, c.ErrorMessage = "failed", ptr("parse_error"),
				ptr("line 12, column 3, byte 812: expected ',' or ']' after a record, found '{'")
		}
		chunks = append(chunks, c)
	}
	page["files"] = chunks
	return 200, page
}

func (e *playedEngine) orchestrate(r *http.Request) (int, any) {
	return 200, orchestrator.Result{FilesFound: 150, Sent: 149, Skipped: 1, Finished: 1}
}

func (e *playedEngine) status(r *http.Request) (int, any) {
	s := e.statuses[0]
	if len(e.statuses) > 1 {
		e.statuses = e.statuses[1:]
	}
	s.Paused = e.paused
	for _, by := range r.URL.Query()["by"] {
		switch by {
		case "partition":
			s.Partitions = []contract.PartitionStats{{Partition: sg, Stats: s.Stats, UpdatedAt: s.UpdatedAt}}
		case "error_type":
			s.Errors = []contract.ErrorCount{{ErrorType: "timeout_error", Domains: 15},
				{ErrorType: "storage_error", Files: 1, Domains: 5}}
		default:
			return 400, &client.Error{Code: "validation_error",
				Message: fmt.Sprintf("%q is neither partition nor error_type", by), Field: "by"}
		}
	}
	if r.URL.Query().Get("trend") != "" {
		s.Trend = []contract.TrendHour{
			{Hour: at("09:00:00"), FilesProcessed: 148, FilesFailed: 1, DomainsProcessed: 1200,
				DomainsFailed: 20, AvgProcessingMS: 2340}}
	}
	return 200, s
}

// pageOf returns the entries of a page; the cursor is the number of the next entry.
func pageOf[T any](query url.Values, all []T) (some []T, cursor *string) {
	from, limit := 0, 50
	fmt.Sscan(query.Get("cursor"), &from)
	fmt.Sscan(query.Get("limit"), &limit)
	to := min(from+limit, len(all))
	if to < len(all) {
		cursor = ptr(fmt.Sprint(to))
	}
	return all[from:to], cursor
}

func (e *playedEngine) domains(r *http.Request) (int, any) {
	if country := r.URL.Query().Get("country"); country != "" {
		var wrong *contract.Error
		if errors.As(contract.CheckCountry("country", country), &wrong) {
			return 400, &client.Error{Code: string(wrong.Kind), Message: wrong.Message, Field: wrong.Field}
		}
	}
	all := []contract.DomainRecord{
		{Domain: "gone.example", Partition: sg, State: contract.Failed, Robots: ptr(false), Sitemap: ptr(false),
			DurationMS: ptr(int64(10012)), CollectedAt: ptr(at("09:21:00")), ErrorType: ptr("timeout_error"),
			ErrorMessage: ptr("no answer in 10 s")},
		*sampleDomain().Record,
		{Domain: "new.example", Partition: sg, State: contract.Pending, QueuedAt: ptr(at("09:15:00")),
			Retry: &contract.DomainRetry{Attempt: 2, Of: 4, ErrorType: contract.Storage,
				ErrorMessage: "the object store failed", FailedAt: at("09:25:00"), NextAt: ptr(at("09:29:00"))}},
	}
	if state := r.URL.Query().Get("state"); state != "" {
		all = slices.DeleteFunc(all, func(d contract.DomainRecord) bool { return string(d.State) != state })
	}
	some, cursor := pageOf(r.URL.Query(), all)
	return 200, contract.DomainPage{Domains: some, Cursor: cursor}
}

func (e *playedEngine) domain(r *http.Request) (int, any) {
	if r.PathValue("domain") != "mom.gov.sg" {
		return 404, &client.Error{Code: "not_found", Message: "there is no such domain", Field: "domain"}
	}
	return 200, sampleDomain()
}

func (e *playedEngine) collect(r *http.Request) (int, any) {
	if domain := r.PathValue("domain"); domain != "gone.example" {
		return 404, &client.Error{Code: "not_found", Message: "there is no domain " + domain + " there"}
	}
	return 202, contract.DomainQueued{Domain: "gone.example", Partition: sg, RequestedAt: *ptr(at("09:30:00"))}
}

// reconcile takes two calls.
func (e *playedEngine) reconcile(r *http.Request) (int, any) {
	var body struct{ Cursor string }
	json.NewDecoder(r.Body).Decode(&body)
	if body.Cursor == "" {
		return 200, contract.Reconciled{Partition: sg, Files: 100, Domains: 900, Cursor: ptr("c1")}
	}
	return 200, contract.Reconciled{Partition: sg, Files: 50, Domains: 350, DeadLetters: 2, Done: true}
}

func (e *playedEngine) dlq(r *http.Request) (int, any) {
	all := sampleDeadLetters()
	if state := r.URL.Query().Get("state"); state != "" {
		all = slices.DeleteFunc(all, func(d contract.DeadLetterRecord) bool { return string(d.State) != state })
	}
	some, cursor := pageOf(r.URL.Query(), all)
	return 200, contract.DeadLetterPage{DeadLetters: some, Cursor: cursor}
}

func (e *playedEngine) deadLetter(r *http.Request) (int, any) {
	if r.PathValue("id") != "4f1c8d" {
		return 404, &client.Error{Code: "not_found", Message: "there is no such dead letter"}
	}
	return 200, sampleDeadLetter()
}

// resolve accepts the ids of the list.
func (e *playedEngine) resolve(r *http.Request) (int, any) {
	var choice contract.DeadLetterChoice
	json.NewDecoder(r.Body).Decode(&choice)
	answer := contract.Resolved{Failed: []contract.Unresolved{}}
	for _, id := range choice.IDs {
		switch id {
		case "4f1c8d":
			answer.Done++
		case "9a02b7":
			answer.Skipped++
		default:
			answer.Failed = append(answer.Failed, contract.Unresolved{ID: id, Code: "not_found",
				Message: "there is no such dead letter"})
		}
	}
	if choice.IDs == nil {
		answer.Done = 1
	}
	return 200, answer
}

func (e *playedEngine) exclusions(r *http.Request) (int, any) {
	some, cursor := pageOf(r.URL.Query(), []contract.Exclusion{sampleExclusion()})
	return 200, contract.ExclusionPage{Exclusions: some, Cursor: cursor}
}

func (e *playedEngine) exclusion(r *http.Request) (int, any) {
	x := sampleExclusion()
	x.Kind, x.Value = r.PathValue("kind"), r.PathValue("value")
	if x.Value == "no.domain" {
		return 404, &client.Error{Code: "not_found", Message: "it is not excluded", Field: "value"}
	}
	return 200, x
}

func (e *playedEngine) pipeline(*http.Request) (int, any) { return 200, samplePipeline(e.paused) }

func (e *playedEngine) control(r *http.Request) (int, any) {
	e.paused = r.PathValue("verb") == "pause"
	return 200, samplePipeline(e.paused)
}
