package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestReconcile(t *testing.T) {
	f := newFixture(t, nil)
	f.store(t, contract.RawFile{Partition: place, Name: "raw_0001"}.Key(), "[]")
	body := `{"country":"SG","category":"news","date":"2026-01-28"}`
	calls := 0
	for done := false; !done; calls++ {
		r := get[contract.Reconciled](t, f, "POST", "/api/v1/seeds/reconcile", body)
		if done = r.Done; !done {
			body = fmt.Sprintf(`{"country":"sg","category":"news","date":"2026-01-28","cursor":%q}`, *r.Cursor)
		}
	}
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); s.Processing.FilesPending != 1 ||
		calls != 3 {
		t.Errorf("after %d calls: %+v", calls, s.Processing)
	}
	for body, field := range map[string]string{`{}`: "country",
		`{"country":"sg","category":"news","date":"x"}`:       "date",
		strings.Replace(body, `"cursor":"`, `"cursor":"!`, 1): "cursor"} {
		if r := f.do(t, "POST", "/api/v1/seeds/reconcile", body); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", body, r.status, r.Error)
		}
	}
}
