package handlers

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// live answers that the Worker is up.
func (a *API) live(w http.ResponseWriter, r *http.Request) error {
	httpapi.Succeed(w, http.StatusOK, liveness{})
	return nil
}

// liveness encodes itself: reflection would take a tenth of a cold start.
type liveness struct{}

func (liveness) AppendJSON(b []byte) []byte {
	return append(b, `{"status":"ok","version":"`+contract.Version+`"}`...)
}

// ReadinessAge is the lifetime of a cached check. The route is public and must not let anyone run up calls of R2
// and D1.
const ReadinessAge = 5 * time.Second

// readiness caches the last answer of the stores. Concurrent callers wait for the same check.
type readiness struct {
	mu     sync.Mutex
	at     time.Time
	checks map[string]string // "ok", "failed" or "not_migrated", by store; immutable
}

// ready checks the bucket and the ledger, at most once in ReadinessAge. It answers 503 if one of them does not
// answer.
func (a *API) ready(w http.ResponseWriter, r *http.Request) error {
	checks := a.checkStores(r.Context())
	for _, state := range checks {
		if state != "ok" {
			message := "a store does not answer; see data.checks"
			if checks["d1"] == "not_migrated" {
				message = ledger.ErrNotMigrated.Error() +
					"; make deploy-staging and make deploy-production apply it, or npx wrangler d1 migrations " +
					"apply METADATA_DB"
			}
			httpapi.Send(w, http.StatusServiceUnavailable, httpapi.Envelope{
				Data:  map[string]any{"status": "not_ready", "checks": checks},
				Error: &httpapi.ErrorBody{Code: string(contract.Storage), Message: message},
			})
			return nil
		}
	}
	httpapi.Succeed(w, http.StatusOK, map[string]any{"status": "ready", "checks": checks})
	return nil
}

func (a *API) checkStores(ctx context.Context) map[string]string {
	last := &a.readiness
	last.mu.Lock()
	defer last.mu.Unlock()
	if now := a.Now(); last.checks != nil && now.Sub(last.at) < ReadinessAge && !now.Before(last.at) {
		return last.checks
	}
	ctx = context.WithoutCancel(ctx) // a caller that hangs up must not void the check
	checks := map[string]string{}
	for name, check := range map[string]func(context.Context) error{
		"r2": func(ctx context.Context) error {
			_, err := a.Bucket.List(ctx, r2.ListOptions{Prefix: contract.RawPrefix("", "", ""), Limit: 1})
			return err
		},
		"d1": a.Ledger.Ping,
	} {
		checks[name] = "ok"
		if err := check(ctx); err != nil {
			a.Log.Error("readiness_failed", "check", name, "error_type", contract.KindOf(err), "error", err.Error())
			checks[name] = "failed"
			if errors.Is(err, ledger.ErrNotMigrated) {
				checks[name] = "not_migrated"
			}
		}
	}
	last.at, last.checks = a.Now(), checks
	return checks
}
