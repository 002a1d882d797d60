package shard

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Bounds of the schedule of refreshes.
const (
	maxTickHosts  = 2000             // that one tick looks at
	maxResend     = 15 * time.Minute // after which the message of a refresh that did not end is sent again
	minResend     = 2 * time.Second  // the same, where intervals are short
	collectResend = 4                // times as long for a whole domain
	// before the next look at an excluded domain, or at a host that scrapers refresh
	idleCheck      = 6 * time.Hour
	maxQueued      = day         // after which a message counts as lost even if the queue has older ones
	maxTickSpacing = time.Minute // between two ticks
	minTickSpacing = time.Second // the same, where intervals are short
)

// queueRefreshes adds messages for due entry points: at most one a host, within the budget. If a refresh does not end,
// its message is sent again, unless it might still be in the queue, whose oldest message is of the time oldest.
// Excluded and busy hosts are left for later.
func queueRefreshes(c *call, tick *Tick, oldest epoch.Millis) error {
	if c.settings.PerMinute <= 0 {
		return nil
	}
	r := &c.tx.State().Refreshing
	// a clock may go back, over midnight or from far ahead
	if today := c.today(); r.Day < today || r.Day > today+1 {
		r.Day, r.Sent = today, 0
	}
	t := &ticker{c: c, oldest: oldest.Seconds(), seen: map[int64]bool{}}
	if err := t.run(); err != nil {
		return err
	}
	r.Update(c.seconds(), &t.overdue)
	for list := range slices.Chunk(t.due, contract.MaxRefreshes) {
		tick.Messages = append(tick.Messages, contract.Encode(contract.RefreshMessage{Refreshes: list}))
	}
	at, err := t.next()
	if at > 0 {
		tick.AlarmAt = min(tick.AlarmAt, at)
	}
	return err
}

// ticker is the part of a tick that queues refreshes.
type ticker struct {
	c       *call
	oldest  epoch.Seconds  // when the first message in the queue was sent; 0 if there is none
	seen    map[int64]bool // hosts
	due     []contract.Refresh
	overdue store.Overdue
	left    bool // hosts that are due, for the next tick
}

// perTick returns the number of refreshes that may begin between two ticks.
func perTick(c *call) int64 {
	return max((c.settings.PerMinute*c.settings.tickSpacing().Milliseconds()+59_999)/60_000, 1)
}

// refreshBudget returns the number of refreshes that may begin now.
func refreshBudget(c *call) int {
	n := perTick(c)
	if c.settings.PerDay > 0 {
		n = min(n, c.settings.PerDay-c.tx.State().Refreshing.Sent)
	}
	return int(max(n, 0))
}

// tickSpacing returns the time between two ticks: a minute, or less if intervals are short.
func (s *Settings) tickSpacing() time.Duration {
	return min(max(s.MinRefresh/90, minTickSpacing), maxTickSpacing)
}

// resendAfter returns the time after which the message of a refresh that did not end is sent again.
func (s *Settings) resendAfter(method string) time.Duration {
	again := min(max((s.MinRefresh/6).Truncate(time.Second), minResend), maxResend)
	if method == frontier.MethodCollect {
		again *= collectResend
	}
	return again
}

func (t *ticker) run() error {
	c := t.c
	budget := refreshBudget(c)
	until := max(c.seconds(), c.tx.State().Refreshing.Lent)
	blocks, more, err := c.tx.DueHosts(until, maxTickHosts)
	if err != nil {
		return err
	}
	t.left = more
	looked := 0
	for _, b := range blocks {
		if looked >= maxTickHosts || len(t.due) >= budget || c.tx.State().Full(1) {
			t.left = true
			break
		}
		looked += len(b.Hosts)
		taken, err := t.checkHosts(b.Hosts, b.Second, budget)
		if err != nil {
			return err
		}
		if taken < len(b.Hosts) {
			t.left = true
		}
		b.Take(taken)
	}
	if !t.left {
		c.tx.State().Refreshing.Lent = 0
	}
	if len(t.due) > 0 {
		c.tx.State().Refreshing.Given = 0
		c.tx.State().Refreshing.Count(len(t.due))
	}
	return nil
}

// checkHosts checks hosts, which were due for that at a second, until it has as many due entry points as the budget
// allows, or may load no more. It returns the number of checked hosts.
func (t *ticker) checkHosts(ids []int64, second epoch.Seconds, budget int) (taken int, err error) {
	for part := range slices.Chunk(ids, maxCandidates) {
		if t.c.tx.State().Full(1) {
			break
		}
		hosts, err := t.c.tx.Hosts(part)
		if err != nil {
			return 0, err
		}
		for _, h := range hosts {
			if len(t.due) >= budget {
				return taken, nil
			}
			if err := t.checkHost(h, second); err != nil {
				return 0, err
			}
			taken++
		}
	}
	return taken, nil
}

// checkHost checks a host, unless it is gone or this tick has checked it.
func (t *ticker) checkHost(h *store.Host, second epoch.Seconds) error {
	c := t.c
	if h == nil || t.seen[h.ID] {
		return nil
	}
	t.seen[h.ID] = true
	if err := h.UnpackEntries(); err != nil || len(h.Entries) == 0 {
		return err
	}
	owned, err := c.settle(h)
	if err != nil {
		return err
	}
	if !owned {
		h.Watch(c.seconds().Add(idleCheck))
		return nil
	}
	h.Watch(t.decide(h, second))
	return nil
}

// decide adds the due entry point of a host, and returns the second of the host's next check. This check was scheduled
// for second.
func (t *ticker) decide(h *store.Host, second epoch.Seconds) (at epoch.Seconds) {
	c := t.c
	m := h.Domain
	busy := max(h.LeaseEnds, m.Closed(c.now), h.ClaimEnds)
	e := c.firstEntry(h, nil)
	switch {
	case h.Excluded || m.Excluded || e == nil:
		return c.seconds().Add(idleCheck)
	case c.refreshableAt(e) > c.seconds():
		return c.slot(c.refreshableAt(e).Millis())
	case max(busy, c.freeAt(h)) > c.now: // its owner is often done with it long before the end of the lease
		busy = min(busy, c.now.Add(c.settings.resendAfter(e.Method)))
		return c.slot(max(busy, c.freeAt(h), c.now.Add(c.settings.tickSpacing())))
	}
	if t.overdue.Oldest == 0 || e.Due < t.overdue.Oldest {
		again := c.settings.resendAfter(e.Method) + 2*c.settings.tickSpacing()
		t.overdue = store.Overdue{Oldest: e.Due, At: c.seconds(), Until: c.seconds().Add(again)}
	}
	if t.waits(e, second) { // which is overdue as well: the queue stands still
		return c.seconds().Add(c.settings.resendAfter(e.Method))
	}
	t.due = append(t.due, contract.Refresh{
		Domain: m.Name, URL: h.URL(&e.Page), Method: e.Method, ETag: e.Etag, LastModified: e.Modified,
		SHA256: e.HexDigest(), Partition: c.partition(h, &e.Page), QueuedAt: c.now,
	})
	at = c.seconds().Add(c.settings.resendAfter(e.Method))
	if c.seconds().Sub(e.Due) >= maxQueued {
		at = c.seconds().Add(idleCheck)
	}
	// another entry point of the host waits only until the collection's message is overdue
	if other := c.firstEntry(h, e); e.Method == frontier.MethodCollect && other != nil && c.refreshableAt(other) < at {
		e.Tried = c.seconds()
		h.Change()
	}
	return at
}

// waits reports whether the last message for the entry point might still be in the queue. check is the second for
// which that message scheduled the next check.
func (t *ticker) waits(e *store.Entry, check epoch.Seconds) bool {
	c := t.c
	sent := check.Add(-c.settings.resendAfter(e.Method))
	return sent >= e.Due && 0 < t.oldest && t.oldest <= sent && c.seconds().Sub(e.Due) < maxQueued
}

// firstEntry returns the entry point of a host, other than one, that can be refreshed first. It returns nil if
// operators have excluded all others.
func (c *call) firstEntry(h *store.Host, but *store.Entry) *store.Entry {
	var first *store.Entry
	for i := range h.Entries {
		e := &h.Entries[i]
		if e != but && (first == nil || c.refreshableAt(e) < c.refreshableAt(first)) &&
			!c.tx.State().Excludes.URL(h.URL(&e.Page)) {
			first = e
		}
	}
	return first
}

// refreshableAt returns the second from which an entry point may be refreshed: when it is due or, if its last refresh
// did not end, late enough for the host's other entry points to have had their turn.
func (c *call) refreshableAt(e *store.Entry) epoch.Seconds {
	if e.Tried < e.Due {
		return e.Due
	}
	return e.Tried.Add(c.settings.resendAfter(e.Method))
}

// next returns the time of the next tick; 0 if nothing will be due.
func (t *ticker) next() (epoch.Millis, error) {
	c := t.c
	soon := c.now.Add(c.settings.tickSpacing())
	if refreshBudget(c) <= 0 { // for today
		return max(epoch.StartOf(c.today()+1).Millis(), soon), nil
	}
	if t.left {
		return soon, nil
	}
	_, first, err := c.tx.CountDue()
	if err != nil || first == 0 {
		return 0, err
	}
	return max(first.Millis(), soon), nil
}

// queueDue queues hosts with due entry points for scrapers, if the engine does not refresh entry points. The hosts
// stay scheduled for a check, since refreshes might be enabled again. It loads half of what a lease may load.
func queueDue(c *call) error {
	if c.settings.PerMinute > 0 {
		return nil
	}
	blocks, _, err := c.tx.DueHosts(c.seconds(), maxTickHosts)
	if err != nil || len(blocks) == 0 {
		return err
	}
	later := c.seconds().Add(idleCheck)
	c.tx.State().Refreshing.Lent = later
	for _, b := range blocks {
		taken := 0
		for part := range slices.Chunk(b.Hosts, maxCandidates) {
			if c.tx.State().Full(2) {
				b.Take(taken)
				return nil
			}
			if err := queueEntries(c, part, later); err != nil {
				return err
			}
			taken += len(part)
		}
		b.Take(taken)
	}
	return nil
}

// queueEntries queues hosts for scrapers, and schedules their next check.
func queueEntries(c *call, ids []int64, next epoch.Seconds) error {
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h == nil {
			continue
		}
		h.Watch(next)
		if h.Lease == 0 {
			if err := c.queue(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// statsDue sets the counts of refreshes, and of the hosts that are due for one.
func statsDue(c *call, stats *frontier.Stats) error {
	stats.Refreshed = c.tx.State().Refreshing.Sent
	if c.tx.State().Refreshing.Day != c.today() {
		stats.Refreshed = 0
	}
	stats.OldestDue[frontier.EntryLane] = c.tx.State().Refreshing.Since(c.seconds()).Millis()
	n, second, err := c.tx.CountDue()
	if err != nil {
		return err
	}
	stats.Due[frontier.EntryLane] = n
	if first := second.Millis(); n > 0 && (stats.OldestDue[frontier.EntryLane] == 0 ||
		first < stats.OldestDue[frontier.EntryLane]) {
		stats.OldestDue[frontier.EntryLane] = first
	}
	return nil
}

// watch schedules a check of the host if its first entry point is due earlier than before the entry points changed.
// before is that earlier second, or -1 if there was none.
func (c *call) watch(h *store.Host, before epoch.Seconds) {
	if first := h.NextDue(); first >= 0 && (before < 0 || first < before) {
		c.scheduleCheck(h, c.slot(first.Millis()))
	}
}

// scheduleCheck schedules a check of the host.
func (c *call) scheduleCheck(h *store.Host, second epoch.Seconds) {
	h.Watch(second)
	if alarm := max(second.Millis(), c.now.Add(c.settings.tickSpacing())); c.settings.PerMinute > 0 &&
		(c.alarm == 0 || alarm < c.alarm) {
		c.alarm = alarm
	}
}

// retries are the waits after one, two, three and more failures of an entry point in a row.
var retries = [...]time.Duration{time.Hour, 6 * time.Hour, day, 7 * day}

// recordCheck records an answer of an entry point, and schedules its next refresh. items is the number of new items,
// or store.Unknown.
func (c *call) recordCheck(e *store.Entry, r *frontier.Result, items int) (changed bool) {
	now := c.seconds()
	e.LastStatus, e.Tried = int64(r.Status), 0
	failed := store.FailedStatus(r.Status)
	changed = !failed && r.Status != 304 && items != 0 && e.Differs(r.ETag, r.SHA256)
	if failed {
		wait := retries[min(e.Failures, int64(len(retries)-1))]
		e.Failures++
		e.Due = now.Add(min(wait, c.settings.MaxRefresh))
	} else {
		e.Failures = 0
		if changed {
			e.ChangedAt = now
		} else {
			items = 0
		}
		e.Interval = c.bound(e.Method, nextInterval(c, e, items))
		e.Due = now.Add(e.Interval)
	}
	if !failed && r.Status != 304 {
		e.SetValidators(r.ETag, r.LastModified, r.SHA256)
	}
	e.Checks = append(e.Checks, frontier.Check{At: now, Status: r.Status, Changed: changed})
	if n := len(e.Checks) - store.MaxChecks; n > 0 {
		e.Checks = slices.Delete(e.Checks, 0, n)
	}
	return changed
}

// patience is the summed waiting time of new items at which an entry point is refreshed, in units of MinRefresh. With
// three, as many refreshes find articles a quarter sooner than with the rule for whole domains in nextInterval
// (rhythm_test.go).
const patience = 3

// nextInterval returns the interval of an entry point after a refresh that found new items. At a rate r, the items of
// an interval t have together waited r·t²/2 when they are found. The same bound on that for all entry points finds
// items soonest on average. A whole domain lists no items: its interval becomes 20 % shorter after a change, and else
// 50 % longer.
func nextInterval(c *call, e *store.Entry, items int) time.Duration {
	switch {
	case e.Method != frontier.MethodCollect:
		since := e.Interval
		if at := e.LastRead(); at > 0 {
			since = c.now.Sub(at)
		}
		e.Rhythm.Observe(since, e.Interval, items)
		return intervalOf(&e.Rhythm, c.settings.MinRefresh)
	case items != 0:
		return e.Interval * 4 / 5
	}
	return e.Interval * 3 / 2
}

func intervalOf(r *store.Rhythm, least time.Duration) time.Duration {
	return time.Duration(math.Sqrt(2 * patience * float64(least) * float64(r.Gap())))
}

// collectTimes is the longest interval of a whole domain, in units of MaxRefresh. A collection costs many requests, a
// refresh without changes only one.
const collectTimes = 12

// bound keeps the interval of an entry point within the settings.
func (c *call) bound(method string, interval time.Duration) time.Duration {
	most := c.settings.MaxRefresh
	if method == frontier.MethodCollect {
		most *= collectTimes
	}
	return min(max(interval.Truncate(time.Second), c.settings.MinRefresh, time.Second), most)
}

// shownChange reports whether its contract should show a change of an entry point: it began to fail or works again, or
// its interval halved or doubled.
func shownChange(s, now frontier.EntryState) bool {
	return (s.Failures >= frontier.FailuresShown) != (now.Failures >= frontier.FailuresShown) ||
		bits.Len64(uint64(s.Interval)) != bits.Len64(uint64(now.Interval))
}
