package discovery

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Observe adds what scrapers saw to a discovery: to each pattern the outcomes of its pages, and to each URL the
// frequency of changes, if known. of returns the observations of the pattern of a URL, or nil.
func (d *Discovery) Observe(of func(url string) *contract.Observed) {
	for i := range d.Patterns {
		p := &d.Patterns[i]
		for _, example := range p.Examples {
			if o := of(example); o != nil && (p.Observed == nil || o.Fetched > p.Observed.Fetched) {
				p.Observed = o
			}
		}
	}
	for i := range d.URLs {
		u := &d.URLs[i]
		if o := of(u.URL); o != nil && o.ChangeHours != nil {
			u.NewsValue.Frequency = frequencyEvery(time.Duration(*o.ChangeHours * float64(time.Hour)))
		}
	}
}

// Keep copies what Observe added to an earlier discovery, which is given as JSON. It reports whether there was
// anything.
func (d *Discovery) Keep(earlier []byte) (kept bool) {
	var shown struct {
		URLs []struct {
			URL       string `json:"url"`
			NewsValue struct {
				Frequency Frequency `json:"update_frequency"`
			} `json:"news_value"`
		} `json:"discovered_urls"`
		Patterns []URLPattern `json:"url_patterns"`
	}
	if json.Unmarshal(earlier, &shown) != nil {
		return false
	}
	changing := false
	for _, p := range shown.Patterns {
		for i := range d.Patterns {
			if d.Patterns[i].Pattern == p.Pattern && p.Observed != nil {
				d.Patterns[i].Observed, kept = p.Observed, true
				changing = changing || p.Observed.ChangeHours != nil
			}
		}
	}
	if !changing {
		return kept
	}
	before := map[string]Frequency{}
	for _, u := range shown.URLs {
		before[u.URL] = u.NewsValue.Frequency
	}
	for i := range d.URLs {
		if f, ok := before[d.URLs[i].URL]; ok {
			d.URLs[i].NewsValue.Frequency = f
		}
	}
	return kept
}
