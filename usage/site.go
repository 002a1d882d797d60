package usage

import (
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/robots"
)

// MaxBytes caps the text that Encode writes.
const MaxBytes = 4096

// Encode writes the usage of a site as a short text, which the frontier keeps with its hosts. The first line is when
// tdmrep.json was read, in seconds since 1970, or 0.
func Encode(u *contract.Usage) string {
	var b strings.Builder
	at := int64(0)
	if u.CheckedAt != nil {
		at = u.CheckedAt.Unix()
	}
	b.WriteString(strconv.FormatInt(at, 10))
	for i := range u.Directives {
		d := &u.Directives[i]
		b.WriteString("\n" + d.Source + " " + d.Name)
	}
	for i := range u.TDM {
		b.WriteString("\n" + line(&u.TDM[i]))
	}
	return b.String()
}

// line writes a rule for Encode.
func line(r *contract.TDMRule) string {
	text := r.Source + " 0 " + r.Location
	if r.Reserved {
		text = r.Source + " 1 " + r.Location
	}
	if r.Policy != nil {
		text += " " + *r.Policy
	}
	return text
}

// Decode reads the text that Encode wrote. It skips lines of later versions.
func Decode(text string) contract.Usage {
	u := contract.Usage{Directives: []contract.UsageDirective{}, TDM: []contract.TDMRule{}}
	first, rest, _ := strings.Cut(text, "\n")
	if at, err := strconv.ParseInt(first, 10, 64); err == nil && at > 0 {
		u.CheckedAt = contract.At(time.Unix(at, 0).UTC())
	}
	for text := range strings.SplitSeq(rest, "\n") {
		switch f := strings.Fields(text); {
		case len(f) == 2:
			u.Directives = append(u.Directives, contract.UsageDirective{Name: f[1], Source: f[0]})
		case len(f) == 3 || len(f) == 4:
			r := contract.TDMRule{Location: f[2], Reserved: f[1] == "1", Source: f[0]}
			if len(f) == 4 {
				r.Policy = &f[3]
			}
			u.TDM = append(u.TDM, r)
		}
	}
	return u
}

// Site answers for the pages of one host.
type Site struct {
	usage    contract.Usage
	patterns []*robots.Group // of the rules; nil for one that matches all paths
	signals  map[string]string
}

// NewSite returns the site of a text that Encode wrote, or of "", and of the value of a Content-Signal, or of "".
func NewSite(text, signals string) *Site {
	s := &Site{usage: Decode(text)}
	for i := range s.usage.TDM {
		s.patterns = append(s.patterns, pattern(s.usage.TDM[i].Location))
	}
	s.signals = robots.Parse([]byte("User-agent: *\nContent-Signal: " + signals)).Agent("*").ContentSignals()
	return s
}

// pattern compiles a location, whose characters are those of robots.txt.
func pattern(location string) *robots.Group {
	if location == "/" || location == "/*" || location == "*" {
		return nil
	}
	return robots.Parse([]byte("User-agent: *\nDisallow: " + strings.ReplaceAll(location, "#", "%23"))).Agent("*")
}

// Of returns what the site says about the use of a page, or nil if it says nothing. The first rule that matches
// decides.
func (s *Site) Of(url string) *contract.FrontierUsage {
	u := &contract.FrontierUsage{ContentSignals: s.signals}
	said := len(s.signals) > 0
	for _, d := range s.usage.Directives {
		switch d.Name {
		case contract.NoAI:
			u.NoAI, said = true, true
		case contract.NoImageAI:
			u.NoImageAI, said = true, true
		}
	}
	for i, group := range s.patterns {
		if r := &s.usage.TDM[i]; group == nil || !group.Allowed(url) {
			u.TDMReserved, u.TDMPolicy, said = &r.Reserved, r.Policy, true
			break
		}
	}
	if !said {
		return nil
	}
	return u
}
