package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// shard is an object that an engine serves.
type shard struct {
	engine *engine.Engine
	db     *sqlite.DB
}

var errRefused = errors.New("refused")

func (s shard) Call(_ context.Context, _, operation string, request []byte) (answer []byte, err error) {
	err = s.db.Transaction(func() error {
		a := s.engine.CallShard(s.db, 1_769_601_600_000, operation, request)
		if answer = a.Text; !a.OK {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return answer, err
}

func newShard(t *testing.T, variables map[string]string) frontier.Remote {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	e := engine.New(engine.Platform{
		Clock: fetch.SystemClock(), Webhook: func(string) alarms.Webhook { return nil }, Version: func() string { return "" },
		Variable: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		Local:    func() bool { return true },
		Log:      contract.NewLogger(t.Output()),
	})
	return frontier.Remotes{Caller: shard{e, db}, Shards: 1}.Shard(0)
}

func TestShardsFollowTheSettings(t *testing.T) {
	s := newShard(t, map[string]string{"REQUEST_INTERVAL_MS": "1500", "MAX_HOSTS_PER_DOMAIN": "1", "MIN_REFRESH_SECONDS": "60", "MAX_REFRESH_SECONDS": "120"})
	url := func(host, path string) frontier.NewPage {
		return frontier.NewPage{URL: "https://" + host + ".a.example/" + path, Priority: 0.5}
	}
	_, err := s.Put(t.Context(), frontier.Put{
		Domain: "a.example", Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"},
		Pages:   []frontier.NewPage{url("x", "1"), url("y", "1")},
		Entries: []frontier.NewEntry{{NewPage: url("x", "often"), Interval: 1}, {NewPage: url("x", "seldom"), Interval: 9999}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{"often": 60, "seldom": 120} {
		if state, err := s.URL(t.Context(), url("x", path).URL); err != nil || state.Entry.Interval != want {
			t.Errorf("%s: %+v, %v", path, state.Entry, err)
		}
	}
	lease, err := s.Lease(t.Context(), frontier.LeaseRequest{Max: 10, Seconds: 60})
	if err != nil || len(lease.Items) != 1 || lease.Items[0].CrawlDelay != 1500 {
		t.Errorf("leased %+v, %v: one host of the domain at once", lease.Items, err)
	}
}

func TestShardsNameAWrongSetting(t *testing.T) {
	_, err := newShard(t, map[string]string{"MAX_REFRESH_SECONDS": "1"}).Stats(t.Context())
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != "MAX_REFRESH_SECONDS" {
		t.Error(err)
	}
}
