package discovery

import (
	"cmp"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// scorer scores pages by their class, date and host.
type scorer struct {
	now   time.Time
	nanos int64 // now, since 1970

	host      string // the last one
	authority float64
	day       struct {
		on   date
		date uint32 // seconds since 1970, or 0 for an implausible one
	} // the last one in a URL
}

func newScorer(now time.Time) scorer { return scorer{now: now, nanos: now.UnixNano()} }

// score scores a page of a class. An old date lowers the priority of a page, but not its order, which is then that of
// an undated page: a date that is found later must not lower the order.
func (s *scorer) score(p *page, c classify.Class, confidence float64, rank uint8, date uint32) candidate {
	day := s.dated(p, 0)
	v := s.valueAt(p, c, cmp.Or(date, day))
	q, method := quality(p), methodScore(methods[rank])
	j := candidate{url: p.url, lastmod: date, date: max(date, day), rank: rank, class: c, confidence: confidence}
	j.priority = thousandths(priority(v.Overall, confidence, q, method))
	j.order = j.priority
	if best := max(v.Timeliness, contract.Undated, s.timelinessOf(day)); best > v.Timeliness {
		v.Timeliness = best
		j.order = thousandths(priority(overall(&v), confidence, q, method))
	}
	return j
}

// value returns the news value of a page that was found with a date, 0 for none, except its frequency.
func (s *scorer) value(p *page, c classify.Class, found uint32) NewsValue {
	return s.valueAt(p, c, s.dated(p, found))
}

// valueAt is value for a page with a date, whatever it comes from.
func (s *scorer) valueAt(p *page, c classify.Class, date uint32) NewsValue {
	v := NewsValue{
		Relevance:     relevanceOf[c],
		Timeliness:    s.timelinessOf(date),
		Authority:     s.authorityOf(p.host),
		Accessibility: accessibility(p.depth),
	}
	v.Overall = overall(&v)
	return v
}

// timelinessOf is the timeliness of a page with a date in seconds since 1970, 0 for none; undated where it is not
// plausible.
func (s *scorer) timelinessOf(date uint32) float64 {
	age := time.Duration(s.nanos - int64(date)*int64(time.Second))
	if int64(date) <= firstPage || age <= -day {
		return contract.Undated
	}
	return contract.Timeliness(age)
}

// authorityOf is authority, cached for consecutive URLs of one host.
func (s *scorer) authorityOf(host string) float64 {
	if s.host != host {
		s.host, s.authority = strings.Clone(host), authority(host)
	}
	return s.authority
}

// dated returns the date of a page: the one found with its URL, else the one in the URL, else 0.
func (s *scorer) dated(p *page, found uint32) uint32 {
	if found > 0 {
		return found
	}
	on, ok := p.day()
	if !ok {
		return 0
	}
	if on != s.day.on { // many pages in a row have the same
		s.day.on, s.day.date = on, 0
		if at, ok := on.time(); ok && markup.Plausible(at, s.now) {
			s.day.date = uint32(at.Unix())
		}
	}
	return s.day.date
}
