package frontier

// Split divides a page by the shards to which its hosts and domains belong.
func (s Snapshot) Split(shards int) map[int]Snapshot {
	parts := map[int]Snapshot{}
	part := func(domain string) (int, Snapshot) {
		n := ShardOf(domain, shards)
		p, there := parts[n]
		if !there {
			p = Snapshot{Version: s.Version, Classes: s.Classes, Patterns: s.Patterns}
		}
		return n, p
	}
	for _, h := range s.Hosts {
		n, p := part(h.Domain)
		p.Hosts = append(p.Hosts, h)
		parts[n] = p
	}
	for _, d := range s.Domains {
		n, p := part(d.Domain)
		p.Domains = append(p.Domains, d)
		parts[n] = p
	}
	return parts
}
