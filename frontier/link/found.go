package link

// maxFoundDomains caps the other domains whose URLs one result may find: those of the page's own shard, and those of
// all other shards together. A page that links to more is a list of links.
const maxFoundDomains = 50

// FoundDomains are registrable domains other than the page's among the URLs that one result found.
type FoundDomains map[string]bool

// Take reports whether URLs of a domain are taken; those of domains beyond the limit are dropped.
func (d FoundDomains) Take(domain string) bool {
	if !d[domain] && len(d) >= maxFoundDomains {
		return false
	}
	d[domain] = true
	return true
}
