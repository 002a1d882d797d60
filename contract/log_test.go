package contract

import (
	"fmt"
	"strings"
	"testing"
)

func TestSampleLog(t *testing.T) {
	lines := func(percent int) (routine, failures, others int, whole bool) {
		var b strings.Builder
		log := SampleLog(NewLogger(&b), percent)
		for i := range 1000 {
			id, domain := fmt.Sprintf("dom_%d", i), fmt.Sprintf("site-%d.example", i)
			log.Info("domain_collector_start", "registrable_domain", domain, "domain_id", id)
			log.Info("robots_fetched", "domain_id", id)
			log.Error("domain_collector_failed", "domain_id", id)
		}
		for range 10 {
			log.Info("batch_complete", "queue", "domain")
		}
		started, fetched := strings.Count(b.String(), "_start"), strings.Count(b.String(), "robots_fetched")
		return started + fetched, strings.Count(b.String(), "_failed"), strings.Count(b.String(), "batch_"),
			started == fetched
	}
	for percent, want := range map[int][2]int{100: {2000, 2000}, 10: {140, 260}, 1: {4, 60}} {
		routine, failures, others, whole := lines(percent)
		if routine < want[0] || routine > want[1] || failures != 1000 || others != 10 || !whole {
			t.Errorf("%d %%: %d routine lines (whole %v), %d failures, %d others", percent, routine, whole, failures,
				others)
		}
	}
}
