package fetch

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// A Signer returns the header fields that prove to an authority (RFC 9110, 4.3.4) who sent a request.
type Signer interface {
	Request(ctx context.Context, authority string) (http.Header, error)
}

// Signed is a Transport that signs https requests, each redirect and retry anew. It does not sign http requests: a
// signature names no scheme, so whoever reads one on the way could use it over https. If signing fails, the request
// is sent unsigned.
type Signed struct {
	Transport Transport
	Signer    Signer
	Log       *slog.Logger

	logged atomic.Int64 // when a failure was logged, in Unix seconds
}

// signingSilence separates two log lines about signatures that fail.
const signingSilence = time.Minute

// Do implements Transport.
func (s *Signed) Do(ctx context.Context, r *Request) (*Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "https" {
		return s.Transport.Do(ctx, r)
	}
	fields, err := s.Signer.Request(ctx, u.Host)
	if err != nil {
		s.report(err)
		return s.Transport.Do(ctx, r)
	}
	signed := *r
	signed.Header = r.Header.Clone()
	if signed.Header == nil {
		signed.Header = http.Header{}
	}
	for name, values := range fields {
		signed.Header[name] = values
	}
	return s.Transport.Do(ctx, &signed)
}

func (s *Signed) report(err error) {
	now := time.Now().Unix()
	last := s.logged.Load()
	if now-last < int64(signingSilence/time.Second) || !s.logged.CompareAndSwap(last, now) {
		return
	}
	s.Log.Error("signing_failed", "error_type", contract.Internal, "error", err.Error())
}
