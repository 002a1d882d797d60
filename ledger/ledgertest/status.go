package ledgertest

import (
	"fmt"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func numbers(t T, db ledger.DB, name string) {
	for i, date := range []string{"2026-01-28", "2026-01-29"} {
		p := place(name, date)
		c := ledger.Changes{Files: []ledger.FileChange{
			{RawFile: contract.RawFile{Partition: p, Name: "raw_0001"}, Processed: at(0), Duration: 2 * time.Second},
			{RawFile: contract.RawFile{Partition: p, Name: "raw_0002"}, GaveUp: at(0), ErrorType: contract.Parse},
		}}
		for n := range 3 + i {
			c.Domains = append(c.Domains, ledger.DomainChange{Partition: p, Domain: fmt.Sprintf("d%d.sg", n),
				Outcome: outcome(2*n+3600*i, n != 0)})
		}
		record(t, db, c)
	}
	filter := contract.Filter{Category: name}
	s := status(t, db, ledger.StatusQuery{Filter: filter, Now: at(3600), ByPartition: true, ByError: true,
		TrendHours: 3})
	expect(t, "processing", s.Processing, contract.ProcessingStats{FilesTotal: 4, FilesProcessed: 2, FilesFailed: 2,
		DomainsTotal: 7, DomainsProcessed: 5, DomainsFailed: 2})
	expect(t, "collection", s.Collection, contract.CollectionStats{RobotsFound: 5, RobotsRate: 0.71, SitemapFound: 5,
		SitemapRate: 0.71, AvgProcessingMS: 2164})
	var dates []string
	for _, p := range s.Partitions {
		dates = append(dates, p.Partition.Date)
	}
	expect(t, "partitions", dates, []string{"2026-01-29", "2026-01-28"})
	expect(t, "domains of the second", s.Partitions[0].Processing.DomainsTotal, int64(4))
	expect(t, "errors", s.Errors, []contract.ErrorCount{{ErrorType: "network_error", Domains: 2},
		{ErrorType: "parse_error", Files: 2}})
	var trend []int64
	for _, h := range s.Trend {
		trend = append(trend, h.DomainsProcessed, h.DomainsFailed, h.AvgProcessingMS)
	}
	expect(t, "trend", trend, []int64{0, 0, 0, 2, 1, 3, 3, 1, 3604})
	whole := status(t, db, ledger.StatusQuery{
		Filter: contract.Filter{Country: "sg", Category: name, Date: "2026-01-28"},
		Now:    at(48 * 3600), ByError: true, TrendHours: 3})
	expect(t, "domains of a partition", whole.Processing.DomainsTotal, int64(3))
	expect(t, "trend of a partition after its last hour", whole.Trend[0].DomainsProcessed, int64(0))
	filter.Date = "2026-01-28"
	expect(t, "domains of a date", status(t, db,
		ledger.StatusQuery{Filter: filter, Now: noon}).Processing.DomainsTotal, int64(3))
	filter.Country = "kr"
	expect(t, "stats of nothing", status(t, db, ledger.StatusQuery{Filter: filter, Now: noon}).Stats,
		contract.Stats{})
}
