package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/botauth"
)

// TestDirectory_Connect: the directory of a host that is not public yet is asked of the engine at an address.
func TestDirectory_Connect(t *testing.T) {
	key, err := botauth.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s := &botauth.Signer{Keys: []botauth.Key{key}, Agent: "https://bot.example.com", Form: botauth.String,
		Sign: botauth.Native, Now: time.Now}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "bot.example.com" || r.URL.Path != botauth.DirectoryPath {
			http.NotFound(w, r)
			return
		}
		body, header, err := s.Directory(r.Context(), r.Host)
		if err != nil {
			t.Error(err)
		}
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.Header().Set("Content-Type", botauth.DirectoryType)
		io.WriteString(w, body)
	}))
	defer engine.Close()
	address := strings.TrimPrefix(engine.URL, "http://")
	code, out, complaints := seedctl("", "directory", "--connect", address, "https://bot.example.com")
	if code != exitOK || out != "key "+key.ID+": proof valid\n" {
		t.Errorf("%d: %s%s", code, out, complaints)
	}
	code, _, complaints = seedctl("", "directory", "--connect", address, "https://other.example.com")
	if code == exitOK || !strings.Contains(complaints, "status 404") {
		t.Errorf("another host: %d: %s", code, complaints)
	}
}
