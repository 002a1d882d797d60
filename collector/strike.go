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
	if json.Unmarshal(document, &d) != nil || !strike(&d, excluded) {
		return document
	}
	return encode(&d)
}

// strike is Strike for a document that was read. It reports whether there was anything to remove.
func strike(d *contract.Document, excluded func(url string) bool) (changed bool) {
	changed = strikeExcluded(d, excluded)
	for i := range d.URLs {
		if u := &d.URLs[i]; excluded(u.URL) && (u.Allowed == nil || *u.Allowed) {
			StrikeURL(u)
			changed = true
		}
	}
	return changed
}

// ruledOut reports whether operators excluded the host that a document is about.
func ruledOut(d *contract.Document, excluded func(url string) bool) bool {
	host := d.Domain
	if effective := d.Technical.ServerInfo.EffectiveHost; effective != nil {
		host = *effective
	}
	return excluded != nil && excluded(robotsOf(host))
}

// StrikeURL marks a raw URL as one that nobody is to fetch.
func StrikeURL(u *contract.DocumentURL) {
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
	struck := false
	if out := ruledOut(d, excluded); out != d.Excluded {
		d.Excluded, changed = out, true
	}
	if json.Unmarshal(d.Contract, &how) == nil {
		if struck = how.Strike(excluded); d.Excluded && (how.Allowed || len(how.EntryPoints) > 0) {
			how.Close()
			struck = true
		}
	}
	if struck {
		d.Contract, changed = marshal(how), true
	}
	return changed
}
