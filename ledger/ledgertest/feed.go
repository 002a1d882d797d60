package ledgertest

import (
	"strings"
	"time"

	"github.com/newsfork/seed-engine/ledger"
)

// feedDelivery uses the only row.
func feedDelivery(t T, db ledger.DB, _ string) {
	l := ledger.New(db)
	read := func() ledger.FeedDelivery {
		t.Helper()
		d, err := l.FeedDelivery(ctx)
		must(t, "FeedDelivery", err)
		return d
	}
	save := func(d *ledger.FeedDelivery, want bool) {
		t.Helper()
		saved, err := l.SaveFeedDelivery(ctx, d)
		must(t, "SaveFeedDelivery", err)
		expect(t, "saved", saved, want)
	}
	failing := func(at time.Time) time.Duration {
		t.Helper()
		reading, err := l.Alarms(ctx, at, nil)
		must(t, "Alarms", err)
		return reading.FeedFailing
	}
	first, second := read(), read()
	expect(t, "before the first", first, ledger.FeedDelivery{})
	first.Pending = "p"
	save(&first, true)
	save(&second, false) // another run was faster
	third, fourth := read(), read()
	expect(t, "the first", third, first)

	third.Cursor, third.Pending, third.Failures = strings.Repeat("c", 8000), "", 3
	third.NextAt, third.FailingSince = at(3600), at(-600)
	third.Error = "the webhook answered 403"
	third.Batch, third.SkipDebt = 25, 300
	save(&third, true)
	save(&fourth, false)
	expect(t, "the second", read(), third)
	expect(t, "failing", failing(at(0)), 600*time.Second)
	expect(t, "not tried any more", failing(at(4*3600)), time.Duration(0))

	third.NextAt, third.FailingSince = time.Time{}, time.Time{}
	save(&third, true)
	expect(t, "the third", read(), third)
	expect(t, "failing", failing(at(0)), time.Duration(0))
	save(&fourth, false)
}
