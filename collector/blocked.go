package collector

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
)

// refusals count what a site answers: one that refuses everything, robots.txt apart, is blocked.
type refusals struct {
	refused int
	served  int    // what was asked for, or is not there
	said    string // the first refusal that has a text, else the first one
	titled  bool   // it has
}

// maxChallenge is the size of a page in which the marks of a challenge are looked for: articles about them are longer.
const maxChallenge = 32 << 10

// challenges are marks of pages that ask a visitor to prove that he is no program.
var challenges = [...][]byte{
	[]byte("<title>Just a moment...</title>"), []byte("Attention Required! | Cloudflare"), []byte("_Incapsula_Resource"),
	[]byte("captcha-delivery.com"), []byte("sucuri_cloudproxy_js"), []byte("ddos-guard/js-challenge"), []byte("px-captcha"),
}

// refused reports whether an answer says that its site does not want us, rather than what was asked for.
func refused(a *fetch.Answer) bool {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	if a.Header.Get("Cf-Mitigated") == "challenge" || a.Header.Get("X-Amzn-Waf-Action") != "" {
		return true
	}
	if len(a.Content) > maxChallenge {
		return false
	}
	for _, mark := range challenges {
		if bytes.Contains(a.Content, mark) {
			return true
		}
	}
	return false
}

// note counts an answer. usable: it is what was asked for, if it has the status of that.
func (r *refusals) note(a *fetch.Answer, usable bool) {
	if a.Status == 0 {
		return
	}
	if !refused(a) {
		if a.Status < http.StatusInternalServerError && (usable || a.Status != http.StatusOK) {
			r.served++
		}
		return
	}
	if title := pageTitle(a.Content); r.refused == 0 || title != "" && !r.titled {
		r.said, r.titled = fmt.Sprintf("HTTP %d", a.Status), title != ""
		if r.titled {
			r.said += ": " + title
		}
	}
	r.refused++
}

// verdict reports whether the site is blocked, and by what answer.
func (r *refusals) verdict() (blocked bool, reason *string) {
	if r.refused == 0 || r.served > 0 {
		return false, nil
	}
	return true, contract.ShortText(r.said)
}

// pageTitle is the title of a page, "" for none.
func pageTitle(page []byte) string {
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		if next < 0 {
			return ""
		}
		if i = next; t.Is("title") && !t.Closing {
			return oneLine(withoutTags(page[next:markup.EndTag(page, next, t.Name)]))
		}
	}
}
