package collector

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
)

// A site with the same content as another one is its mirror only if there is enough of it: empty pages are alike
// everywhere.
const (
	minMirrorPage = 64
	minMirrorURLs = 2
	maxMirrorURLs = 1000 // compared one by one; of further ones only how many there are
)

// likeness is a digest of the home page and of the root sitemap's URLs, without the host's own name. A mirror has the
// same.
type likeness struct {
	domain string
	home   []byte // its digest; nil when there is none
	root   []byte // that of the root sitemap's URLs; nil when there is none
}

// listing computes the digest of a sitemap's URLs.
type listing struct {
	hash.Hash
	domain string
	urls   int
}

func (l *listing) add(loc []byte) {
	if l.urls++; l.urls > maxMirrorURLs {
		return
	}
	l.Write(ownless(loc, l.domain))
	l.Write([]byte{'\n'})
}

// ownless returns a URL from its path on if its host belongs to the domain, and otherwise all of it.
func ownless(url []byte, domain string) []byte {
	_, rest, ok := bytes.Cut(url, []byte("://"))
	if !ok {
		return url
	}
	end := bytes.IndexAny(rest, "/?#:")
	if end < 0 {
		end = len(rest)
	}
	if !contract.WithinDomain(string(rest[:end]), domain) {
		return url
	}
	return rest[end:]
}

// list sets the digest of the root sitemap.
func (l *likeness) list(s *listing) {
	if l.root = nil; s.urls >= minMirrorURLs {
		fmt.Fprint(s, s.urls)
		l.root = s.Sum(nil)
	}
}

// show sets the digest of the home page, without the names of the site's hosts in URLs.
func (l *likeness) show(a *fetch.Answer, host string) {
	if a.Status != http.StatusOK || a.Body.Truncated() || len(a.Content) < minMirrorPage {
		return
	}
	page := a.Content
	for _, name := range []string{markup.HostOf(a.URL), host, "www." + l.domain, l.domain} {
		if name != "" {
			page = bytes.ReplaceAll(page, []byte("//"+name), []byte("//"))
		}
	}
	sum := sha256.Sum256(page)
	l.home = sum[:]
}

// digest returns the likeness in hexadecimal, or "" if the site has too little content.
func (l *likeness) digest() string {
	if l.home == nil || l.root == nil {
		return ""
	}
	sum := sha256.Sum256(append(append([]byte{}, l.home...), l.root...))
	return hex.EncodeToString(sum[:])
}

// mirrorOf returns the domain that showed the same content first. It returns "" for the first domain, or if the shard
// that knows does not answer: the site gets no second visit for that.
func (b *Batch) mirrorOf(ctx context.Context, domain string, f *findings) string {
	digest := f.site.likeness.digest()
	if digest == "" {
		return ""
	}
	of, err := b.collector.Frontier.Mirror(ctx, domain, digest)
	if err != nil {
		b.collector.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"registrable_domain", domain)
		return ""
	}
	return of
}
