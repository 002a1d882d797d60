package collector

import (
	"encoding/json"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
)

// Strike returns a document without the URLs that operators excluded since it was written: they are neither entry
// points nor discovered, and not allowed. A document without such URLs, or one that cannot be read, is unchanged.
func Strike(document []byte, excluded func(url string) bool) []byte {
	var d contract.Document
	if json.Unmarshal(document, &d) != nil || !strike(&d, excluded) {
		return document
	}
	return encode(&d)
}

// strike is like Strike for a parsed document. It reports whether it changed anything.
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

// hostExcluded reports whether operators excluded the host of a document.
func hostExcluded(d *contract.Document, excluded func(url string) bool) bool {
	host := d.Domain
	if effective := d.Technical.ServerInfo.EffectiveHost; effective != nil {
		host = *effective
	}
	return excluded != nil && excluded(robotsURL(host))
}

// StrikeURL marks a raw URL as not to be fetched.
func StrikeURL(u *contract.DocumentURL) {
	ignore := string(discovery.Ignore)
	u.Action, u.Allowed = &ignore, new(bool)
}

// strikeExcluded removes excluded URLs from the results in a document, and reports whether there were any.
func strikeExcluded(d *contract.Document, excluded func(url string) bool) (changed bool) {
	var found discovery.Discovery
	if json.Unmarshal(d.Discovery, &found) == nil && found.Strike(excluded) {
		d.Discovery, changed = found.AppendJSON(nil), true
	}
	var how discovery.FetchContract
	struck := false
	if out := hostExcluded(d, excluded); out != d.Excluded {
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
