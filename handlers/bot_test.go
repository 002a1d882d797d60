package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/settings"
)

func (f *fixture) page(host, path, language string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "https://"+host+path, nil)
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	return w
}

func TestBot_Page(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) {
		s.Environment, s.APIToken = "production", "secret"
		s.UserAgent, s.OperatorContact = `NewsforkBot/1.0 (+https://newsfork.com/bot) <x>`, "bot@newsfork.com"
	})
	for _, c := range []struct{ path, language, want string }{
		{"/bot", "", `<html lang="en">`},
		{"/bot", "de, ko;q=0.5", `<html lang="en">`},
		{"/bot", "ko-KR,ko;q=0.9", `<html lang="ko">`},
		{"/bot?lang=ko", "en", `<html lang="ko">`},
		{"/bot?lang=en", "ko", `<html lang="en">`},
	} {
		w := f.page("newsfork.com", c.path, c.language)
		body := w.Body.String()
		if w.Code != 200 || !strings.Contains(body, c.want) ||
			w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%v: %d %v", c, w.Code, w.Header())
		}
		for _, want := range []string{"<pre>NewsforkBot/1.0 (+https://newsfork.com/bot) &lt;x&gt;</pre>",
			"User-agent: NewsforkBot\n", `<a href="mailto:bot@newsfork.com">bot@newsfork.com</a>`} {
			if !strings.Contains(body, want) {
				t.Errorf("%v lacks %q", c, want)
			}
		}
		if strings.Contains(body, "{agent}") || strings.Contains(body, "web-bot-auth") ||
			strings.Contains(body, "<!-- ") {
			t.Errorf("%v: placeholders, or a claim that requests are signed:\n%s", c, body)
		}
	}
}

func TestBot_SignedPage(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) {
		s.Signing = settings.Signing{Agent: "https://bot.newsfork.com", Form: botauth.String}
	})
	for _, lang := range []string{"en", "ko"} {
		body := f.page("newsfork.com", "/bot?lang="+lang, "").Body.String()
		if !strings.Contains(body, `href="https://bot.newsfork.com/.well-known/http-message-signatures-directory"`) {
			t.Errorf("%s does not link the directory:\n%s", lang, body)
		}
	}
}

func TestBot_Directory(t *testing.T) {
	key := signingKey
	set := func(keys []botauth.Key, agent string) *fixture {
		f := newFixture(t, func(s *settings.Settings) {
			s.Environment, s.APIToken = "production", "secret"
			s.Signing = settings.Signing{Keys: keys, Agent: agent}
		})
		f.api.Signer = &botauth.Signer{Keys: keys, Agent: agent, Sign: signed, Now: time.Now}
		return f
	}
	const agent = "https://bot.newsfork.com"
	w := set([]botauth.Key{key}, agent).page("bot.newsfork.com", botauth.DirectoryPath, "")
	if w.Code != 200 || w.Header().Get("Content-Type") != botauth.DirectoryType ||
		!strings.Contains(w.Body.String(), key.X) || strings.Contains(w.Body.String(), key.D) ||
		w.Header().Get("Content-Digest") == "" || !strings.HasPrefix(w.Header().Get("Signature"), "binding0=:") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	for name, c := range map[string]struct {
		keys        []botauth.Key
		agent, host string
	}{
		"no key":       {nil, agent, "bot.newsfork.com"},
		"no agent":     {[]botauth.Key{key}, "", "bot.newsfork.com"},
		"another host": {[]botauth.Key{key}, agent, "engine.workers.dev"},
	} {
		if w := set(c.keys, c.agent).page(c.host, botauth.DirectoryPath, ""); w.Code != http.StatusNotFound ||
			strings.Contains(w.Body.String(), key.X) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
