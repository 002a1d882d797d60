package handlers_test

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func TestPipeline_PauseAndResume(t *testing.T) {
	f := newFixture(t, nil)
	if p := get[contract.Pipeline](t, f, "GET", "/api/v1/pipeline", ""); p != (contract.Pipeline{}) {
		t.Errorf("at first: %+v", p)
	}
	p := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/pause", `{"reason":"maintenance"}`)
	if !p.Paused || *p.Reason != "maintenance" || *p.By != "development" || p.Since.Unix() != f.now.Unix() {
		t.Errorf("paused: %+v", p)
	}
	f.now = f.now.Add(time.Hour)
	if again := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/pause", ""); *again.Reason != "maintenance" ||
		again.Since.Unix() != p.Since.Unix() {
		t.Errorf("paused twice: %+v", again)
	}
	f.now = f.now.Add(time.Minute)
	if again := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/pause",
		`{"reason":"until Monday"}`); *again.Reason != "until Monday" || again.Since.Unix() != p.Since.Unix() {
		t.Errorf("paused with another reason: %+v", again)
	}
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); !s.Paused {
		t.Error("the status does not say so")
	}
	p = get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/resume", "")
	if p.Paused || p.Since.Unix() != f.now.Unix() || p.Reason != nil {
		t.Errorf("resumed: %+v", p)
	}
	f.now = f.now.Add(time.Minute)
	if again := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/resume",
		`{"reason":"the bucket was moved"}`); again.Paused || *again.Reason != "the bucket was moved" ||
		again.Since.Unix() != p.Since.Unix() {
		t.Errorf("resumed with a reason while it runs: %+v", again)
	}
}
