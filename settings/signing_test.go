package settings_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/settings"
)

// The key of RFC 9421, B.1.4.
const exampleKey = `{"kty":"OKP","crv":"Ed25519","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",` +
	`"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`

func TestSigning(t *testing.T) {
	const agent = "https://bot.newsfork.com"
	vars := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	signed := func(form string) map[string]string {
		return vars("SIGNING_KEY", exampleKey, "SIGNATURE_AGENT", agent, "SIGN_REQUESTS", form)
	}
	for name, c := range map[string]struct {
		vars  map[string]string
		field string // of the expected error
		form  botauth.Form
	}{
		"off":               {nil, "", ""},
		"key only":          {vars("SIGNING_KEY", exampleKey), "", ""},
		"registered":        {signed("off"), "", ""},
		"string":            {signed("string"), "", botauth.String},
		"dictionary":        {signed("dictionary"), "", botauth.Dictionary},
		"no key":            {vars("SIGNATURE_AGENT", agent, "SIGN_REQUESTS", "string"), "SIGN_REQUESTS", ""},
		"no agent":          {vars("SIGNING_KEY", exampleKey, "SIGN_REQUESTS", "string"), "SIGN_REQUESTS", ""},
		"unknown form":      {vars("SIGN_REQUESTS", "on"), "SIGN_REQUESTS", ""},
		"malformed key":     {vars("SIGNING_KEY", `{"kty":"RSA"}`), "SIGNING_KEY", ""},
		"plain http":        {vars("SIGNATURE_AGENT", "http://bot.newsfork.com"), "SIGNATURE_AGENT", ""},
		"capital letters":   {vars("SIGNATURE_AGENT", "https://Bot.newsfork.com"), "SIGNATURE_AGENT", ""},
		"a quote":           {vars("SIGNATURE_AGENT", `https://bot.newsfork.com/"x`), "SIGNATURE_AGENT", ""},
		"example key":       {vars("SIGNING_KEY", exampleKey, "ENVIRONMENT", "staging"), "SIGNING_KEY", ""},
		"scraper without a": {vars("SCRAPER_USER_AGENT", "1.0"), "SCRAPER_USER_AGENT", ""},
		"contact":           {vars("OPERATOR_CONTACT", "ask us"), "OPERATOR_CONTACT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := settings.Read(from(c.vars))
			if c.field == "" {
				if err != nil || s.Signing.Form != c.form {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			var e *contract.Error
			if !errors.As(err, &e) || e.Field != c.field || strings.Contains(err.Error(), "n4Ni") {
				t.Errorf("%v", err)
			}
		})
	}
	s, err := settings.Read(from(map[string]string{"USER_AGENT": "AcmeBot/2.0"}))
	if err != nil || s.ScraperUserAgent != "AcmeBot/2.0" {
		t.Errorf("%q, %v", s.ScraperUserAgent, err)
	}
	s, err = settings.Read(from(vars("OPERATOR_CONTACT", "mailto:bot@acme.example")))
	if err != nil || s.OperatorContact != "bot@acme.example" {
		t.Errorf("%q, %v", s.OperatorContact, err)
	}
	info, err := settings.ReadInfo(from(map[string]string{"SIGNING_KEY": exampleKey, "SIGNATURE_AGENT": agent,
		"SIGN_REQUESTS": "string"}))
	if err != nil || info.Signing.Form != botauth.String {
		t.Errorf("%+v, %v", info, err)
	}
}
