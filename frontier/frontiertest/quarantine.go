package frontiertest

import "github.com/newsfork/seed-engine/frontier"

// quarantine: a host whose row cannot be read does not stop the others, and returns with all of its parts.
func quarantine(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 300, 0.5)...)
	s.put("b.example", pages("b.example", 1, 0.5)...)
	run := func(sql string) {
		t.Helper()
		if err := db.Transaction(func() error { _, err := db.Run(sql); return err }); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE TABLE whole AS SELECT record FROM hosts WHERE host = 'a.example'")
	run("UPDATE hosts SET record = X'FF' WHERE host = 'a.example'")
	expect(t, "leased without it", len(s.lease(10).Items), 1)
	expect(t, "pages without it", s.stats().URLs, int64(1))
	var page frontier.QuarantinePage
	s.do(func() (err error) {
		page, err = s.s.Quarantine(ctx, frontier.QuarantineRequest{Limit: 10})
		return err
	})
	if len(page.Rows) != 1 || page.Rows[0].Name != "a.example" || page.Rows[0].Table != "hosts" {
		t.Fatalf("the quarantine has %+v", page)
	}
	run("UPDATE quarantine SET data = (SELECT record FROM whole) WHERE owner = 0")
	s.do(func() error {
		found, err := s.s.RestoreRow(ctx, page.Rows[0].ID)
		expect(t, "the row is found", found, true)
		return err
	})
	expect(t, "pages in the end", s.stats().URLs, int64(301))
	expect(t, "rows in the end", s.stats().Quarantined, int64(0))
	s.wait(frontier.MaxLeaseSeconds * 1000)
	leased := 0
	for range 400 {
		l := s.lease(10)
		leased += len(l.Items)
		s.settle(l, 200)
		s.wait(2000)
	}
	expect(t, "leased in the end", leased, 301)
}
