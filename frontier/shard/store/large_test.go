package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// Segments that earlier versions wrote are read within the same bounds, and become small when they are written again.
func TestSegment_LargeOnesOfEarlierVersions(t *testing.T) {
	const hosts, pages, most = 100, 300, 16 << 20
	for name, filter := range map[string]string{"without a filter": "", "with one": "policy"} {
		t.Run(name, func(t *testing.T) {
			db, err := sqlite.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s, now := shard.Shard{DB: db}, epoch.Millis(1_769_601_600_000)
			do := func(f func() error) {
				t.Helper()
				if err := db.Transaction(f); err != nil {
					t.Fatal(err)
				}
			}
			written := *store.SegmentBytes
			*store.SegmentBytes = 256 << 10
			for i := range hosts {
				put := frontier.Put{Domain: fmt.Sprintf("a%d.example", i),
					Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}}
				for k := range pages {
					url := fmt.Sprintf("https://%s/%d/%s", put.Domain, k, strings.Repeat("%ED%95%9C-", 90))
					put.Pages = append(put.Pages, frontier.NewPage{URL: url,
						Type: []string{"news", "policy"}[k%2], Title: strings.Repeat("한", 60)})
				}
				do(func() error { _, err := s.Put(now, put); return err })
			}
			*store.SegmentBytes = written
			largest := func() (size int64) {
				each := func(r *store.Rows) { size = r.Int() }
				if err := db.Query("SELECT max(length(data)) FROM parts", each); err != nil {
					t.Fatal(err)
				}
				return size
			}
			if largest() < 200<<10 {
				t.Fatalf("the largest segment has %d bytes", largest())
			}
			request := frontier.LeaseRequest{Max: 500, Seconds: 60}
			if filter != "" {
				request.Types = []string{filter}
			}
			urls := map[string]bool{}
			for range 30 {
				before := db.ReadBytes
				do(func() error {
					l, err := s.Lease(now, request)
					r := frontier.Report{Lease: l.ID}
					for _, item := range l.Items {
						urls[item.URL] = true
						r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200})
					}
					if got := db.ReadBytes - before; got > most {
						t.Errorf("a lease of %d items read %d bytes, want at most %d", len(l.Items), got, most)
					}
					if err == nil && len(l.Items) > 0 {
						_, err = s.Report(now, r)
					}
					return err
				})
				now += 2000
			}
			if want := 10 * hosts; len(urls) < want {
				t.Errorf("%d pages were leased, want %d", len(urls), want)
			}
			if filter != "" && largest() > 64<<10 {
				t.Errorf("the largest segment still has %d bytes", largest())
			}
			for _, err := range store.Audit(db, db.Transaction) {
				t.Error(err)
			}
		})
	}
}
