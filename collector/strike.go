package collector

import (
	"encoding/json"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
)

// Strike returns a document without what operators have excluded since it was written: those URLs are neither entry
// points nor discovered, and not allowed. A document without any, or that cannot be read, is returned as it is.
func Strike(document []byte, excluded func(url string) bool) []byte {
	var d contract.Document
	if json.Unmarshal(document, &d) != nil {
		return document
	}
	changed := strikeExcluded(&d, excluded)
	for i := range d.URLs {
		if u := &d.URLs[i]; excluded(u.URL) && (u.Allowed == nil || *u.Allowed) {
			strikeURL(u)
			changed = true
		}
	}
	if !changed {
		return document
	}
	return encode(&d)
}

// strikeURL marks a raw URL as one that nobody is to fetch.
func strikeURL(u *contract.DocumentURL) {
	ignore := string(discovery.Ignore)
	u.Action, u.Allowed = &ignore, new(bool)
}

// strikeExcluded removes what operators excluded from the results that a document already has, and reports whether
// there was any.
func strikeExcluded(d *contract.Document, excluded func(url string) bool) (changed bool) {
	var found discovery.Discovery
	if json.Unmarshal(d.Discovery, &found) == nil && found.Strike(excluded) {
		d.Discovery, changed = marshal(found), true
	}
	var how discovery.FetchContract
	if json.Unmarshal(d.Contract, &how) == nil && how.Strike(excluded) {
		d.Contract, changed = marshal(how), true
	}
	return changed
}
