package shard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// The table mirrors keeps which domain first showed a digest of its home page and sitemap, so that the pages of a site
// with several domains are fetched once. A row is a bucket of digests with the same first 16 bits. A full bucket loses
// the digest that has not been seen for longest.
const (
	maxMirrors   = 64 // digests of a bucket
	mirrorDays   = 90 // after which a domain that was not seen with the digest loses it to the next
	mirrorWeek   = 7  // days between two updates of when the domain was seen with the digest
	mirrorSHA256 = 64 // hexadecimal digits
)

// Mirror returns the domain that showed the digest first, or "" if the request's domain did. A domain that has not
// been seen with the digest for mirrorDays loses it. The shard of the digest decides; client.Frontier.Mirror finds it.
func (s *Shard) Mirror(now epoch.Millis, r frontier.MirrorRequest) (answer frontier.MirrorAnswer, err error) {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return answer, err
	}
	short := store.Digest(r.Digest)
	if len(r.Digest) != mirrorSHA256 || short == "" || strings.ToLower(r.Digest) != r.Digest {
		return answer, contract.Invalid("digest", "%.80q is not a SHA-256; send %d lower-case hexadecimal digits",
			r.Digest,
			mirrorSHA256)
	}
	err = s.run(now, func(c *call) error {
		list, err := c.tx.Mirrors(short)
		if err != nil {
			return err
		}
		today := c.today()
		at := slices.IndexFunc(list, func(m store.Mirror) bool { return m.Digest == short })
		switch {
		case at < 0:
			if len(list) >= maxMirrors {
				slices.SortStableFunc(list, func(a, b store.Mirror) int { return cmp.Compare(a.Day, b.Day) })
				list = list[1:]
			}
			list = append(list, store.Mirror{Digest: short, Day: today, Domain: r.Domain})
		case list[at].Domain == r.Domain && today < list[at].Day+mirrorWeek:
			return nil
		case list[at].Domain != r.Domain && today < list[at].Day+mirrorDays && !r.Original:
			answer.Of = list[at].Domain
			return nil
		default:
			list[at] = store.Mirror{Digest: short, Day: max(today, list[at].Day), Domain: r.Domain}
		}
		return c.tx.SaveMirrors(short, list)
	})
	return answer, err
}

// setMirror records that a domain mirrors another. If it stops mirroring, its waiting pages are queued.
func setMirror(c *call, m *store.Domain, of string) error {
	if m.MirrorOf == of {
		return nil
	}
	m.MirrorOf = of
	m.Change()
	if of != "" {
		return nil // its hosts leave the queues when their turn comes
	}
	hosts, err := c.tx.Hosts(m.Hosts)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if err := c.queue(h); err != nil {
			return err
		}
	}
	return nil
}
