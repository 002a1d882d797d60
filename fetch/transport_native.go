//go:build !js

package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// NewTransport returns a Transport over net/http, for native programs. It does not connect to loopback, link-local or
// private addresses: Guard checks names only, and a name can resolve to any address.
func NewTransport() Transport {
	dialer := &net.Dialer{Control: publicOnly}
	return newNative(dialer.DialContext)
}

type native struct{ http *http.Transport }

func newNative(dial func(ctx context.Context, network, addr string) (net.Conn, error)) native {
	return native{&http.Transport{DialContext: dial, DisableCompression: true, ForceAttemptHTTP2: true,
		IdleConnTimeout: time.Minute}}
}

func (n native) Do(ctx context.Context, r *Request) (*Response, error) {
	cancel := func() {}
	if r.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		cancel()
		return nil, Failure(nil, err)
	}
	req.Header = r.Header.Clone()
	req.Header.Set("Accept-Encoding", "gzip")
	answer, err := n.http.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, systemError(err)
	}
	answer.Header.Del("Set-Cookie")
	b := &nativeBody{content: answer.Body, cancel: cancel}
	b.reader = b.content
	if strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") {
		b.reader = &gunzip{from: b.content}
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Body: b}, nil
}

type nativeBody struct {
	reader  io.Reader
	content io.ReadCloser
	cancel  func()
}

func (b *nativeBody) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	if err != nil && err != io.EOF {
		err = systemError(err)
	}
	return n, err
}

func (b *nativeBody) Close() error {
	b.cancel()
	return b.content.Close()
}

// gunzip decompresses a body from its first Read on, so that an empty body does not fail.
type gunzip struct {
	from io.Reader
	zip  *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.zip == nil {
		zip, err := gzip.NewReader(g.from)
		if err != nil {
			return 0, err
		}
		g.zip = zip
	}
	return g.zip.Read(p)
}

func systemError(err error) error {
	var (
		dns      *net.DNSError
		timeout  net.Error
		alert    tls.AlertError
		record   tls.RecordHeaderError
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return NoAnswer(err)
	case errors.As(err, &dns):
		return Failure(ErrNotResolved, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return Failure(ErrConnRefused, err)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.EOF):
		return Failure(ErrReset, err)
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &verify), errors.As(err, &unknown),
		errors.As(err, &hostname):
		return Failure(ErrTLS, err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return NoAnswer(err)
	}
	return Failure(nil, err)
}

// publicOnly is a net.Dialer's Control that refuses loopback, link-local, multicast and private addresses.
func publicOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	a := ap.Addr().Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return fmt.Errorf("%s is not a public address", a)
	}
	return nil
}
