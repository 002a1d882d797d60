package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/httpapi/openapitest"
)

// queryParameters returns the names of an operation's query parameters.
func queryParameters(o *openapitest.Operation) (names []string) {
	for _, p := range o.Parameters {
		if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
			p = openAPI().Components.Parameters[name]
		}
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// hostileTexts are values that no parameter expects, and limits of some.
var hostileTexts = append(hostileCursors, []string{
	"", " ", "\x00", "'", `"`, `' OR 1=1 --`, "%", "%00", "..", "../..", "\xff\xfe", "\u2028", "é", "a\nb", "*",
	"null", "true", "false", "NaN", "Infinity", "-0", "0x1p9",
	"-1", "0", "1", "2", "200", "201", "1000", "1001", "1e309", "9007199254740993", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808",
	"sg", "SG", "news", "2026-02-30", "0000-01-01", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	"2026-01-28T10:00:00+23:59",
	"domain", "duration", "pending", "processed", "failed", "excluded", "stored", "due", "size", "partition", "url",
	"seed", "storage_error",
	"sg/news/2026-01-28", "///", "country=sg/category=news/date=2026-01-28", "news,,policy", ",", "https://a.sg/1",
	"http://[::1]/", "https://", "//",
	strings.Repeat("a", 20_000), strings.Repeat("9", 400), strings.Repeat("é", 2_000), "0.5.", "1.2.3",
	strings.Repeat("1.", 300), "!!!!",
}...)

// hostileCursors are forged cursors.
var hostileCursors = func() (list []string) {
	for _, cursor := range []string{
		"null", "{}", "[]", "1", `""`, "[[[[", `{"p":1,"d":"a.sg"}`, `{"p":9223372036854775807,"d":"\u0000"}`,
		`{"p":-9223372036854775808,"d":"'"}`, `{"p":1e400}`, `{"p":"1"}`, `{"t":-9223372036854775808,"p":0,"d":""}`,
		`{"Score":1e308,"URL":"\ud800"}`, `{"Score":-1e308}`, `{"Score":"a"}`, `{"Score":null,"URL":null}`,
		`{"at":-1,"id":"'"}`, "domain \xff", strings.Repeat(`{"a":`, 11_000), "\x00",
		`{"s":"shard-3"}`, `{"s":"shard-3","p":9223372036854775807,"d":"2026-01-28"}`,
		`{"s":"shard-3","p":1,"d":"../../../x"}`, `{"s":"shard-3","p":1,"d":"` + strings.Repeat("x", 2000) + `"}`,
		`{"s":"shard-3","f":9223372036854775807,"l":true}`,
		`{"s":"shard-99999999999999999999"}`, `{"s":"shard-3","t":-9223372036854775808,"p":2,"d":"2026-01-28"}`,
	} {
		list = append(list, base64.RawURLEncoding.EncodeToString([]byte(cursor)))
	}
	return list
}()

// hostileValues are JSON values that replace others.
var hostileValues = []string{
	"null", "true", "false", "0", "-0", "-1", "1", "1.5", "1e308", "1e-400", "9007199254740993", "9223372036854775807",
	"-9223372036854775808", "9223372036854775808", `""`, `" "`, `"\u0000"`, `"'"`, `"\ud800"`,
	`"../../x"`, `"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`, `"0001-01-01T00:00:00Z"`, `"sg"`,
	`"https://a.sg/1"`,
	`"http://127.0.0.1/"`, `"https://a.sg/` + "%\\u0000" + `"`, `"` + strings.Repeat("x", 3000) + `"`,
	`"` + strings.Repeat("é", 1000) + `"`,
	"[]", "{}", "[null]", "[[]]", "[{}]", `[""]`, `{"":null}`, strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
}

// spoiled returns copies of JSON with one value replaced by a hostile one.
func spoiled(t *testing.T, body string) (list []string) {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(body), &root); err != nil {
		t.Fatal(err)
	}
	encode := func() string {
		b, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		for _, hostile := range hostileValues {
			set(json.RawMessage(hostile))
			list = append(list, encode())
		}
		if v == "cursor" {
			for _, cursor := range hostileCursors {
				set(cursor)
				list = append(list, encode())
			}
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], func(n any) { v[key] = n })
			}
		case []any:
			for i := range v {
				walk(v[i], func(n any) { v[i] = n })
			}
		}
	}
	walk(root, func(n any) { root = n })
	return list
}

// bodies have every field of their requests.
var bodies = map[string][]string{
	"orchestrate":      {`{"country":"sg","category":"news","date":"2026-01-28","force":true}`},
	"collect":          {`{"country":"sg","category":"news","date":"2026-01-29"}`},
	"reconcile":        {`{"country":"sg","category":"news","date":"2026-01-28","cursor":"cursor"}`},
	"restoreFrontier":  {`{"shard":"shard-3","live":true,"cursor":"cursor"}`, `{"shard":"shard-3","cursor":"cursor"}`},
	"snapshotFrontier": {`{"shard":"shard-0"}`},
	"importFrontier":   {`{"version":1,"hosts":[{"host":"a.sg","domain":"a.sg","record":"AAAA","parts":[]}],"next":0}`},
	"beginVisit":       {`{"host":"a.example","visitor":"visitor-1","seconds":60}`},
	"endVisit": {`{"host":"a.example","visitor":"visitor-1","asked_at":"2026-01-28T10:00:00Z",` +
		`"crawl_delay_seconds":1,"robots_expires_at":"2026-01-28T11:00:00Z","retry_after_seconds":1,"throttled":true,` +
		`"unresolved":true}`},
	"leaseURLs": {`{"max":1,"lease_seconds":60,"per_host":1,"max_hosts":1,"country":"sg","category":"news",` +
		`"types":["news"],"kinds":["page"],"domain":"a.sg","host":"www.a.sg","min_score":0.5}`},
	"renewLease": {`{"lease_seconds":60}`},
	"reportURLs": {`{"lease_id":"0.1","results":[{"id":"0.1.0000000001-000000000001","status":200,` +
		`"fetched_at":"2026-01-28T10:00:00Z","etag":"x","last_modified":"x","sha256":"` + strings.Repeat("0", 64) +
		`","text_sha256":"` + strings.Repeat("0", 64) +
		`","duplicate_of":"https://a.sg/3","redirected_to":"https://a.sg/2","retry_after_seconds":1,` +
		`"type":"news","paywalled":true,"page":{"title":"x","h1":"x","headings":["x"],"breadcrumb":["x"],"text":"x",` +
		`"words":1,"links":1,"dates":1,"forms":1,"documents":1,"lang":"en","canonical":"https://a.sg/2",` +
		`"published":"2026-01-28","published_from":"meta","modified":"2026-01-28","modified_from":"meta",` +
		`"noindex":true,"paywall":"markup"},"urls":[{"url":"https://a.sg/b","title":"x"}]},` +
		`{"id":"x","error":"x"}]}`},
	"removeURLs": {`{"urls":[{"url":"https://b.sg/1"}],"partition_info":{"country":"sg","category":"news",` +
		`"date":"2026-01-28"}}`},
	"putURLs": {`{"urls":[{"url":"https://b.sg/1","title":"x","type":"news","priority":0.5,"lastmod":"2026-01-28",` +
		`"refetch":true}],"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`},
	"changeHost": {`{"block_until":"2026-02-01T00:00:00Z","delay_seconds":2,"empty":true,"forget":"all"}`},
	"replay":     {`{"ids":["m1","none"]}`},
	"discard": {`{"filter":{"queue":"seed","country":"sg","category":"news","date":"2026-01-28",` +
		`"error_type":"parse_error","domain":"a.sg"}}`},
	"exclude": {`{"reason":"asked for"}`},
	"pause":   {`{"reason":"maintenance"}`},
	"resume":  {`{"reason":"over"}`},
}

// No parameter or body makes the engine fail or send an undocumented answer.
func TestRequests_Hostile(t *testing.T) {
	for path, operations := range openAPI().Paths {
		for method, o := range operations {
			if o.OperationID == "upload" {
				continue // its body is not read here
			}
			t.Run(o.OperationID, func(t *testing.T) {
				t.Parallel()
				f := filled(t)
				method, r := strings.ToUpper(method), requests[o.OperationID][0]
				check := func(w *httptest.ResponseRecorder, target, body string) {
					t.Helper()
					if w.Code >= 500 {
						t.Errorf("%s %.300q %.300q: %d %.500s", method, target, body, w.Code, w.Body)
					}
				}
				base, _, _ := strings.Cut(r.target, "?")
				for _, name := range queryParameters(&o) {
					for _, value := range hostileTexts {
						target := base + "?" + url.Values{name: {value}}.Encode()
						check(f.raw(t, method, target, r.body, "Authorization", "Bearer secret"), target, "")
					}
				}
				if _, strict := o.Responses["400"]; strict {
					for _, query := range []string{"cursor=%zz", "limit=1;cursor=x", "limit=%", "%", ";",
						"state=fai%led"} {
						if w := f.raw(t, method, base+"?"+query, r.body, "Authorization", "Bearer secret"); w.Code !=
							400 {
							t.Errorf("%s %s?%s: %d", method, base, query, w.Code)
						}
					}
				}
				// Path parameters.
				want, got := strings.Split(path, "/"), strings.Split(base, "/")
				for i := range want {
					if !strings.HasPrefix(want[i], "{") {
						continue
					}
					for _, value := range hostileTexts {
						if value == "" || value == ".." {
							continue // another path
						}
						target := strings.Join(slices.Concat(got[:i], []string{url.PathEscape(value)}, got[i+1:]), "/")
						check(f.raw(t, method, target, r.body, "Authorization", "Bearer secret"), target, r.body)
					}
				}
				if bodies[o.OperationID] == nil && o.RequestBody != nil {
					t.Error("the test has no body")
				}
				for _, body := range bodies[o.OperationID] {
					for _, b := range append(spoiled(t, body), "{", "[", "\x00", "\xff", strings.Repeat("[", 30_000),
						`{"a":1}{"b":2}`, "{}\x00", strconv.Quote(body)) {
						check(f.raw(t, method, r.target, b, "Authorization", "Bearer secret"), r.target, b)
					}
				}
			})
		}
	}
}
