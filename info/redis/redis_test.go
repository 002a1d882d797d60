package redis

import (
	"context"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

// speaking returns a client whose server always answers with speech.
func speaking(t *testing.T, speech string) *Client {
	t.Helper()
	c, err := New("redis://h", func(context.Context, string, bool) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			go io.Copy(io.Discard, server)
			server.Write([]byte(speech))
			time.Sleep(50 * time.Millisecond)
			server.Close()
		}()
		return client, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient_Replies(t *testing.T) {
	c := speaking(t, "+OK\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n-ERR no\r\n*2\r\n$1\r\nx\r\n*-1\r\n$0\r\n\r\n")
	got, err := c.Do(context.Background(), nil, nil, nil, nil, nil, nil, nil)
	want := []Reply{"OK", int64(-7), "a\r\n", nil, Error("ERR no"), []Reply{"x", nil}, ""}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
}

// Whatever a server answers, a call fails in finite time and memory.
func TestClient_LyingServer(t *testing.T) {
	for _, speech := range []string{
		"", "+OK", "+OK\n", "?\r\n", "$9999999999\r\n", "$-2\r\n", "*2000000000\r\n", "$3\r\nab", ":x\r\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		strings.Repeat("*1\r\n", 100), "+" + strings.Repeat("x", 100_000),
	} {
		if got, err := speaking(t, speech).Do(context.Background(), []string{"PING"}); err == nil {
			t.Errorf("%.20q: %v", speech, got)
		}
	}
}

func TestNew_URLs(t *testing.T) {
	for _, u := range []string{"", "http://h", "redis://", "redis://:sec ret@h:x"} {
		if _, err := New(u, nil); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", u, err)
		}
	}
	c, err := New("rediss://u:p%40@h/2", nil)
	if err != nil || c.address != "h:6379" || !c.tls || c.user != "u" || c.password != "p@" || c.database != "2" {
		t.Errorf("%+v %v", c, err)
	}
}
