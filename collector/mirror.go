package collector

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
)

// A site with the same content as another one is its mirror only if there is enough of it: empty pages are alike
// everywhere.
const (
	minMirrorPage = 64
	minMirrorURLs = 2
	maxMirrorURLs = 1000 // compared one by one; further URLs are only counted
)

// fingerprint is a digest of the home page and of the root sitemap's URLs, without the host's own name. A mirror has
// the same.
type fingerprint struct {
	domain string
	home   []byte // digest of the home page; nil if it has too little content
	root   []byte // digest of the root sitemap's URLs; nil if there are too few
}

// urlDigest computes the digest of a sitemap's URLs.
type urlDigest struct {
	hash.Hash
	domain string
	urls   int
}

func (l *urlDigest) add(loc []byte) {
	if l.urls++; l.urls > maxMirrorURLs {
		return
	}
	l.Write(withoutOwnHost(loc, l.domain))
	l.Write([]byte{'\n'})
}

// withoutOwnHost returns a URL from its path on if its host belongs to the domain, and otherwise all of it.
func withoutOwnHost(url []byte, domain string) []byte {
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

// setSitemap sets the digest of the root sitemap.
func (l *fingerprint) setSitemap(s *urlDigest) {
	if l.root = nil; s.urls >= minMirrorURLs {
		fmt.Fprint(s, s.urls)
		l.root = s.Sum(nil)
	}
}

// setHomePage sets the digest of the home page, without the names of the site's hosts in URLs.
func (l *fingerprint) setHomePage(a *fetch.Answer, host string) {
	if a.Status != http.StatusOK || a.Body.Truncated() || len(a.Content) < minMirrorPage {
		return
	}
	page, names := a.Content, []string{markup.HostOf(a.URL), host, "www." + l.domain, l.domain}
	for i, name := range names {
		if name != "" && !slices.Contains(names[:i], name) {
			page = bytes.ReplaceAll(page, []byte("//"+name), []byte("//"))
		}
	}
	sum := sha256.Sum256(page)
	l.home = sum[:]
}

// digest returns the fingerprint in hexadecimal, or "" if the site has too little content.
func (l *fingerprint) digest() string {
	if l.home == nil || l.root == nil {
		return ""
	}
	sum := sha256.Sum256(append(append([]byte{}, l.home...), l.root...))
	return hex.EncodeToString(sum[:])
}

// mirrorOf returns the domain of which the site is a mirror: the one that showed the same content first, unless its
// pages say that they are copies of this site. It returns "" if the shard that knows does not answer.
func (g *gathering) mirrorOf(ctx context.Context) string {
	r := frontier.MirrorRequest{Domain: g.message.Domain, Digest: g.found.site.fingerprint.digest()}
	if r.Digest == "" {
		return ""
	}
	of := g.askMirror(ctx, r)
	if of == "" || !g.copied(ctx, of) {
		return of
	}
	r.Original = true
	return g.askMirror(ctx, r)
}

func (g *gathering) askMirror(ctx context.Context, r frontier.MirrorRequest) (of string) {
	of, err := g.collector.Frontier.Mirror(ctx, r)
	if err != nil {
		g.collector.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"registrable_domain", r.Domain)
		return ""
	}
	return of
}

// copied reports whether a page of another domain names this one as its original, and the home page here does not name
// a third. It looks at an article there and, if that names none, at the home page.
func (g *gathering) copied(ctx context.Context, domain string) bool {
	if named := g.found.site.original; named != "" && named != g.message.Domain {
		return false
	}
	g.crawling, g.reserve = false, 0 // pages of another host may be requested again
	paths := []string{"/"}
	for _, p := range g.found.analysis.analyser.Pages() {
		path := strings.TrimPrefix(p.URL, authorityOf(p.URL))
		// a query might name the target of a redirect
		if len(path) > 1 && p.Type == classify.News && !strings.Contains(path, "?") {
			paths = []string{path, "/"}
			break
		}
	}
	for _, path := range paths {
		a, failure := g.session.Fetch(ctx, fetch.Target{
			URL: "https://" + domain + path, Accept: "text/html, application/xhtml+xml, */*;q=0.5",
			Timeout: g.collector.Limits.PageTimeout, MaxBytes: maxPageBytes, Whole: true, Once: true,
		})
		if failure != nil {
			return false
		}
		if named := originalOf(a); named != "" && (path == "/" || samePath(a, path)) {
			return named == g.message.Domain
		}
	}
	return false
}

// samePath reports whether a page of a path was redirected to that path only, if at all. This site chose the path, and
// an open redirect leads where the path says, which is then a part of it.
func samePath(a *fetch.Answer, path string) bool {
	return strings.Trim(strings.TrimPrefix(a.URL, authorityOf(a.URL)), "/") == strings.Trim(path, "/")
}

// originalOf returns the registrable domain that a page names as its own or its original's: by a redirect, a Link
// header, or a link element. It returns "" if the page names none.
func originalOf(a *fetch.Answer) string {
	named := fetch.Registrable(markup.HostOf(a.URL))
	switch {
	case len(a.Hops) > 0 && named != fetch.Registrable(markup.HostOf(a.Hops[0].URL)):
		return named
	case a.Status != http.StatusOK:
		return ""
	}
	link := canonicalHeader(a.Header.Values("Link"))
	if link == "" {
		link = canonicalElement(a.Content)
	}
	if url, ok := markup.Resolve(a.URL, []byte(link)); ok && link != "" {
		return fetch.Registrable(markup.HostOf(url))
	}
	return ""
}

// canonicalHeader returns the target of the canonical link in Link headers (RFC 8288), or "".
func canonicalHeader(values []string) string {
	for _, value := range values {
		for link := range strings.SplitSeq(value, "<") {
			target, parameters, _ := strings.Cut(link, ">")
			for parameter := range strings.SplitSeq(parameters, ";") {
				name, rel, _ := strings.Cut(strings.Trim(parameter, " \t,"), "=")
				if strings.EqualFold(name, "rel") && isCanonical(strings.Trim(rel, `"`)) {
					return target
				}
			}
		}
	}
	return ""
}

func isCanonical(rel string) bool {
	return slices.Contains(strings.Fields(strings.ToLower(rel)), "canonical")
}

// canonicalElement returns the target of the canonical link in a page's head, or "".
func canonicalElement(page []byte) string {
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		switch {
		case next < 0, t.Closing && t.Is("head"), t.Is("body"):
			return ""
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("title"), t.Is("noscript"), t.Is("template"):
			next = markup.EndTag(page, next, t.Name)
		case t.Is("link") && isCanonical(t.Attr("rel")):
			return t.Attr("href")
		}
		i = next
	}
}
