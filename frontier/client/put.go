package client

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// Put queues pages of any domains, and gives a verdict for each in the same order. When shards do not
// answer, their pages are Unavailable and there is an error besides the answer; the same put may be
// repeated as a whole.
func (r Frontier) Put(ctx context.Context, partition contract.Partition, pages []frontier.NewPage) (frontier.PutAnswer,
	error) {
	return r.put(ctx, frontier.Put{Partition: partition}, pages)
}

// Remove takes pages of any domains out, and gives a verdict for each as Put does.
func (r Frontier) Remove(ctx context.Context, partition contract.Partition,
	pages []frontier.NewPage) (frontier.PutAnswer, error) {
	return r.put(ctx, frontier.Put{Partition: partition, Remove: true}, pages)
}

// put does a put like another of each domain's pages.
func (r Frontier) put(ctx context.Context, like frontier.Put, pages []frontier.NewPage) (answer frontier.PutAnswer,
	err error) {
	if err := like.Partition.Validate("partition_info."); err != nil {
		return answer, err
	}
	if err := frontier.CheckRange("urls", len(pages), 0, frontier.MaxPut); err != nil {
		return answer, err
	}
	answer.Pages = make([]frontier.Verdict, len(pages))
	indexes := map[string][]int{}
	var parser link.Parser
	for i := range pages {
		domain := ""
		if l, ok := parser.Parse(pages[i].URL); ok {
			domain = Registrable(l.Host)
		}
		if answer.Pages[i] = frontier.InvalidURL; domain != "" {
			indexes[domain] = append(indexes[domain], i)
		}
	}
	domains := slices.Sorted(maps.Keys(indexes))
	puts := make([]frontier.Put, len(domains))
	for i, domain := range domains {
		puts[i] = like
		puts[i].Domain = domain
		for _, index := range indexes[domain] {
			puts[i].Pages = append(puts[i].Pages, pages[index])
		}
	}
	answers, errs := r.putAll(ctx, puts)
	for i, domain := range domains {
		answer.Added += answers[i].Added
		for k, index := range indexes[domain] {
			if answer.Pages[index] = frontier.Unavailable; k < len(answers[i].Pages) {
				answer.Pages[index] = answers[i].Pages[k]
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return answer, contract.Wrap(contract.Storage, "frontier.Put", err)
	}
	return answer, nil
}

// putAll does puts of any domains, with one call to each shard that is concerned. It gives an answer
// and an error for each.
func (r Frontier) putAll(ctx context.Context, puts []frontier.Put) ([]frontier.PutAnswer, []error) {
	answers, errs := make([]frontier.PutAnswer, len(puts)), make([]error, len(puts))
	of := map[int][]int{} // the puts of each shard
	for i := range puts {
		shard := placement.ShardOf(puts[i].Domain, r.Shards)
		of[shard] = append(of[shard], i)
	}
	shards := slices.Sorted(maps.Keys(of))
	got := make([][]frontier.PutAnswer, len(shards))
	failed := each(len(shards), func(n int) (err error) {
		var request frontier.PutAll
		for _, i := range of[shards[n]] {
			request.Puts = append(request.Puts, puts[i])
		}
		got[n], err = r.Shard(shards[n]).PutAll(ctx, request)
		if err == nil && len(got[n]) != len(request.Puts) {
			err = contract.Wrap(contract.Storage, "frontier.Put", errEnvelope)
		}
		return err
	})
	for n, shard := range shards {
		for k, i := range of[shard] {
			if errs[i] = failed[n]; errs[i] != nil {
				continue
			}
			if answers[i] = got[n][k]; answers[i].Added > 0 {
				r.Idle.Forget(shard)
			}
		}
	}
	return answers, errs
}
