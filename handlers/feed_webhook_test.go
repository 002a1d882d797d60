package handlers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
)

// heldFrom and heldTo are the ends of the delivery of holdDelivery, and heldID is its id.
var (
	heldFrom, heldTo = client.Cursor{0, 0, 0}.String(), client.Cursor{1 << 50, 1 << 50, 1 << 50}.String()
	heldSum          = sha256.Sum256([]byte(heldFrom + " " + heldTo))
	heldID           = hex.EncodeToString(heldSum[:16])
)

// holdDelivery stores a delivery that failed twice.
func holdDelivery(t *testing.T, f *fixture) {
	t.Helper()
	saved, err := f.ledger.SaveFeedDelivery(t.Context(), &ledger.FeedDelivery{Cursor: heldFrom, Pending: heldTo,
		Failures: 2, NextAt: f.now.Add(time.Minute), FailingSince: f.now.Add(-time.Minute), Batch: 50,
		Error: "the webhook answered 403"})
	if err != nil || !saved {
		t.Fatal(saved, err)
	}
}

func TestFeedWebhook(t *testing.T) {
	f := newFixture(t, nil)
	const path = "/api/v1/feed/webhook"
	if s := get[contract.FeedWebhook](t, f, "GET", path, ""); !s.Enabled || s.Cursor != nil || s.Held != nil {
		t.Errorf("%+v", s)
	}
	news(t, f, "a.sg", 1, frontier.NewPage{URL: "https://www.a.sg/1"})
	holdDelivery(t, f)
	s := get[contract.FeedWebhook](t, f, "GET", path, "")
	if s.BatchSize != 50 || *s.Cursor != heldFrom || s.Held == nil || s.Held.ID != heldID || s.Held.Attempts != 2 ||
		s.Held.Error != "the webhook answered 403" ||
		len(s.Held.URLs) != 1 || s.Held.URLs[0] != "https://www.a.sg/1" {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", path + "?x=1", 400}, {"POST", path, 405}, {"GET", path + "/" + heldID + "/skip", 405},
		{"POST", path + "/" + heldID[1:] + "/skip", 404}, {"POST", path + "/" + heldID + "/skip?x=1", 400},
	} {
		if r := f.do(t, c.method, c.path, ""); r.status != c.status {
			t.Errorf("%s %s: %d %+v, want %d", c.method, c.path, r.status, r.Error, c.status)
		}
	}
	skip := path + "/" + heldID + "/skip"
	if s := get[contract.FeedSkipped](t, f, "POST", skip, ""); s.Skipped != 1 || s.ID != heldID || s.Cursor != heldTo {
		t.Errorf("%+v", s)
	}
	letters := get[contract.DeadLetterPage](t, f, "GET", "/api/v1/dlq?queue=webhook&domain=a.sg", "").DeadLetters
	if len(letters) != 1 || letters[0].Work != "https://www.a.sg/1" ||
		!strings.HasSuffix(letters[0].ErrorMessage, ": the webhook answered 403") {
		t.Errorf("%+v", letters)
	}
	if s := get[contract.FeedWebhook](t, f, "GET", path, ""); s.Held != nil || *s.Cursor != heldTo {
		t.Errorf("afterwards: %+v", s)
	}
	if r := f.do(t, "POST", skip, ""); r.status != 404 {
		t.Errorf("skipped twice: %d %+v", r.status, r.Error)
	}
}
