package frontier

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// The table mirrors remembers which domain showed a digest of its home page and sitemap first, so that
// the pages of sites with several domains are fetched once. Digests lie in buckets by their first 16 bits,
// one row each, which bounds what is remembered: a bucket that is full loses the digest that was not
// seen for longest.
const (
	maxMirrors   = 64 // of a bucket
	mirrorDays   = 90 // after which a domain that was not seen with the digest loses it to the next
	mirrorWeek   = 7  // days after which it is noted that the domain was seen with it again
	mirrorSHA256 = 64 // hexadecimal digits
)

// MirrorRequest asks for the domain that showed a digest first.
type MirrorRequest struct {
	Domain string // that shows it now
	Digest string // SHA-256, in lower-case hexadecimal
}

// MirrorAnswer answers a MirrorRequest.
type MirrorAnswer struct {
	Of string // "": the domain that asks is the first
}

// mirrored is a digest and the domain that showed it first.
type mirrored struct {
	digest string // its first digestBytes bytes
	day    int64  // since 1970, when that domain was last seen with it
	domain string
}

// Mirror gives the domain of which another is a mirror, and remembers the first one. A domain that was
// not seen with the digest for mirrorDays has lost it. Ask the shard of the digest; Remotes.Mirror does.
func (s *Shard) Mirror(now int64, r MirrorRequest) (answer MirrorAnswer, err error) {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return answer, err
	}
	short := digest(r.Digest)
	if len(r.Digest) != mirrorSHA256 || short == "" || strings.ToLower(r.Digest) != r.Digest {
		return answer, contract.Invalid("digest", "%.80q is not a SHA-256; send %d lower-case hexadecimal digits", r.Digest, mirrorSHA256)
	}
	err = s.run(now, func(c *call) error {
		key := int64(short[0])<<8 | int64(short[1])
		list, err := c.loadMirrors(key)
		if err != nil {
			return err
		}
		today := c.seconds() / 86_400
		at := slices.IndexFunc(list, func(m mirrored) bool { return m.digest == short })
		switch {
		case at < 0:
			if len(list) >= maxMirrors {
				slices.SortStableFunc(list, func(a, b mirrored) int { return cmp.Compare(a.day, b.day) })
				list = list[1:]
			}
			list = append(list, mirrored{short, today, r.Domain})
		case list[at].domain == r.Domain && today < list[at].day+mirrorWeek:
			return nil
		case list[at].domain != r.Domain && today < list[at].day+mirrorDays:
			answer.Of = list[at].domain
			return nil
		default:
			list[at] = mirrored{short, max(today, list[at].day), r.Domain}
		}
		return c.writeData("mirrors", map[int64][]byte{key: appendMirrors(list)})
	})
	return answer, err
}

func (c *call) loadMirrors(key int64) ([]mirrored, error) {
	rows, err := c.db.Run(`SELECT data FROM mirrors WHERE key = ?1`, key)
	if err != nil || !rows.Next() {
		return nil, err
	}
	return decodeMirrors(rows.Blob())
}

func appendMirrors(list []mirrored) (b []byte) {
	for _, m := range list {
		b = appendString(appendUint(append(b, m.digest...), m.day), m.domain)
	}
	return b
}

func decodeMirrors(data []byte) (list []mirrored, err error) {
	d := decode(data)
	for d.at < len(d.text) {
		if len(d.text)-d.at < digestBytes {
			return nil, errDamaged
		}
		m := mirrored{digest: d.text[d.at : d.at+digestBytes]}
		d.at += digestBytes
		m.day, m.domain = d.int(), d.string()
		list = append(list, m)
	}
	return list, d.err
}

// mirror notes of which domain another is a mirror. When it is none any more, its pages are queued that
// wait.
func (c *call) mirror(m *domain, of string) error {
	if m.mirrorOf == of {
		return nil
	}
	m.mirrorOf = of
	c.changeDomain(m)
	if of != "" {
		return nil // the hosts leave the queues when their turn comes
	}
	hosts, err := c.loadHosts(m.hosts)
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
