package handlers

import (
	_ "embed"
	"html"
	"net/http"
	"strings"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

//go:embed bot.en.html
var botEnglish string

//go:embed bot.ko.html
var botKorean string

// bot answers with the page that USER_AGENT points to: who the bot is, how a website slows it down or stops it, and
// how to verify its signature. ?lang= or Accept-Language chooses Korean.
func (a *API) bot(w http.ResponseWriter, r *http.Request) error {
	page := botEnglish
	lang := r.URL.Query().Get("lang")
	if lang == "" {
		lang = r.Header.Get("Accept-Language")
	}
	if lang = strings.ToLower(lang); lang == "ko" || strings.HasPrefix(lang, "ko-") || strings.HasPrefix(lang, "ko,") {
		page = botKorean
	}
	s := a.Settings
	contact := "–"
	if c := html.EscapeString(s.OperatorContact); c != "" {
		href := c
		if !strings.Contains(c, "://") {
			href = "mailto:" + c
		}
		contact = `<a href="` + href + `">` + c + `</a>`
	}
	token, _, _ := strings.Cut(s.UserAgent, "/")
	page = section(page, "signed", s.Signing.Form != "")
	page = strings.NewReplacer(
		"{agent}", html.EscapeString(s.UserAgent),
		"{token}", html.EscapeString(strings.TrimSpace(token)),
		"{contact}", contact,
		"{directory}", html.EscapeString("https://"+s.Signing.AgentHost()+botauth.DirectoryPath),
	).Replace(page)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Vary", "Accept-Language")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, err := w.Write([]byte(page))
	return err
}

// section removes the part of a page between <!-- name --> and <!-- /name --> unless it is to be kept.
func section(page, name string, keep bool) string {
	before, rest, _ := strings.Cut(page, "<!-- "+name+" -->")
	inside, after, _ := strings.Cut(rest, "<!-- /"+name+" -->")
	if !keep {
		inside = ""
	}
	return before + inside + after
}

// directory answers with the public keys of the bot, and the proof that this Worker has the private ones. It is served
// as soon as there is a key, so that it can be registered before requests are signed. Other hosts of the Worker do not
// serve it, because a proof is valid for the host that a request names.
func (a *API) directory(w http.ResponseWriter, r *http.Request) error {
	s := a.Settings.Signing
	switch {
	case len(s.Keys) == 0:
		return httpapi.NotFound("there is no key; set the secret SIGNING_KEY")
	case s.Agent == "":
		return httpapi.NotFound("set SIGNATURE_AGENT to the https URL under which this directory is published")
	case r.Host != s.AgentHost():
		return httpapi.NotFound("the directory is at https://%s%s", s.AgentHost(), botauth.DirectoryPath)
	}
	body, proof, err := a.Signer.Directory(r.Context(), r.Host)
	if err != nil {
		return contract.Wrap(contract.Internal, "handlers.directory", err)
	}
	h := w.Header()
	for name, values := range proof {
		h[name] = values
	}
	h.Set("Content-Type", botauth.DirectoryType)
	h.Set("Cache-Control", "public, max-age=3600")
	_, err = w.Write([]byte(body))
	return err
}
