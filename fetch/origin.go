package fetch

import (
	"context"
	"errors"
	"net/url"
)

// Origin is where a domain's website answers.
type Origin struct {
	Answer *Answer // never nil
	Scheme string  // https or http
	Host   string  // the domain itself, or the host that answered for it
	HTTPS  bool    // some host of the domain answered over https
}

// Origin finds out where domain answers by asking for path, usually /robots.txt. It tries
// https://domain, http://domain, https://alt, http://alt in this order until one answers with any
// status; alt, the host of one of its URLs, may be empty. A name that does not resolve is not asked over http.
//
// A dead domain costs no more than these four requests and Retries more: candidates that fail
// below HTTP are not retried one by one; when all have failed, the retries go to the first one whose
// name may resolve. Once a candidate has answered, redirects and retries go on as in Fetch, with
// t (its URL is ignored). The origin follows redirects that keep the path and stay within the
// registrable domain, such as from the bare domain to its www host.
//
// The error is that of the Answer. When nothing answered, the Origin is https://domain.
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
			r := &run{Session: s, ctx: ctx, target: t, answer: a, probe: true}
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
		r := &run{Session: s, ctx: ctx, target: t, answer: a}
		if pause, ok := r.retry(f.url.Hostname(), f.err); ok {
			r.again(pause)
			f.err = r.follow(f.url)
		}
	}
	return s.origin(domain, path, a), f.err
}

// failure is a candidate that did not answer; its url is nil when it was not asked: the
// Guard refused it, or an operator excluded it.
type failure struct {
	url *url.URL
	err error
}

// mostPromising is the first candidate that may be there, else the first one that was asked.
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

// origin reads from the URLs that answered where the website is.
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
