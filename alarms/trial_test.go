package alarms_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
)

// failing is a receiver that fails with an error.
type failing struct{ err error }

func (f failing) Post(context.Context, string, http.Header, []byte, time.Duration) error {
	return f.err
}

// TestTrial_Failed: an operator reads which receiver did what; the path of its address might be a secret.
func TestTrial_Failed(t *testing.T) {
	r := alarms.Reporter{URL: "https://hooks.example:8443/services/T0/secret", Log: slog.New(slog.DiscardHandler),
		Now:     func() time.Time { return time.Unix(1_769_601_600, 0) },
		Webhook: failing{&contract.Error{Kind: contract.Network, Message: "the webhook answered 404"}}}
	_, err := r.Trial(t.Context(), "kim")
	const want = "hooks.example:8443: the webhook answered 404"
	if got := contract.MessageOf(err); got != want || contract.KindOf(err) != contract.Network {
		t.Errorf("%q, want %q", got, want)
	}
}
