package collector

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
)

// A URL on which the analysis breaks is listed, and the others are taken in.
func TestTake(t *testing.T) {
	g := &gathering{
		collector: &Collector{Log: slog.New(slog.DiscardHandler)},
		message:   &contract.DomainMessage{Domain: "example.com"},
		found: &findings{analysis: analysisFindings{
			analyser: discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: "example.com"}),
		}},
	}
	const noSuchSource = 99 // an index out of range
	g.addSighting(&discovery.Sighting{Loc: []byte("https://example.com/a"), Source: noSuchSource})
	g.addSighting(&discovery.Sighting{Loc: []byte("https://example.com/b")})
	found := g.found.analysis.analyser.Result()
	if len(found.Errors) != 1 || found.Errors[0].Type != discovery.ClassificationFailure ||
		found.Errors[0].URL != "https://example.com/a" || !strings.Contains(found.Errors[0].Message, "out of range") {
		t.Errorf("errors %+v", found.Errors)
	}
	if found.Stats.Analyzed != 2 {
		t.Errorf("%d URLs analysed, want 2", found.Stats.Analyzed)
	}
}
