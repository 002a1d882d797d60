package fetch_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// An excluded URL is never requested, neither directly nor after a redirect or by a retry.
func TestExcluded_URLs(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/":        {},
		"https://a.example/to-b":    fetchtest.Redirect(302, "https://b.example/"),
		"https://a.example/private": {},
		"https://b.example/":        {},
	}, func(c *fetch.Config) {
		c.Excluded = func(url string) bool {
			return strings.HasPrefix(url, "https://b.example/") || strings.Contains(url, "/private")
		}
	})
	w.fetch(t, "https://a.example/")
	for _, url := range []string{"https://a.example/private", "https://a.example/to-b", "https://b.example/"} {
		if a, err := w.session.Fetch(t.Context(), fetch.Target{URL: url}); !errors.Is(err, fetch.ErrExcluded) ||
			errors.Is(err, fetch.ErrDisallowed) {
			t.Errorf("%s: %+v, %v", url, a, err)
		}
	}
	if got, want := w.URLs(), []string{"https://a.example/", "https://a.example/to-b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("visits %v, want %v", got, want)
	}
}

// If one host of a domain is excluded, the result depends on its other hosts, which can be retried.
func TestOrigin_Excluded(t *testing.T) {
	for alt, want := range map[string]error{"": fetch.ErrExcluded, "www.d.example": fetch.ErrReset} {
		w := newWorld(map[string]fetchtest.Page{
			"https://www.d.example/robots.txt": fetchtest.Fail(fetch.ErrReset),
			"http://www.d.example/robots.txt":  fetchtest.Fail(fetch.ErrReset),
		}, func(c *fetch.Config) {
			c.Excluded = func(url string) bool { return !strings.Contains(url, "//www.") }
		})
		o, err := w.session.Origin(t.Context(), "d.example", alt, "/robots.txt", fetch.Target{})
		if !errors.Is(err, want) || (o.Answer.Retries > 0) != (alt != "") {
			t.Errorf("alt %q: %v after %d retries, want %v", alt, err, o.Answer.Retries, want)
		}
	}
}
