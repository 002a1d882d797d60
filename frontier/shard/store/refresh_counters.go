package store

import "github.com/newsfork/seed-engine/epoch"

// RefreshCounters count the refreshes of a shard.
type RefreshCounters struct {
	Day   int64 // since 1970, in UTC
	Sent  int64 // messages on that day
	Total int64 // messages since the beginning
	Overdue
	Given int64 // refreshes since the last tick that gave any, its own included
	// Lent is the last second to which due hosts were moved because scrapers had leased them; 0 if none were.
	Lent epoch.Seconds
}

func (r *RefreshCounters) counters() []*int64 {
	return []*int64{&r.Day, &r.Sent, (*int64)(&r.Oldest), &r.Total, &r.Given, (*int64)(&r.Lent),
		(*int64)(&r.At), (*int64)(&r.Until)}
}

// Overdue records how late refreshes are, by the entry point that had been due longest when it was sent.
// It stays overdue until it is retried, so one tick does not hide it.
type Overdue struct {
	Oldest epoch.Seconds // its due time; 0 if none is overdue
	At     epoch.Seconds // when it was sent
	Until  epoch.Seconds // when this record expires
}

// Update replaces the record by that of a tick, unless the record still stands and its delay is longer.
func (l *Overdue) Update(now epoch.Seconds, tick *Overdue) {
	if now >= l.Until || now < l.At || tick.At.Sub(tick.Oldest) >= l.At.Sub(l.Oldest) && tick.Oldest > 0 {
		*l = *tick
	}
}

// Since returns the due time of the oldest overdue refresh, as of the last tick; 0 if none is overdue.
func (l *Overdue) Since(now epoch.Seconds) epoch.Seconds {
	if l.Oldest == 0 || now >= l.Until {
		return 0
	}
	return now.Add(-l.At.Sub(l.Oldest))
}

// Count counts n refreshes that are sent.
func (r *RefreshCounters) Count(n int) {
	r.Sent += int64(n)
	r.Total += int64(n)
	r.Given += int64(n)
}
