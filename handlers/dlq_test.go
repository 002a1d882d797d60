package handlers_test

import (
	"encoding/json"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/settings"
)

func TestDeadLetters(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.APIToken, s.APITokenPrevious = "new", "old" })
	fill(t, f)
	call := func(method, target, body, token string) reply {
		return f.do(t, method, target, body, "Authorization", "Bearer "+token)
	}
	data := func(r reply, v any) {
		t.Helper()
		if err := json.Unmarshal(r.Data, v); err != nil {
			t.Fatalf("%d %+v", r.status, r.Error)
		}
	}
	var d contract.DeadLetterDetail
	data(call("GET", "/api/v1/dlq/m1", "", "new"), &d)
	if d.ID != "m1" || d.State != contract.Stored || d.Letter == nil ||
		string(d.Letter.OriginalMessage) != `{"id":"m1"}` || d.Partition == nil || *d.Partition != place ||
		d.ErrorMessage != "not JSON" || len(d.History) != 1 {
		t.Errorf("m1: %+v", d)
	}
	if err := f.bucket.Delete(t.Context(), "dlq/queue=newsfork-domain-dev/date=2026-01-28/m2.json"); err != nil {
		t.Fatal(err)
	}
	data(call("GET", "/api/v1/dlq/m2", "", "new"), &d)
	if d.Letter != nil || *d.Domain != "a.sg" {
		t.Errorf("one whose object is gone: %+v", d)
	}
	var page contract.DeadLetterPage
	data(call("GET", "/api/v1/dlq?queue=seed&state=stored&error_type=parse_error&country=sg", "", "new"), &page)
	if len(page.DeadLetters) != 1 || page.DeadLetters[0].ID != "m1" {
		t.Errorf("page: %+v", page)
	}
	var done contract.Resolved
	data(call("POST", "/api/v1/dlq/replay", `{"ids":["m1"]}`, "old"), &done)
	if done.Done != 1 || len(f.seeds.sent) != 1 || f.seeds.sent[0] != `{"id":"m1"}` {
		t.Errorf("replayed: %+v, sent %v", done, f.seeds.sent)
	}
	data(call("POST", "/api/v1/dlq/replay", `{"ids":["m1"]}`, "new"), &done)
	if done.Done != 0 || done.Skipped != 1 || len(f.seeds.sent) != 1 {
		t.Errorf("once more: %+v, sent %v", done, f.seeds.sent)
	}
	data(call("POST", "/api/v1/dlq/discard", `{"filter":{"queue":"seed"}}`, "new"), &done)
	if done.Done != 1 {
		t.Errorf("discarded: %+v", done)
	}
	data(call("GET", "/api/v1/dlq/m1", "", "new"), &d)
	if d.State != contract.Replayed || *d.ResolvedBy != "API_TOKEN_PREVIOUS" || d.ResolvedAt.Unix() != f.now.Unix() {
		t.Errorf("resolved by: %+v", d.DeadLetterRecord)
	}
	for query, field := range map[string]string{"queue=dlq": "queue", "state=gone": "state", "limit=x": "limit",
		"cursor=x": "cursor", "date=x": "date"} {
		if r := call("GET", "/api/v1/dlq?"+query, "", "new"); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}
