package handlers_test

import (
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestRestore(t *testing.T) {
	f := newFixture(t, nil)
	for _, body := range []string{"", "{}"} {
		if r := get[contract.Restored](t, f, "POST", "/api/v1/frontier/restore", body); !r.Done || r.Pages != 0 ||
			r.Cursor != nil {
			t.Errorf("%s: %+v", body, r)
		}
	}
	for _, body := range []string{`{"live":true}`, `{"live":true,"shard":"shard-1"}`} {
		if r := get[contract.Restored](t, f, "POST", "/api/v1/frontier/restore", body); !r.Done || r.Hosts != 0 ||
			r.Cursor != nil {
			t.Errorf("%s: %+v", body, r)
		}
	}
	for body, field := range map[string]string{
		`{"shard":"../prod"}`: "shard", `{"shard":"shard-99"}`: "shard", `{"shard":"shard-99","live":true}`: "shard",
		`{"shard":"shard-3","cursor":"!"}`:  "cursor",
		`{"cursor":"eyJzIjoiLi4vcHJvZCJ9"}`: "cursor", `{"all":true}`: "all",
	} {
		if r := f.do(t, "POST", "/api/v1/frontier/restore", body); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", body, r.status, r.Error)
		}
	}
}
