package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

const heldID = "9f3c41d07a5be2680d1f4c7b9ae35812"

func (e *playedEngine) webhook(*http.Request) (int, any) {
	return 200, contract.FeedWebhook{Enabled: true, Cursor: ptr("AYC"), BatchSize: 1, Held: &contract.HeldDelivery{
		ID: heldID, Attempts: 4, FailingSince: ptr(at("09:21:00")), NextAttempt: ptr(at("09:36:00")),
		Error: "the webhook answered 403",
		URLs:  []string{"https://news.example/2026/story-1"}}}
}

func (e *playedEngine) skipDelivery(r *http.Request) (int, any) {
	if r.PathValue("id") != heldID {
		return 404, &client.Error{Code: "not_found", Message: "the webhook holds no delivery with this id"}
	}
	return 200, contract.FeedSkipped{ID: heldID, Skipped: 1, Cursor: "AYD"}
}

func TestWebhook_JSON(t *testing.T) {
	newEngine(t)
	for command, want := range map[string]string{
		"status":         `"held":{"id":"` + heldID + `"`,
		"skip " + heldID: `"skipped":1`,
	} {
		code, out, errOut := seedctl("", append([]string{"webhook"}, strings.Fields(command+" --json")...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %q, %q", command, code, out, errOut)
		}
	}
}

// A state without a held delivery shows that nothing is held.
func TestWebhook_NothingHeld(t *testing.T) {
	e := newEngine(t)
	e.before = func(w http.ResponseWriter, _ *http.Request) bool {
		respond(w, 200, contract.FeedWebhook{BatchSize: 100})
		return true
	}
	code, out, errOut := seedctl("", "webhook", "status")
	if code != 0 || strings.Contains(out, "URL") || !strings.Contains(out, "held        -\n") {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
}
