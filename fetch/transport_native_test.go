//go:build !js

package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// site serves handler as every host on port 80 of a web that a Session reaches over real sockets.
func site(t *testing.T, handler http.HandlerFunc) *Session {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return sessionAt(server.Listener.Addr().String())
}

func sessionAt(addr string) *Session {
	transport := newNative(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	transport.http.DisableKeepAlives = true // so that servers close at once
	cfg := Config{UserAgent: "TestBot/1.0", MaxRequests: 20, MaxRedirects: 5}
	return NewSession(cfg, transport, SystemClock(), NewLimiter(MaxConnections))
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestNative_Response(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "herald.example" || r.UserAgent() != "TestBot/1.0" || r.Header.Get("Cookie") != "" {
			t.Errorf("request for %s: %v", r.Host, r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("ETag", `"1"`)
		io.WriteString(w, r.Method+" "+r.RequestURI)
	})
	for range 2 {
		a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/a?b", Whole: true,
			Timeout: 10 * time.Second})
		if err != nil || a.Status != 200 || string(a.Content) != "GET /a?b" || a.Header.Get("Etag") != `"1"` ||
			a.Header.Get("Set-Cookie") != "" {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

func TestNative_Redirect(t *testing.T) {
	asked := 0
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	})
	if a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/"}); !errors.Is(err, ErrUnsafe) ||
		a.Status != 302 || asked != 1 {
		t.Errorf("%+v, %v; asked %d times", a, err, asked)
	}

	asked = 0
	s = site(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(http.StatusMovedPermanently)
	})
	if a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/"}); !errors.Is(err, ErrRedirects) ||
		asked != 1 {
		t.Errorf("%+v, %v; asked %d times", a, err, asked)
	}
}

func TestNative_Gzip(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/bomb" {
			z := gzip.NewWriter(w)
			for block := make([]byte, 1<<20); ; {
				if _, err := z.Write(block); err != nil {
					return
				}
			}
		}
		if r.URL.Path == "/no" {
			io.WriteString(w, "not gzip at all")
			return
		}
		z := gzip.NewWriter(w)
		io.WriteString(z, "hello")
		z.Close()
	})
	a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/", Whole: true})
	if err != nil || string(a.Content) != "hello" || a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = s.Fetch(t.Context(), Target{URL: "http://herald.example/bomb", Whole: true, MaxBytes: 100_000,
		Timeout: 20 * time.Second})
	if err != nil || len(a.Content) != 100_000 || !a.Body.Truncated() {
		t.Errorf("a bomb: %d bytes, truncated %v, %v", len(a.Content), a.Body.Truncated(), err)
	}
	if a, err = s.Fetch(t.Context(), Target{URL: "http://herald.example/no",
		Whole: true}); contract.KindOf(err) != contract.Network || a.Status != 200 {
		t.Errorf("not gzip: %+v, %v", a, err)
	}
}

func TestNative_Timeouts(t *testing.T) {
	s := site(t, hang)
	start := time.Now()
	a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/", Timeout: 100 * time.Millisecond})
	if contract.KindOf(err) != contract.Timeout || a.Status != 0 || time.Since(start) > 5*time.Second {
		t.Errorf("no headers: %+v, %v after %v", a, err, time.Since(start))
	}

	s = site(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		hang(w, r)
	})
	start = time.Now()
	a, err = s.Fetch(t.Context(), Target{URL: "http://herald.example/", Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(a.Body)
	if string(b) != "some" || contract.KindOf(err) != contract.Timeout || time.Since(start) > 5*time.Second {
		t.Errorf("stalled body: %q, %v after %v", b, err, time.Since(start))
	}
}

// Only the capped size of an endless stream is read, and the origin sees the request cancelled.
func TestNative_EndlessBody(t *testing.T) {
	const size = 10 << 30
	sent := make(chan int64, 1)
	s := site(t, func(w http.ResponseWriter, _ *http.Request) {
		var n int64
		for block := make([]byte, 64<<10); n < size; {
			k, err := w.Write(block)
			n += int64(k)
			if err != nil {
				break
			}
		}
		sent <- n
	})
	a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/", MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, a.Body)
	runtime.ReadMemStats(&after)
	if n != 1<<20 || err != nil || !a.Body.Truncated() {
		t.Errorf("read %d, truncated %v, %v", n, a.Body.Truncated(), err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
	select {
	case n := <-sent:
		if n > 64<<20 {
			t.Errorf("the origin sent %d bytes", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("the origin still sends")
	}
}

func TestNative_Failures(t *testing.T) {
	tcp := func(serve func(*net.TCPConn)) *Session {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serve(c.(*net.TCPConn))
			}
		}()
		return sessionAt(l.Addr().String())
	}
	afterRequest := func(answer string, end func(*net.TCPConn)) func(*net.TCPConn) {
		return func(c *net.TCPConn) {
			c.Read(make([]byte, 4096))
			io.WriteString(c, answer)
			time.Sleep(20 * time.Millisecond) // so that the answer goes out before the end
			end(c)
			c.Close()
		}
	}
	reset := func(c *net.TCPConn) { c.SetLinger(0) }
	finish := func(*net.TCPConn) {}
	half := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	unresolved := sessionAt("nowhere.invalid:80")

	for _, c := range []struct {
		name string
		s    *Session
		url  string
		what error
	}{
		{"refused", sessionAt(closed.Addr().String()), "http://herald.example/", ErrConnRefused},
		{"does not resolve", unresolved, "http://herald.example/", ErrNotResolved},
		{"reset", tcp(afterRequest("", reset)), "http://herald.example/", ErrReset},
		{"closed without an answer", tcp(afterRequest("", finish)), "http://herald.example/", ErrReset},
		{"reset in the body", tcp(afterRequest(half, reset)), "http://herald.example/", ErrReset},
		{"closed in the body", tcp(afterRequest(half, finish)), "http://herald.example/", ErrReset},
		{"not HTTP", tcp(afterRequest("220 mail ready\r\n\r\n", finish)), "http://herald.example/", errNetwork},
		{"no TLS", site(t, hang), "https://herald.example/", ErrTLS},
		{"untrusted certificate", untrusted(t), "https://herald.example/", ErrTLS},
	} {
		a, err := c.s.Fetch(t.Context(), Target{URL: c.url, Whole: true, Timeout: 20 * time.Second})
		if !errors.Is(err, c.what) || contract.KindOf(err) != contract.Network {
			t.Errorf("%s: %+v, %v", c.name, a, err)
		}
	}
}

func untrusted(t *testing.T) *Session {
	server := httptest.NewUnstartedServer(http.HandlerFunc(hang))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshake, rightly
	server.StartTLS()
	t.Cleanup(server.Close)
	return sessionAt(server.Listener.Addr().String())
}

func TestNative_PrivateAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer server.Close()
	_, err := NewTransport().Do(t.Context(), &Request{Method: "GET", URL: server.URL, Header: http.Header{},
		Timeout: 5 * time.Second})
	if contract.KindOf(err) != contract.Network || !strings.Contains(err.Error(), "not a public address") {
		t.Error(err)
	}
	for _, addr := range []string{"127.0.0.1:80", "10.1.2.3:80", "192.168.0.1:443", "172.16.0.1:80",
		"169.254.169.254:80", "0.0.0.0:80", "[::1]:80", "[fe80::1]:80", "[fd00::1]:80", "[::ffff:127.0.0.1]:80",
		"224.0.0.1:80"} {
		if publicOnly("tcp", addr, nil) == nil {
			t.Errorf("%s is let through", addr)
		}
	}
	for _, addr := range []string{"93.184.216.34:443", "[2606:2800:220:1::1]:80"} {
		if err := publicOnly("tcp", addr, nil); err != nil {
			t.Error(err)
		}
	}
}

// The client's side of the retries over real time: two resets, then an answer.
func TestNative_Retry(t *testing.T) {
	tries := 0
	s := site(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries < 3 {
			panic(http.ErrAbortHandler)
		}
		w.Write(bytes.Repeat([]byte("x"), 10))
	})
	s.cfg.Retries, s.cfg.RetryBase, s.cfg.Interval = 3, 20*time.Millisecond, 30*time.Millisecond
	start := time.Now()
	a, err := s.Fetch(t.Context(), Target{URL: "http://herald.example/", Whole: true, Timeout: 10 * time.Second})
	if err != nil || a.Requests != 3 || len(a.Content) != 10 {
		t.Errorf("%+v, %v", a, err)
	}
	if took := time.Since(start); took < 70*time.Millisecond {
		t.Errorf("took only %v", took)
	}
}
