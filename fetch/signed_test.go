package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/fetch"
)

// signer signs with the name of the authority, or fails.
type signer struct{ err error }

func (s signer) Request(_ context.Context, authority string) (http.Header, error) {
	return http.Header{"Signature": {authority}, "Signature-Input": {"i"}, "Signature-Agent": {"a"}}, s.err
}

// recorder is a Transport that keeps the last request.
type recorder struct{ last *fetch.Request }

func (r *recorder) Do(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	r.last = req
	return &fetch.Response{Status: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func TestSigned(t *testing.T) {
	var log bytes.Buffer
	for name, c := range map[string]struct {
		url  string
		err  error
		want string
	}{
		"https":              {"https://www.example.com/a", nil, "www.example.com"},
		"a port":             {"https://www.example.com:80/a", nil, "www.example.com:80"},
		"http":               {"http://www.example.com/a", nil, ""},
		"a failed signature": {"https://www.example.com/a", errors.New("no key"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			var web recorder
			s := fetch.Signed{Transport: &web, Signer: signer{c.err}, Log: slog.New(slog.NewJSONHandler(&log, nil))}
			sent := &fetch.Request{Method: "GET", URL: c.url, Header: http.Header{"Accept": {"text/html"}}}
			for range 3 {
				if _, err := s.Do(t.Context(), sent); err != nil {
					t.Fatal(err)
				}
			}
			h := web.last.Header
			if h.Get("Signature") != c.want || h.Get("Accept") != "text/html" ||
				(h.Get("Signature-Input") != "") != (c.want != "") || len(sent.Header) != 1 {
				t.Errorf("sent %v, left %v", h, sent.Header)
			}
			if got := strings.Count(log.String(), "signing_failed"); (got == 1) != (c.err != nil) {
				t.Errorf("%d lines: %s", got, &log)
			}
		})
	}
}
