package collector

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
)

// refusals counts responses. A site that refuses everything but robots.txt is blocked.
type refusals struct {
	refused int
	served  int    // with the requested resource, or because it does not exist
	reason  string // the first refusal with a title, or else the first one
	titled  bool   // reason has a title
}

// maxChallenge is the size of the largest page that is searched for marks of a challenge. Articles about challenges
// are longer.
const maxChallenge = 32 << 10

// challenges are marks of pages that ask visitors to prove that they are human.
var challenges = [...][]byte{
	[]byte("<title>Just a moment...</title>"), []byte("Attention Required! | Cloudflare"),
	[]byte("_Incapsula_Resource"),
	[]byte("captcha-delivery.com"), []byte("sucuri_cloudproxy_js"), []byte("ddos-guard/js-challenge"),
	[]byte("px-captcha"),
}

// refused reports whether a response rejects us, rather than answering for the resource.
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

// note counts a response. usable reports whether its content is of the requested kind.
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
		r.reason, r.titled = fmt.Sprintf("HTTP %d", a.Status), title != ""
		if r.titled {
			r.reason += ": " + title
		}
	}
	r.refused++
}

// verdict reports whether the site is blocked, and the response that shows it.
func (r *refusals) verdict() (blocked bool, reason *string) {
	if r.refused == 0 || r.served > 0 {
		return false, nil
	}
	return true, contract.ShortText(r.reason)
}

// pageTitle returns the title of a page, or "".
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
