package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// Reported counts what was reported to all shards.
type Reported struct {
	frontier.ReportAnswer

	// Failed are the indexes of results that have to be reported again, since a shard did not answer.
	Failed []int
}

// Report reports to the shards what became of the items of a lease, and puts what was found where it
// belongs. When shards do not answer, the error says so and the answer what was not taken; the same
// report may be sent again as a whole.
func (r Frontier) Report(ctx context.Context, report frontier.Report) (answer Reported, err error) {
	if err := report.Validate(); err != nil {
		return answer, err
	}
	p := reportToAll{remotes: r, report: &report, failed: map[int]bool{}, found: map[string]*foundThere{}}
	p.divide()
	errs := p.send(ctx)
	if err := refused(errs); err != nil {
		return answer, err
	}
	errs = append(errs, p.put(ctx)...)
	for i := range p.failed {
		p.answer.Failed = append(p.answer.Failed, i)
	}
	slices.Sort(p.answer.Failed)
	if err := errors.Join(errs...); err != nil {
		return p.answer, contract.Wrap(contract.Storage, "frontier.Report", err)
	}
	return p.answer, nil
}

// reportToAll is a report to all shards at work.
type reportToAll struct {
	remotes Frontier
	report  *frontier.Report
	parts   []reportPart
	found   map[string]*foundThere
	answer  Reported
	failed  map[int]bool
}

// reportPart collects the results for the lease of one shard.
type reportPart struct {
	shard   int
	lease   string
	indexes []int // of the results
	results []frontier.Result
	found   [][]frontier.FoundURL // of other shards, by result
	answer  frontier.ReportAnswer
}

// foundThere collects found URLs of a domain of another shard.
type foundThere struct {
	put     frontier.Put
	indexes map[int]bool // of the results
}

// divide sorts the results by shard and lease, and what they found by shard. What names no lease of the
// report is unknown.
func (p *reportToAll) divide() {
	p.answer.Outcomes = slices.Repeat([]frontier.Outcome{frontier.ReportUnknown}, len(p.report.Results))
	leases := p.remotes.parseLease(p.report.Lease)
	at := map[shardLease]int{}
	for i := range p.report.Results {
		result := p.report.Results[i]
		lease, item, ok := p.remotes.parseItem(result.ID)
		if !ok || leases[lease] == "" {
			p.answer.Unknown++
			continue
		}
		if _, there := at[lease]; !there {
			at[lease] = len(p.parts)
			p.parts = append(p.parts, reportPart{shard: lease.shard, lease: leases[lease]})
		}
		part := &p.parts[at[lease]]
		var elsewhere []frontier.FoundURL
		result.ID = item
		result.Found, elsewhere = p.divideFound(lease.shard, result.Found)
		part.indexes = append(part.indexes, i)
		part.results = append(part.results, result)
		part.found = append(part.found, elsewhere)
	}
}

// divideFound divides found URLs into those of a shard and of others.
func (p *reportToAll) divideFound(shard int, found []frontier.FoundURL) (here, elsewhere []frontier.FoundURL) {
	others := link.FoundDomains{}
	for _, f := range found {
		l, ok := link.Parse(f.URL)
		f.Domain = Registrable(l.Host)
		switch {
		case !ok || f.Domain == "":
			p.answer.Found.Invalid++
		case placement.ShardOf(f.Domain, p.remotes.Shards) == shard:
			here = append(here, f)
		case others.Take(f.Domain):
			elsewhere = append(elsewhere, f)
		default:
			p.answer.Found.Over++
		}
	}
	return here, elsewhere
}

// send reports to each lease.
func (p *reportToAll) send(ctx context.Context) []error {
	errs := each(len(p.parts), func(i int) (err error) {
		part := &p.parts[i]
		report := frontier.Report{Lease: part.lease, Results: part.results, Scraper: p.report.Scraper}
		report.Partitions = slices.ContainsFunc(part.found, func(f []frontier.FoundURL) bool { return len(f) > 0 })
		part.answer, err = p.remotes.Shard(part.shard).Report(ctx, report)
		return err
	})
	for i := range p.parts {
		part := &p.parts[i]
		if errs[i] != nil {
			for _, index := range part.indexes {
				p.failed[index] = true
			}
			continue
		}
		p.answer.Accepted += part.answer.Accepted
		p.answer.Late += part.answer.Late
		p.answer.Unknown += part.answer.Unknown
		p.answer.Added += part.answer.Added
		p.answer.Found.Add(part.answer.Found)
		for k, outcome := range part.answer.Outcomes[:min(len(part.indexes), len(part.answer.Outcomes))] {
			p.answer.Outcomes[part.indexes[k]] = outcome
		}
		if part.answer.Accepted+part.answer.Late > 0 {
			p.remotes.Idle.Forget(part.shard)
		}
		p.gather(part)
	}
	return errs
}

// gather sorts what a part found of other shards by domain. What was found on a page that is unknown is
// dropped.
func (p *reportToAll) gather(part *reportPart) {
	for i, found := range part.found {
		if len(found) == 0 || i >= len(part.answer.Partitions) || part.answer.Partitions[i].Validate("") != nil {
			continue
		}
		for _, f := range found {
			there := p.found[f.Domain]
			if there == nil {
				there = &foundThere{frontier.Put{Domain: f.Domain, Partition: part.answer.Partitions[i], Found: true},
					map[int]bool{}}
				p.found[f.Domain] = there
			}
			f.FoundBy = cmp.Or(f.FoundBy, frontier.FoundByScraper)
			there.put.Pages = append(there.put.Pages, f.NewPage)
			there.indexes[part.indexes[i]] = true
		}
	}
}

// put returns what was found to the shards to which it belongs.
func (p *reportToAll) put(ctx context.Context) []error {
	puts := make([]frontier.Put, 0, len(p.found))
	for _, domain := range slices.Sorted(maps.Keys(p.found)) {
		puts = append(puts, p.found[domain].put)
	}
	answers, errs := p.remotes.putAll(ctx, puts)
	for i, err := range errs {
		p.answer.Added += answers[i].Added
		for _, v := range answers[i].Pages {
			if v != frontier.Unavailable {
				p.answer.Found.Count(v)
			}
		}
		if err == nil {
			continue
		}
		for index := range p.found[puts[i].Domain].indexes {
			p.failed[index] = true
		}
	}
	return errs
}
