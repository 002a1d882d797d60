package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/httpapi/openapitest"
	"github.com/newsfork/seed-engine/settings"
)

// openAPI is the description of the API. Of methods that it lacks, auth and a pause may answer first.
var openAPI = sync.OnceValue(func() *openapitest.Description {
	return openapitest.Parse(contract.OpenAPI, http.StatusMethodNotAllowed, http.StatusUnauthorized,
		http.StatusForbidden, http.StatusServiceUnavailable)
})

func compile(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	return openAPI().Compile(t, pointer)
}

// conforms checks an answer against the description of the API.
func conforms(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	openAPI().Conforms(t, r, w)
}

func TestOpenAPI_Routes(t *testing.T) {
	f := newFixture(t, nil)
	var d struct{ Endpoints []string }
	if err := json.Unmarshal(f.do(t, "GET", "/", "").Data, &d); err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, operations := range openAPI().Paths {
		for method := range operations {
			want = append(want, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(d.Endpoints)
	if !slices.Equal(d.Endpoints, want) {
		t.Errorf("routes:\n%s\ndescribed:\n%s", strings.Join(d.Endpoints, "\n"), strings.Join(want, "\n"))
	}
}

// request is a request that succeeds, or whose object does not exist.
type request struct{ target, body string }

// damagedShard is the path of a shard that has a damaged row.
var damagedShard = "/api/v1/frontier/shards/" + (client.Frontier{Shards: 3}).Of("damaged.sg").Name()

// requests maps every operation to a request that succeeds, and one that finds nothing if it has a 404.
var requests = map[string][2]request{
	"index":        {{"/", ""}},
	"health":       {{"/health", ""}},
	"live":         {{"/health/live", ""}},
	"ready":        {{"/health/ready", ""}},
	"schema":       {{"/schemas/alarm_change.schema.json", ""}, {"/schemas/none", ""}},
	"openapi":      {{"/openapi.json", ""}},
	"bot":          {{"/bot", ""}},
	"keyDirectory": {{botauth.DirectoryPath, ""}, {"https://other.example" + botauth.DirectoryPath, ""}},
	"metrics":      {{"/metrics", ""}},
	"orchestrate":  {{"/api/v1/seeds/orchestrate", "{}"}},
	"listDataset":  {{"/api/v1/datasets/sg/news/2026-01-28", ""}},
	"upload":       {{"/api/v1/datasets/sg/news/2026-01-28/raw_0009", "[]"}},
	"deleteRawFile": {{"/api/v1/datasets/sg/news/2026-01-28/raw_0002", ""},
		{"/api/v1/datasets/sg/news/2026-01-28/raw_0099", ""}},
	"status":  {{"/api/v1/seeds/status?by=partition&by=error_type&trend=24&country=sg", ""}},
	"domains": {{"/api/v1/seeds/domains?limit=1", ""}},
	"domain":  {{"/api/v1/seeds/domains/a.sg", ""}, {"/api/v1/seeds/domains/none.sg", ""}},
	"robots":  {{"/api/v1/seeds/domains/a.sg/robots.txt", ""}, {"/api/v1/seeds/domains/b.sg/robots.txt", ""}},
	"sitemap": {{"/api/v1/seeds/domains/a.sg/sitemap.xml", ""},
		{"/api/v1/seeds/domains/none.sg/sitemap.xml", ""}},
	"domainURLs": {{"/api/v1/seeds/domains/a.sg/urls?min_score=0.1", ""},
		{"/api/v1/seeds/domains/b.sg/urls", ""}},
	"collect":          {{"/api/v1/seeds/domains/a.sg/collect", ""}, {"/api/v1/seeds/domains/b.sg/collect", ""}},
	"reconcile":        {{"/api/v1/seeds/reconcile", `{"country":"sg","category":"news","date":"2026-01-28"}`}},
	"restoreFrontier":  {{"/api/v1/frontier/restore", `{}`}},
	"snapshotFrontier": {{"/api/v1/frontier/snapshot", `{}`}},
	"importFrontier": {{"/api/v1/frontier/import",
		`{"version":1,"hosts":[],"domains":[{"domain":"a.sg","evidence":{"at":0}}]}`}},
	"leaseURLs":    {{"/api/v1/frontier/lease", `{"max":1,"lease_seconds":60}`}},
	"renewLease":   {{"/api/v1/frontier/lease/{lease}/renew", `{"lease_seconds":60}`}},
	"releaseLease": {{"/api/v1/frontier/lease/{lease}/release", ""}},
	"beginVisit":   {{"/api/v1/frontier/visit", `{"host":"www.v.example","visitor":"visitor-1","seconds":60}`}},
	"endVisit":     {{"/api/v1/frontier/visit/end", `{"host":"www.v.example","visitor":"visitor-1"}`}},
	"reportURLs": {{"/api/v1/frontier/report",
		`{"lease_id":"0.1","results":[{"id":"0.1.0000000001-000000000001","status":200,` +
			`"urls":[{"url":"https://a.example/b"}]}]}`}},
	"putURLs": {{"/api/v1/frontier/urls",
		`{"urls":[{"url":"https://b.sg/1"}],"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`}},
	"removeURLs": {{"/api/v1/frontier/urls",
		`{"urls":[{"url":"https://b.sg/1"},{"url":"https://none.sg/1"}],"partition_info":{"country":"sg",` +
			`"category":"news","date":"2026-01-28"}}`}},
	"frontierStats": {{"/api/v1/frontier/stats", ""}},
	"frontierURL":   {{"/api/v1/frontier/url?url=https://a.sg/1", ""}},
	"frontierHosts": {{"/api/v1/frontier/hosts?sort=due&limit=1", ""}},
	"frontierHost":  {{"/api/v1/frontier/hosts/a.sg", ""}, {"/api/v1/frontier/hosts/none.sg", ""}},
	"hostRobots": {{"/api/v1/frontier/hosts/a.sg/robots.txt", ""},
		{"/api/v1/frontier/hosts/damaged.sg/robots.txt", ""}},
	"changeHost": {{"/api/v1/frontier/hosts/a.sg", `{"delay_seconds":2}`},
		{"/api/v1/frontier/hosts/none.sg", `{"delay_seconds":2}`}},
	"exportShard": {{"/api/v1/frontier/shards/shard-0/export", ""},
		{"/api/v1/frontier/shards/shard-3/export", ""}},
	"quarantine":   {{damagedShard + "/quarantine", ""}, {"/api/v1/frontier/shards/shard-3/quarantine", ""}},
	"dropRow":      {{damagedShard + "/quarantine/1", ""}, {damagedShard + "/quarantine/9", ""}},
	"restoreRow":   {{damagedShard + "/quarantine/1/restore", ""}, {damagedShard + "/quarantine/9/restore", ""}},
	"changes":      {{"/api/v1/seeds/changes?limit=1", ""}},
	"feed":         {{"/api/v1/feed?limit=1&type=news,policy&min_score=0&country=sg&category=news", ""}},
	"feedWebhook":  {{"/api/v1/feed/webhook", ""}},
	"skipDelivery": {{"/api/v1/feed/webhook/" + heldID + "/skip", ""}, {"/api/v1/feed/webhook/none/skip", ""}},
	"tryAlarms":    {{"/api/v1/alarms/test", ""}},
	"deadLetters":  {{"/api/v1/dlq?limit=1", ""}},
	"deadLetter":   {{"/api/v1/dlq/m1", ""}, {"/api/v1/dlq/none", ""}},
	"replay":       {{"/api/v1/dlq/replay", `{"ids":["m1","none"]}`}},
	"discard":      {{"/api/v1/dlq/discard", `{"all":true}`}},
	"exclusions":   {{"/api/v1/exclusions?limit=1", ""}},
	"exclusion":    {{"/api/v1/exclusions/domain/out.sg", ""}, {"/api/v1/exclusions/domain/none.sg", ""}},
	"exclude":      {{"/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", `{"reason":"asked for"}`}},
	"include":      {{"/api/v1/exclusions/host/www.out.sg", ""}, {"/api/v1/exclusions/host/none.sg", ""}},
	"pipeline":     {{"/api/v1/pipeline", ""}},
	"pause":        {{"/api/v1/pipeline/pause", `{"reason":"maintenance"}`}},
	"resume":       {{"/api/v1/pipeline/resume", ""}},
}

// filled returns an engine with an example of everything.
func filled(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, func(s *settings.Settings) {
		s.Environment, s.APIToken, s.ReadToken = "production", "secret", "reader"
	})
	fill(t, f)
	return f
}

// runtimeOnly are answers of the runtime: a panic, a deadline, no free instance.
var runtimeOnly = []string{"500", "504"}

// Every described answer occurs, and every answer is described.
func TestOpenAPI_Answers(t *testing.T) {
	for path, operations := range openAPI().Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			rs, listed := requests[o.OperationID]
			if !listed {
				t.Errorf("%s %s: the test has no request for %s", method, path, o.OperationID)
				continue
			}
			ok, missing := rs[0], rs[1]
			public := o.Security != nil
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				f := filled(t)
				header := []string{"Authorization", "Bearer secret"}
				got := 0
				send := func(method string, r request, header ...string) {
					got = f.raw(t, method, r.target, r.body, header...).Code
				}
				switch {
				case slices.Contains(runtimeOnly, status):
					continue
				case status == "200" && o.OperationID == "upload":
					send(method, ok, header...)
					send(method, request{ok.target + "?replace=true", ok.body}, header...)
				case status == "409" && o.OperationID == "deleteRawFile":
					f.store(t, contract.RawFile{Partition: place, Name: "raw_0002"}.Checkpoint(), "")
					send(method, ok, header...)
				case status == "200" && o.OperationID == "exclude":
					send(method, ok, header...)
					send(method, ok, header...)
				case status == "304":
					send(method, ok, append(header, "If-None-Match", "*")...)
				case status[0] == '2':
					send(method, ok, header...)
				case status == "400":
					send(method, request{ok.target +
						map[bool]string{true: "&", false: "?"}[strings.Contains(ok.target, "?")] + "nonsense=1",
						ok.body}, header...)
				case status == "401":
					send(method, ok)
				case status == "403" && strings.HasSuffix(o.Responses[status].Ref, "/ForeignOrigin"):
					f.api.Settings.APIToken, f.api.Settings.Environment = "", settings.Development
					send(method, ok, "Origin", "https://evil.example")
				case status == "403":
					send(method, ok, "Authorization", "Bearer reader")
				case status == "404":
					send(method, missing, header...)
				case status == "405":
					send("PATCH", ok, header...)
				case status == "409" && o.OperationID == "collect":
					send(method, request{"/api/v1/seeds/domains/out.sg/collect", ""}, header...)
				case status == "409" && o.OperationID == "renewLease":
					f.leased = ""
					send(method, ok, header...)
				case status == "409" && o.OperationID == "tryAlarms":
					f.api.Alarms = &alarms.Watch{}
					send(method, ok, header...)
				case status == "502":
					f.api.Alarms = &alarms.Watch{URL: "https://alerts.example/", Webhook: received{errors.New("down")},
						Log: f.api.Log, Now: f.api.Now}
					send(method, ok, header...)
				case status == "409":
					send(method, ok, header...)
					send(method, ok, header...)
				case status == "411":
					send(method, ok, append(header, "Content-Length", "unknown")...)
				case status == "413" && strings.HasSuffix(o.Responses[status].Ref, "/TooLargeFile"):
					large := strings.Repeat("#", 8<<20+1)
					dir := contract.DomainDir{Partition: contract.Partition{Country: "sg", Category: "news",
						Date: "2026-01-29"}, Domain: "a.sg"}
					f.store(t, dir.Robots(), large)
					f.store(t, dir.Sitemap(), large)
					send(method, ok, header...)
				case status == "413" && strings.HasSuffix(o.Responses[status].Ref, "/TooLargeList"):
					send(method, request{ok.target, `{"x":"` + strings.Repeat("x", 1_100_000) + `"}`}, header...)
				case status == "413" && strings.HasSuffix(o.Responses[status].Ref, "/TooLargePage"):
					send(method, request{ok.target, `{"x":"` + strings.Repeat("x", 12<<20) + `"}`}, header...)
				case status == "413":
					send(method, request{ok.target, `{"x":"` + strings.Repeat("x", 70_000) + `"}`}, header...)
				case status == "415":
					f.api.Settings.APIToken, f.api.Settings.Environment = "", settings.Development
					send(method, request{ok.target, "x=y"}, "Content-Type", "text/csv")
				case status == "503" && o.OperationID == "ready":
					f.db.Fail = func() error { return errors.New("down") }
					send(method, ok, header...)
				case status == "503" && public:
					continue // only without a free instance
				case status == "503":
					f.api.Settings.APIToken = ""
					send(method, ok, header...)
				default:
					t.Errorf("%s %s: the test has no way to get %s", method, path, status)
					continue
				}
				if fmt.Sprint(got) != status {
					t.Errorf("%s %s: %d, want %s", method, path, got, status)
				}
			}
		}
	}
}

// Every operation reports that its stores are down.
func TestStores_Failing(t *testing.T) {
	needs := map[string]string{ // of operations: d1, r2, the frontier's shards, static files
		"beginVisit": "r2 shards", "endVisit": "shards",
		"leaseURLs": "r2 shards", "reportURLs": "shards assets", "renewLease": "shards", "releaseLease": "shards",
		"putURLs":       "r2 shards assets",
		"frontierStats": "shards", "frontierURL": "shards", "frontierHosts": "shards",
		"changeHost": "shards", "frontierHost": "shards", "hostRobots": "shards",
		"removeURLs": "shards", "exportShard": "shards",
		"quarantine": "shards", "dropRow": "shards", "restoreRow": "shards", "changes": "r2 shards",
		"feed":        "r2 shards",
		"feedWebhook": "d1 r2 shards", "skipDelivery": "d1 r2 shards",
		"orchestrate": "r2", "listDataset": "r2", "upload": "r2", "deleteRawFile": "r2", "status": "d1 r2",
		"domains": "d1", "domain": "d1 r2", "robots": "d1 r2", "sitemap": "d1 r2", "domainURLs": "d1 r2",
		"collect": "d1 r2", "reconcile": "d1 r2", "restoreFrontier": "r2",
		"snapshotFrontier": "shards", "importFrontier": "r2 shards",
		"deadLetters": "d1", "deadLetter": "d1 r2", "replay": "d1 r2", "discard": "d1", "exclusions": "r2",
		"exclusion": "r2", "exclude": "r2",
		"openapi": "assets", "schema": "assets",
		"include": "r2", "pipeline": "r2", "pause": "r2", "resume": "r2", "ready": "d1 r2",
	}
	for path, operations := range openAPI().Paths {
		for method, o := range operations {
			for _, store := range []string{"d1", "r2", "shards", "assets"} {
				f := filled(t)
				down := errors.New("down, with a secret in the message")
				switch store {
				case "d1":
					f.db.Fail = func() error { return down }
				case "r2":
					f.bucket.Fail = func(string, string) error { return down }
				case "assets":
					f.assets = down
				case "shards":
					f.shards.frozen[""] = true
				}
				r, listed := requests[o.OperationID]
				if !listed {
					t.Fatalf("%s %s: the test has no request for %s", method, path, o.OperationID)
				}
				w := f.raw(t, strings.ToUpper(method), r[0].target, r[0].body, "Authorization", "Bearer secret")
				want := slices.Contains(strings.Fields(needs[o.OperationID]), store)
				if (w.Code == 503) != want || !want && w.Code > 299 {
					t.Errorf("%s %s without %s: %d %s", method, path, store, w.Code, w.Body)
				}
				if strings.Contains(w.Body.String(), "secret") && w.Code > 299 {
					t.Errorf("%s %s shows the cause to the caller: %s", method, path, w.Body)
				}
			}
		}
	}
}

func TestOpenAPI_Misconfigured(t *testing.T) {
	w := httptest.NewRecorder()
	httpapi.Misconfigured(w, contract.Invalid("FETCH_RETRIES", "%q is not valid", "many"))
	conforms(t, httptest.NewRequest("GET", "/health", nil), w)
	if w.Code != 500 {
		t.Errorf("got %d", w.Code)
	}
}

// The API accepts the described examples of choices, and only those.
func TestOpenAPI_DeadLetterChoice(t *testing.T) {
	schema := compile(t, "/components/schemas/DeadLetterChoice")
	for body, want := range map[string]bool{
		`{"all":true}`: true, `{"ids":["a"]}`: true, `{"filter":{"queue":"seed"}}`: true,
		`{"filter":{"country":"sg","date":"2026-01-28"}}`: true,
		`{}`: false, `{"all":false}`: false, `{"ids":[]}`: false, `{"all":true,"ids":["a"]}`: false,
		`{"filter":{"queue":"dlq"}}`: false, `{"ids":"a"}`: false,
		`{"ids":[` + strings.Repeat(`"x",`, 500) + `"x"]}`: false, `{"filter":{"none":1}}`: false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		f := filled(t)
		w := f.raw(t, "POST", "/api/v1/dlq/discard", body, "Authorization", "Bearer secret")
		if described := schema.Validate(v) == nil; described != want || (w.Code == 200) != want {
			t.Errorf("%.60s: described as right %v, answered %d, want %v", body, described, w.Code, want)
		}
	}
	if (&contract.DeadLetterChoice{Filter: &contract.DeadLetterFilter{}}).Validate() == nil {
		t.Error("an empty filter chooses everything")
	}
}

// Examples match their schemas.
func TestOpenAPI_Examples(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]any } `json:"requestBody"`
			Responses   map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal(contract.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	examples := 0
	check := func(pointer string, content map[string]any) {
		for kind, media := range content {
			example, ok := media.(map[string]any)["example"]
			if !ok {
				continue
			}
			examples++
			if err := compile(t, pointer+"/content/"+openapitest.PointerText.Replace(kind)+"/schema").Validate(
				example); err != nil {
				t.Errorf("%s: %v", pointer, err)
			}
		}
	}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			pointer := "/paths/" + openapitest.PointerText.Replace(path) + "/" + method
			check(pointer+"/requestBody", o.RequestBody.Content)
			for status, answer := range o.Responses {
				check(pointer+"/responses/"+status, answer.Content)
			}
		}
	}
	if examples < 10 {
		t.Errorf("%d examples", examples)
	}
}

// The frontier's requests are accepted as described.
func TestOpenAPI_FrontierRequests(t *testing.T) {
	for _, c := range []struct {
		name, target, body string
		fits               bool
	}{
		{"FrontierLeaseRequest", "lease",
			`{"max":500,"lease_seconds":900,"country":"SG","category":"news","types":["news","unknown"],` +
				`"kinds":["page","entry"],"per_host":20,"max_hosts":500}`, true},
		{"FrontierLeaseRequest", "lease", `{"max":501,"lease_seconds":900}`, false},
		{"FrontierLeaseRequest", "lease", `{"max":1,"lease_seconds":60,"types":["newz"]}`, false},
		{"FrontierLeaseRequest", "lease", `{"max":1}`, false},
		{"FrontierReport", "report", `{"lease_id":"0.1","results":[]}`, true},
		{"FrontierReport", "report", `{"lease_id":"0.1","results":[{"id":"a","error":"x","urls":[]}]}`, true},
		{"FrontierReport", "report", `{"lease_id":"0.1","results":[{"id":"a","status":200,"error":"x"}]}`, false},
		{"FrontierReport", "report", `{"lease_id":"0.1","results":[{"id":"a"}]}`, false},
		{"FrontierReport", "report", `{"lease_id":"0.1","results":[{"id":"a","status":200,"sha256":"1"}]}`, false},
		{"FrontierPutRequest", "urls",
			`{"urls":[{"url":"https://a.sg/","priority":0,"lastmod":"2026"}],"partition_info":{"country":"sg",` +
				`"category":"news","date":"2026-01-28"}}`, true},
		{"FrontierPutRequest", "urls",
			`{"urls":[],"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`, false},
		{"FrontierPutRequest", "urls",
			`{"urls":[{"url":"https://a.sg/","priority":2}],"partition_info":{"country":"sg","category":"news",` +
				`"date":"2026-01-28"}}`, false},
		{"FrontierHostChange", "hosts/a.sg", `{"block_until":null}`, true},
		{"FrontierHostChange", "hosts/a.sg", `{"delay_seconds":86400,"empty":true}`, true},
		{"FrontierHostChange", "hosts/a.sg", `{}`, false},
		{"FrontierHostChange", "hosts/a.sg", `{"delay_seconds":86401}`, false},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		f := filled(t)
		w := f.raw(t, "POST", "/api/v1/frontier/"+c.target, c.body, "Authorization", "Bearer secret")
		if described := compile(t, "/components/schemas/"+c.name).Validate(v) == nil; described != c.fits ||
			(w.Code == 200) != c.fits {
			t.Errorf("%s: described as right %v, answered %d %s", c.body, described, w.Code, w.Body)
		}
	}
}
