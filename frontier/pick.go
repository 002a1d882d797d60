package frontier

import "slices"

// pop takes the page of a host whose turn it is: its bands take turns like the front queues, so that
// no band of a host starves behind its urgent ones.
func (c *call) pop(h *host, f *filter) (p page, ok bool, err error) {
	if err := c.refill(h, waiting); err != nil {
		return p, false, err
	}
	turn := bandOfTurn(h.turn)
	h.turn = (h.turn + 1) % turns
	for _, band := range [...]int{turn, 0, 1, 2, 3} {
		if p, ok = c.popBand(h, f, band); ok {
			return p, true, nil
		}
		for more := f.all; more && h.has(band); more = !c.anyDue(h) { // again when all were dropped
			if err := c.refill(h, band); err != nil {
				return p, false, err
			}
			if p, ok = c.popBand(h, f, band); ok {
				return p, true, nil
			}
		}
	}
	if !f.all {
		if found, err := c.extract(h, f); !found {
			return p, false, err
		}
	}
	for band := range Bands { // what has aged into a lower band since it was put
		if p, ok = c.popBand(h, f, band); ok {
			return p, true, nil
		}
	}
	return p, false, nil
}

// anyDue reports whether the buffer has a page that may be fetched now.
func (c *call) anyDue(h *host) bool {
	return slices.ContainsFunc(h.buffer, func(p page) bool { return p.due <= c.seconds() })
}

// prefetch loads the segments from which the next pages of hosts will come, with one statement.
func (c *call) prefetch(hosts []*host) error {
	var keys []int64
	for _, h := range hosts {
		if h == nil || h.lease != 0 || c.freeAt(h) > c.now {
			continue
		}
		band := bandOfTurn(h.turn)
		if slices.ContainsFunc(h.buffer, func(p page) bool { return p.due <= c.seconds() && (p.band(c.seconds()) == band || !h.has(band)) }) {
			continue
		}
		if !h.has(band) {
			band = slices.IndexFunc([]int{0, 1, 2, 3}, h.has)
		}
		if i := slices.IndexFunc(h.segments, func(s segment) bool { return band >= 0 && s.region[band].left > 0 }); i >= 0 {
			keys = append(keys, h.segmentKey(h.segments[i].number))
		}
	}
	return c.loadParts(keys)
}

// popBand takes the page with the highest score of a band from the buffer. Excluded ones are dropped.
func (c *call) popBand(h *host, f *filter, band int) (p page, ok bool) {
	for {
		best, most := -1, -1
		for i := range h.buffer {
			q := &h.buffer[i]
			if q.due > c.seconds() || !f.page(h, q) {
				continue
			}
			if score := q.score(c.seconds()); score > most && bandOf(score) == band {
				best, most = i, score
			}
		}
		if best < 0 {
			return p, false
		}
		p = h.buffer[best]
		h.buffer = slices.Delete(h.buffer, best, best+1)
		if len(c.state.patterns) == 0 || !c.state.excludes.URL(h.url(&p)) {
			return p, true
		}
		h.urls--
		c.state.urls--
		c.change(h)
	}
}
