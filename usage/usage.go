// Package usage reads what sites say about the use of their content, beside the Content-Signal of robots.txt:
// X-Robots-Tag and its meta element, and the TDM Reservation Protocol
// (https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/). Everything here is a pure function.
package usage

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// maxHead caps the bytes of a page that are searched for meta elements.
const maxHead = 512 << 10

// known are the directives that concern the use of a page's content.
var known = []string{contract.NoAI, contract.NoImageAI, "noindex", "none", "nofollow", "noarchive", "nocache",
	"nosnippet", "noimageindex"}

// valued are the directives of X-Robots-Tag that have a value after a colon. Any other name before a colon is that of
// a crawler.
var valued = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// OfPage returns what a page says about its use: its directives for all crawlers and for the one with the product
// token, and its TDM reservation, or nil. Meta elements win over header fields.
func OfPage(h http.Header, html []byte, product string) (list []contract.UsageDirective, tdm *contract.TDMRule) {
	s := statements{product: strings.ToLower(product)}
	for _, value := range h.Values("X-Robots-Tag") {
		s.header(value)
	}
	tdm = pageRule(h.Get("Tdm-Reservation"), h.Get("Tdm-Policy"), contract.UsageHeader)
	if rule := s.head(html[:min(len(html), maxHead)]); rule != nil {
		tdm = rule
	}
	return s.list, tdm
}

// statements collects the directives of a page.
type statements struct {
	product string // in lower case
	list    []contract.UsageDirective
}

func (s *statements) add(name, source string) {
	if slices.Contains(known, name) &&
		!slices.ContainsFunc(s.list, func(d contract.UsageDirective) bool { return d.Name == name }) {
		s.list = append(s.list, contract.UsageDirective{Name: name, Source: source})
	}
}

// header takes a value of X-Robots-Tag. A crawler's name holds up to the next one.
func (s *statements) header(value string) {
	ours := true
	for part := range strings.SplitSeq(strings.ToLower(value), ",") {
		part = strings.TrimSpace(part)
		before, after, found := strings.Cut(part, ":")
		before = strings.TrimSpace(before)
		if found && !slices.Contains(valued, before) && !strings.ContainsAny(before, " \t") {
			ours, part = before == s.product, strings.TrimSpace(after)
		}
		if ours {
			s.add(part, contract.UsageHeader)
		}
	}
}

// head takes the meta elements of a page, and returns its TDM reservation, or nil.
func (s *statements) head(html []byte) *contract.TDMRule {
	var reservation, policy string
	for i := 0; ; {
		t, next := markup.NextTag(html, i)
		if next < 0 || t.Closing && t.Is("head") || t.Is("body") {
			break
		}
		i = next
		switch {
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("title"), t.Is("noscript"), t.Is("template"):
			i = markup.EndTag(html, i, t.Name)
		case t.Is("meta"):
			content := t.Attr("content")
			switch name := strings.ToLower(strings.TrimSpace(t.Attr("name"))); name {
			case "":
			case "robots", s.product:
				for word := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(content, ",", " "))) {
					s.add(word, contract.UsageMeta)
				}
			case "tdm-reservation":
				reservation = content
			case "tdm-policy":
				policy = content
			}
		}
	}
	return pageRule(reservation, policy, contract.UsageMeta)
}

// pageRule returns the rule of a page, or nil if the reservation is neither 0 nor 1.
func pageRule(reservation, policy, source string) *contract.TDMRule {
	reservation = strings.TrimSpace(reservation)
	if reservation != "0" && reservation != "1" {
		return nil
	}
	return &contract.TDMRule{Location: "/", Reserved: reservation == "1", Policy: policyURL(policy), Source: source}
}

// policyURL returns the URL of a policy, or nil if it is not absolute or too long.
func policyURL(s string) *string {
	s = strings.TrimSpace(s)
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(s) > contract.MaxTextBytes ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil
	}
	return &s
}
