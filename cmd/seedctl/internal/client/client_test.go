package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// engine answers every request with respond, and counts them.
func engine(t *testing.T, respond http.HandlerFunc) (c *Client, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		respond(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := New(Engine, server.URL, "s3cret", "SEED_API_TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	c.Limits.BackOff = time.Millisecond
	return c, asked
}

func busy(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w,
		`{"success": false, "data": {"sent": 1}, "error": {"code": "storage_error", "message": "busy", "field": "f"}}`)
}

func TestCall(t *testing.T) {
	c, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := r.Method + " " + r.URL.RequestURI() + " " + string(body) + " " + r.Header.Get("Content-Type") + " " +
			r.Header.Get("Authorization")
		if got != `PUT /api/v1/a%2Fb/%3F?q=1+2 {"x":1} application/json Bearer s3cret` {
			t.Error(got)
		}
		io.WriteString(w, `{"success": true, "data": {"n": 7}}`)
	})
	var data struct{ N int }
	rq := Request{Method: "PUT", Path: []string{"a/b", "?"}, Query: url.Values{"q": {"1 2"}},
		Body: map[string]int{"x": 1}}
	if err := c.Call(t.Context(), rq, &data); err != nil || data.N != 7 {
		t.Error(data, err)
	}
}

// TestBare: a service without the envelope answers data as it is, and its errors are as readable.
func TestBare(t *testing.T) {
	status, body := 200, ""
	c, _ := engine(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	c.service.Bare = true
	call := func(want string) (data struct{ N int }) {
		t.Helper()
		err := c.Call(t.Context(), Request{Method: "GET"}, &data)
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%d %s: %s", status, body, got)
		}
		return data
	}
	body = `{"n": 7}`
	if d := call("<nil>"); d.N != 7 {
		t.Error(d)
	}
	for _, broken := range []string{`{"n": `, `null`, ``} {
		body = broken
		call("otherwise than the Seed Engine")
	}
	status, body = 400, `{"detail": "Invalid category", "code": "INVALID_CATEGORY"}`
	call("Invalid category (INVALID_CATEGORY)")
	status, body = 404, `{"detail": "Not Found"}`
	call("Not Found (404)")
	status, body = 422,
		`{"detail": [{"type": "less_than_equal", "loc": ["query", "limit"], "msg": "too large", "input": "51"}]}`
	call("limit: too large (422)")
	for _, broken := range []string{`{"detail": 7}`, `{"detail": []}`, `{}`, `[]`} {
		body = broken
		call("otherwise than the Seed Engine")
	}
}

// TestErrorData: an error keeps what the engine said was done before it.
func TestErrorData(t *testing.T) {
	c, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "r-1")
		busy(w, r)
	})
	_, err := c.Send(t.Context(), Request{Method: "GET"}, nil, 0)
	var e *Error
	if !errors.As(err, &e) || e.Status != 503 || string(e.Data) != `{"sent": 1}` ||
		e.Error() != "f: busy (storage_error, request r-1)" {
		t.Errorf("%+v: %v", e, err)
	}
}

func TestOnce(t *testing.T) {
	for once, want := range map[bool]int32{false: 1 + MaxRetries, true: 1} {
		c, asked := engine(t, busy)
		retries := int32(0)
		c.OnRetry = func(time.Duration, error) { retries++ }
		if err := c.Call(t.Context(), Request{Method: "POST", Once: once}, nil); err == nil || asked.Load() != want ||
			retries != want-1 {
			t.Errorf("once is %v: %d requests, %d retries, %v", once, asked.Load(), retries, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "99999999999": maxRetryAfter,
		"3600": maxRetryAfter, "-1": 0, "soon": 0} {
		c, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", header)
			busy(w, r)
		})
		_, err := c.Send(t.Context(), Request{Method: "GET", Path: []string{"seeds", "status"}}, nil, 0)
		if got, again := retryable(err, false); got != want || !again {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// TestLongMessage: a message is cut between two characters.
func TestLongMessage(t *testing.T) {
	e := &Error{Code: "c", Message: strings.Repeat("é", 2*maxMessage)}
	if want := strings.Repeat("é", maxMessage) + "… (c)"; e.Error() != want {
		t.Error(e.Error())
	}
}
