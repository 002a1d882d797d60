package store

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// A listedClaim is the claim of a refresh that only the state's list of claims has: refreshes that begin together write
// one row instead of a row for each host. It overrides what the host's row says of claims, until the row has a later
// claim or the end of this one (claim.ClaimedAt). Versions that do not know the list take such a host for free, and
// leave ClaimedAt as it is when they write a claim, which then ends later.
type listedClaim struct {
	host  int64
	entry uint64 // hash of the entry point
	claim claim
}

// maxListed caps the list, which every operation reads. Further claims are written into the rows of their hosts.
const maxListed = 256

// maxClaim is longer than any claim. A list with a longer one is damaged.
const maxClaim = time.Hour

func (l *listedClaim) append(b []byte) []byte {
	b = appendHash(appendUint(b, l.host), l.entry)
	return appendUint(appendUint(appendUint(b, l.claim.Claim), l.claim.ClaimedAt), l.claim.ClaimEnds)
}

func (d *decoder) listedClaim() listedClaim {
	return listedClaim{d.int(), d.hash(), claim{Claim: d.int(), ClaimedAt: d.millis(), ClaimEnds: d.millis()}}
}

// claimList is the list of claims, oldest first.
type claimList []listedClaim

// apply sets the claim of a host that was loaded if the list has a later one.
func (list claimList) apply(h *Host) error {
	for _, l := range list {
		if l.host != h.ID || l.claim.ClaimedAt <= h.ClaimedAt || l.claim.ClaimEnds <= h.ClaimEnds {
			continue
		}
		if err := h.UnpackEntries(); err != nil {
			return err
		}
		h.claim = l.claim
		if i := h.Entry(l.entry); i >= 0 {
			h.Entries[i].Tried = l.claim.ClaimedAt.Seconds()
		}
	}
	return nil
}

// ListClaim claims a host for a refresh of an entry point, in the list. It returns false if the claim must be written
// into the host's row: if the list is full, or the row does not show that it is older than the claim.
func ListClaim(h *Host, number int64, entry uint64, ends epoch.Millis) (bool, error) {
	s, now := &h.tx.state, h.tx.now
	if err := s.claims.prune(h.tx); err != nil {
		return false, err
	}
	if len(s.claims) >= maxListed || h.ClaimedAt >= now || h.hashesOnly {
		return false, nil
	}
	h.claim = claim{Claim: number, ClaimedAt: now, ClaimEnds: ends}
	s.claims = append(s.claims, listedClaim{h.ID, entry, h.claim})
	return true, nil
}

// prune takes expired claims off the list. Claims that were not released are written into the rows of their hosts,
// whose delay counts from the end of the claim.
func (list *claimList) prune(c *Tx) error {
	var over []listedClaim
	kept := slices.DeleteFunc(slices.Clone(*list), func(l listedClaim) bool {
		is := l.claim.ClaimEnds <= c.now || l.claim.ClaimedAt > c.now // a clock that went back
		if is {
			over = append(over, l)
		}
		return is
	})
	if len(over) == 0 {
		return nil
	}
	ids := make([]int64, len(over))
	for i, l := range over {
		ids[i] = l.host
	}
	hosts, err := c.Hosts(ids)
	if err != nil {
		return err
	}
	for i, h := range hosts {
		if h != nil && h.claim == over[i].claim {
			h.Change()
		}
	}
	*list = kept
	return nil
}

// SetClaim claims the host in its row.
func (l *claim) SetClaim(number int64, now, ends epoch.Millis) {
	*l = claim{Claim: number, ClaimedAt: max(l.ClaimedAt, now), ClaimEnds: ends}
}

// ReleaseClaim ends the claim.
func (l *claim) ReleaseClaim(now epoch.Millis) { *l = claim{ClaimedAt: max(l.ClaimedAt, now)} }
