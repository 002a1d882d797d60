package settings

import (
	"net/url"
	"strings"

	"github.com/newsfork/seed-engine/botauth"
)

// Signing configures signatures of requests to websites (Web Bot Auth); docs/bot.md explains it.
type Signing struct {
	Keys  []botauth.Key // none: nothing is signed, and there is no directory
	Agent string        // https URL sent as Signature-Agent; its host serves the directory
	Form  botauth.Form  // "": requests are not signed yet
}

// AgentHost returns the host that serves the directory, or "".
func (s *Signing) AgentHost() string {
	u, err := url.Parse(s.Agent)
	if err != nil {
		return ""
	}
	return u.Host
}

func (r *reader) signing() (s Signing) {
	if text := r.text("SIGNING_KEY", ""); text != "" {
		keys, err := botauth.ParseKeys(text)
		if err != nil {
			r.fail("SIGNING_KEY", "", `a private Ed25519 key as JWK, as "seedctl keygen" writes it: `+err.Error())
		}
		s.Keys = keys
	}
	for _, k := range s.Keys {
		if k.Published() && r.text("ENVIRONMENT", Development) != Development {
			r.fail("SIGNING_KEY", "", "a key of your own: this one is an example of RFC 9421")
		}
	}
	s.Agent = r.text("SIGNATURE_AGENT", "")
	if u, err := url.Parse(s.Agent); s.Agent != "" && (err != nil || u.Scheme != "https" || u.Host == "" ||
		u.User != nil || u.Host != strings.ToLower(u.Host) || strings.Trim(s.Agent, printable) != "" ||
		strings.ContainsAny(s.Agent, `"\`)) {
		r.fail("SIGNATURE_AGENT", s.Agent, "an https URL such as https://bot.example.com, in lower-case ASCII")
	}
	if form := r.oneOf("SIGN_REQUESTS", "off", string(botauth.String), string(botauth.Dictionary)); form != "off" {
		s.Form = botauth.Form(form)
		if len(s.Keys) == 0 || s.Agent == "" {
			r.fail("SIGN_REQUESTS", form, "off, or set SIGNING_KEY and SIGNATURE_AGENT as well")
		}
	}
	return s
}

// printable are the characters of a URL.
const printable = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
