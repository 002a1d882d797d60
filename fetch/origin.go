package fetch

import (
	"context"
	"errors"
	"net/url"
)

// Origin is the address at which a domain's website answers.
type Origin struct {
	Answer *Answer // never nil
	Scheme string  // https or http
	Host   string  // the domain itself, or the host that answered for it
	HTTPS  bool    // some host of the domain answered over https
}

// Origin finds where domain answers by requesting path, usually /robots.txt. It tries https://domain, http://domain,
// https://alt and http://alt until one answers with any status. alt is the host of one of the domain's URLs, or
// empty. A name that does not resolve is not tried over http.
//
// A dead domain costs at most these four requests and Retries more: if all candidates fail below HTTP, only the first
// one whose name might resolve is retried. Once a candidate has answered, redirects and retries continue as in Fetch
// with t, whose URL is ignored. The origin follows redirects that keep the path and stay within the registrable
// domain, such as from the bare domain to its www host.
//
// The error is that of the Answer. If nothing answered, the Origin is https://domain.
func (s *Session) Origin(ctx context.Context, domain, alt, path string, t Target) (*Origin, error) {
	s.open.Close()
	a := &Answer{Body: emptyBody()}
	hosts := []string{domain}
	if alt != "" && alt != domain && Registrable(alt) == Registrable(domain) {
		hosts = append(hosts, alt)
	}
	var failed []failure
	for _, host := range hosts {
		for _, scheme := range []string{"https", "http"} {
			u, err := Guard(scheme + "://" + host + path)
			if err != nil {
				failed = append(failed, failure{err: err})
				break
			}
			r := &chain{Session: s, ctx: ctx, target: t, answer: a, probe: true}
			err = r.follow(u)
			if a.Status != 0 {
				return s.origin(domain, path, a), err
			}
			if errors.Is(err, ErrExcluded) {
				failed = append(failed, failure{err: err})
				break
			}
			failed = append(failed, failure{u, err})
			if errors.Is(err, ErrNotResolved) {
				break
			}
		}
	}
	f := mostPromising(failed)
	if f.url != nil {
		r := &chain{Session: s, ctx: ctx, target: t, answer: a}
		if pause, ok := r.retry(f.url.Hostname(), f.err); ok {
			r.again(pause)
			f.err = r.follow(f.url)
		}
	}
	return s.origin(domain, path, a), f.err
}

// failure is a candidate that did not answer. Its url is nil if no request was sent: Guard refused it, or an operator
// excluded it.
type failure struct {
	url *url.URL
	err error
}

// mostPromising returns the first candidate whose name might resolve, or else the first one that got a request.
func mostPromising(failed []failure) failure {
	best := failed[0]
	for _, f := range failed {
		switch {
		case f.url == nil:
		case !errors.Is(f.err, ErrNotResolved):
			return f
		case best.url == nil:
			best = f
		}
	}
	return best
}

// origin returns where the website is, by the URLs that answered.
func (s *Session) origin(domain, path string, a *Answer) *Origin {
	o := &Origin{Answer: a, Scheme: "https", Host: domain}
	answered := make([]string, 0, len(a.Hops)+1)
	for _, h := range a.Hops {
		answered = append(answered, h.URL)
	}
	if a.answered == a.URL {
		answered = append(answered, a.URL)
	}
	for i, link := range answered {
		u, err := url.Parse(link)
		if err != nil || Registrable(u.Hostname()) != Registrable(domain) {
			continue
		}
		o.HTTPS = o.HTTPS || u.Scheme == "https"
		if i == 0 || u.Path == path {
			o.Scheme, o.Host = u.Scheme, u.Hostname()
		}
	}
	return o
}
