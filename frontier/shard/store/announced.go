package store

import (
	"encoding/binary"
	"slices"
)

// announcements count the pages of a domain that the feed announced on one day.
type announcements struct {
	announcedDay int64 // since 1970
	announced    int64
	updates      int64 // pages that were announced again since they changed or are gone
}

// Announce counts a page that is to be announced, and reports whether the domain may announce it today (UTC). The
// shard counts the pages that it withholds.
func (m *Domain) Announce(limit int64) bool { return m.countAnnounced(&m.announced, limit) }

// AnnounceUpdate is Announce for a page that changed or is gone. Updates have a limit of their own.
func (m *Domain) AnnounceUpdate(limit int64) bool { return m.countAnnounced(&m.updates, limit) }

func (m *Domain) countAnnounced(n *int64, limit int64) bool {
	if today := m.tx.seconds().Day(); m.announcedDay != today {
		m.announcedDay, m.announced, m.updates = today, 0, 0
	}
	if *n >= limit {
		m.tx.state.Withheld++
		return false
	}
	*n++
	m.counted = true
	return true
}

// An announcedList has the announcements of domains whose rows may have older ones: a put that announces pages need not
// write the row, which the release of the domain writes soon. Only those of one day are of use. The counters of a day
// only grow, so of list and row the larger ones count, and nobody must take a domain off the list.
type announcedList struct {
	day      int64
	counters []byte // oldest first: a domain's id and both counters, announcedBytes each
}

const (
	maxAnnounced   = 256 // domains, which every operation reads
	announcedRoom  = 32  // the oldest that are taken off a full list
	announcedBytes = idBytes + 4 + 4
)

// read returns the domain and its announcements at a position.
func (l *announcedList) read(at int) (domain int64, a announcements) {
	counters := l.counters[at+idBytes:]
	return idAt(l.counters, at), announcements{l.day, int64(binary.BigEndian.Uint32(counters)),
		int64(binary.BigEndian.Uint32(counters[4:]))}
}

// apply adds the announcements on the list to those of domains that were loaded.
func (l *announcedList) apply(domains map[int64]*Domain, loaded []int64) {
	for at := 0; at < len(l.counters); at += announcedBytes {
		id, listed := l.read(at)
		m := domains[id]
		if m == nil || m.announcedDay > l.day || !slices.Contains(loaded, id) {
			continue
		}
		if m.announcedDay < l.day {
			m.announcements = announcements{announcedDay: l.day}
		}
		if listed.announced > m.announced || listed.updates > m.updates {
			m.announced, m.updates = max(m.announced, listed.announced), max(m.updates, listed.updates)
			m.listed = true
		}
	}
}

// listAnnounced lists the announcements of domains that do not change besides.
func listAnnounced(c *Tx) error {
	l := &c.state.announced
	for _, id := range idsOf(c.domains, func(m *Domain) bool { return m != nil && m.counted && !m.changed }) {
		m := c.domains[id]
		if m.stored == nil {
			m.Change()
			continue
		}
		if l.day != m.announcedDay {
			l.day, l.counters = m.announcedDay, nil
		}
		if len(l.counters) >= maxAnnounced*announcedBytes {
			if err := takeAnnounced(c); err != nil {
				return err
			}
		}
		l.set(m)
	}
	return nil
}

// takeAnnounced takes the oldest domains off the list. It changes those whose rows have older announcements.
func takeAnnounced(c *Tx) error {
	l := &c.state.announced
	ids := make([]int64, announcedRoom)
	for i := range ids {
		ids[i], _ = l.read(i * announcedBytes)
	}
	domains, err := c.loadDomains(ids)
	if err != nil {
		return err
	}
	for _, m := range domains {
		if m != nil && m.listed {
			m.Change()
		}
	}
	l.counters = l.counters[announcedRoom*announcedBytes:]
	return nil
}

// set puts the announcements of a domain on the list.
func (l *announcedList) set(m *Domain) {
	m.listed = true
	at := 0
	for ; at < len(l.counters); at += announcedBytes {
		if idAt(l.counters, at) == m.ID {
			break
		}
	}
	if at == len(l.counters) {
		l.counters = append(appendID(l.counters, m.ID), make([]byte, announcedBytes-idBytes)...)
	}
	binary.BigEndian.PutUint32(l.counters[at+idBytes:], uint32(m.announced))
	binary.BigEndian.PutUint32(l.counters[at+idBytes+4:], uint32(m.updates))
}

func (l *announcedList) append(b []byte) []byte {
	if len(l.counters) == 0 {
		return b
	}
	return append(appendUint(b, l.day), l.counters...)
}

func decodeAnnounced(record string) (l announcedList, err error) {
	if record == "" {
		return l, nil
	}
	d := decode([]byte(record))
	l.day, l.counters = d.int(), []byte(d.text[d.at:])
	if len(l.counters)%announcedBytes != 0 || len(l.counters) > maxAnnounced*announcedBytes {
		return announcedList{}, ErrDamaged
	}
	return l, d.err
}
