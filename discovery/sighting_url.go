package discovery

import (
	"bytes"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/swar"
)

// urlReader converts URLs to canonical form, and recognises the domain's URLs.
type urlReader struct {
	domain, also string // also: see Analyser.Include

	canoniser markup.Canoniser
	buf       []byte          // the canonical form of the last one
	inside    []byte          // origin of the last one of the domain, with the "/" behind it
	urls      strings.Builder // see text
}

// canonical writes the canonical form of loc to r.buf, and reports whether loc is a URL, and one of
// the domain.
func (r *urlReader) canonical(loc []byte) (valid, inside bool) {
	if r.buf, valid = r.canoniser.Append(r.buf[:0], loc); !valid {
		return false, false
	}
	if n := len(r.inside); n > 0 && swar.HasPrefix(r.buf, r.inside) {
		return true, true
	}
	begin := bytes.IndexByte(r.buf, ':') + len("://")
	host := r.buf[begin:]
	host = host[:bytes.IndexByte(host, '/')]
	end := begin + len(host)
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	if inside = contract.WithinDomain(host, r.domain) || r.also != "" && contract.WithinDomain(host, r.also); inside {
		r.inside = append(r.inside[:0], r.buf[:end+1]...)
	}
	return true, inside
}

// text returns r.buf as a string. Many share one allocation, which lives as long as any of them: a string that is kept
// must be cloned.
func (r *urlReader) text() string {
	if r.urls.Cap()-r.urls.Len() < len(r.buf) {
		r.urls = strings.Builder{}
		r.urls.Grow(max(32<<10, len(r.buf)))
	}
	n := r.urls.Len()
	r.urls.Write(r.buf)
	return r.urls.String()[n:]
}
