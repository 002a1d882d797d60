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

// Bounds of refreshing.
const (
	maxTickHosts = 2000             // that one tick looks at
	maxLookAgain = 15 * time.Minute // after which a message that was not answered is sent again
	minLookAgain = 2 * time.Second  // the same, where intervals are short
	collectAgain = 4                // times as long for a whole domain
	// before the next look at an excluded domain, or at a host that scrapers refresh
	excludedAgain  = 6 * time.Hour
	maxQueued      = day         // after which a message is taken for lost though the queue has older ones
	maxTickSpacing = time.Minute // between two ticks
	minTickSpacing = time.Second // the same, where intervals are short
)

// queueRefreshes adds messages for due entry points: at most one a host, within the settings. An entry point whose
// refresh does not end is queued again, unless the message may still wait: oldest is the time of the queue's first.
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

// ticker is a tick at work.
type ticker struct {
	c       *call
	oldest  epoch.Seconds  // when the first message in the queue was sent; 0 if there is none
	seen    map[int64]bool // hosts
	due     []contract.Refresh
	overdue store.Overdue
	left    bool // hosts that are due, for the next tick
}

// perTick is the number of refreshes may be given from one tick to the next.
func perTick(c *call) int64 {
	return max((c.settings.PerMinute*c.settings.tickSpacing().Milliseconds()+59_999)/60_000, 1)
}

// refreshBudget is the number of refreshes may be given now, by this tick or in place of one.
func refreshBudget(c *call) int {
	n := perTick(c)
	if c.settings.PerDay > 0 {
		n = min(n, c.settings.PerDay-c.tx.State().Refreshing.Sent)
	}
	return int(max(n, 0))
}

// tickSpacing is the time between two ticks: a minute, less where intervals are short.
func (s *Settings) tickSpacing() time.Duration {
	return min(max(s.MinRefresh/90, minTickSpacing), maxTickSpacing)
}

// lookAgain is after how long a message that was not answered is sent again.
func (s *Settings) lookAgain(method string) time.Duration {
	again := min(max((s.MinRefresh/6).Truncate(time.Second), minLookAgain), maxLookAgain)
	if method == frontier.MethodCollect {
		again *= collectAgain
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
		if looked >= maxTickHosts || len(t.due) >= budget {
			t.left = true
			break
		}
		looked += len(b.Hosts)
		taken, err := t.look(b.Hosts, b.Second, budget)
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

// look decides about hosts that were to be checked at second, until as many entry points are due as the budget allows.
func (t *ticker) look(ids []int64, second epoch.Seconds, budget int) (taken int, err error) {
	c := t.c
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return 0, err
	}
	for i, h := range hosts {
		if len(t.due) >= budget {
			return i, nil
		}
		if h == nil || t.seen[h.ID] {
			continue
		}
		t.seen[h.ID] = true
		if err := h.UnpackEntries(); err != nil {
			return 0, err
		}
		if len(h.Entries) == 0 {
			continue
		}
		owned, err := c.settle(h)
		if err != nil {
			return 0, err
		}
		if !owned {
			h.Watch(c.seconds().Add(excludedAgain))
			continue
		}
		h.Watch(t.decide(h, second))
	}
	return len(hosts), nil
}

// decide adds the due entry point of a host, and returns the second of its next check. This one was
// scheduled for second.
func (t *ticker) decide(h *store.Host, second epoch.Seconds) (at epoch.Seconds) {
	c := t.c
	m := h.Domain
	busy := max(h.LeaseEnds, m.Closed(c.now), h.ClaimEnds)
	e := c.first(h, nil)
	switch {
	case h.Excluded || m.Excluded || e == nil:
		return c.seconds().Add(excludedAgain)
	case c.goesAt(e) > c.seconds():
		return c.slot(c.goesAt(e).Millis())
	case max(busy, c.freeAt(h)) > c.now: // its owner may be done with it long before the end of the time
		busy = min(busy, c.now.Add(c.settings.lookAgain(e.Method)))
		return c.slot(max(busy, c.freeAt(h), c.now.Add(c.settings.tickSpacing())))
	}
	if t.overdue.Oldest == 0 || e.Due < t.overdue.Oldest {
		again := c.settings.lookAgain(e.Method) + 2*c.settings.tickSpacing()
		t.overdue = store.Overdue{Oldest: e.Due, At: c.seconds(), Until: c.seconds().Add(again)}
	}
	if t.waits(e, second) { // which is overdue as well: the queue stands still
		return c.seconds().Add(c.settings.lookAgain(e.Method))
	}
	t.due = append(t.due, contract.Refresh{
		Domain: m.Name, URL: h.URL(&e.Page), Method: e.Method, ETag: e.Etag, LastModified: e.Modified,
		SHA256: e.HexDigest(), Partition: c.partition(h, &e.Page), QueuedAt: c.now,
	})
	at = c.seconds().Add(c.settings.lookAgain(e.Method))
	if c.seconds().Sub(e.Due) >= maxQueued {
		at = c.seconds().Add(excludedAgain)
	}
	// it waits for the collection, no longer
	if other := c.first(h, e); e.Method == frontier.MethodCollect && other != nil && c.goesAt(other) < at {
		e.Tried = c.seconds()
		h.Change()
	}
	return at
}

// waits reports whether a message for the entry point may still wait in the queue, by the time of the check that
// followed it.
func (t *ticker) waits(e *store.Entry, check epoch.Seconds) bool {
	c := t.c
	sent := check.Add(-c.settings.lookAgain(e.Method))
	return sent >= e.Due && 0 < t.oldest && t.oldest <= sent && c.seconds().Sub(e.Due) < maxQueued
}

// first returns the entry point of a host that goes first, but for one; nil when operators excluded all of them.
func (c *call) first(h *store.Host, but *store.Entry) *store.Entry {
	var first *store.Entry
	for i := range h.Entries {
		e := &h.Entries[i]
		if e != but && (first == nil || c.goesAt(e) < c.goesAt(first)) && !c.tx.State().Excludes.URL(h.URL(&e.Page)) {
			first = e
		}
	}
	return first
}

// goesAt returns when an entry point may be refreshed: it is due then, or a refresh of it that
// has not ended began so long ago that others of its host had their turn.
func (c *call) goesAt(e *store.Entry) epoch.Seconds {
	if e.Tried < e.Due {
		return e.Due
	}
	return e.Tried.Add(c.settings.lookAgain(e.Method))
}

// next returns when to tick again; 0 when nothing will be due.
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

// queueDue queues for scrapers the hosts whose entry points are due, if the shard does not refresh them
// itself. It did before, perhaps, or will again: they keep a pointer.
func queueDue(c *call) error {
	if c.settings.PerMinute > 0 {
		return nil
	}
	blocks, _, err := c.tx.DueHosts(c.seconds(), maxTickHosts)
	if err != nil || len(blocks) == 0 {
		return err
	}
	var ids []int64
	for _, b := range blocks {
		ids = append(ids, b.Hosts...)
		b.Take(len(b.Hosts))
	}
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return err
	}
	later := c.seconds().Add(excludedAgain)
	c.tx.State().Refreshing.Lent = later
	for _, h := range hosts {
		if h == nil {
			continue
		}
		h.Watch(later)
		if h.Lease == 0 {
			if err := c.queue(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// statsDue counts the hosts that are due for a refresh.
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

// watch makes sure that a host is checked when its first entry point is due. before is when that was
// before the entry points changed; -1 when there was none.
func (c *call) watch(h *store.Host, before epoch.Seconds) {
	if first := h.NextDue(); first >= 0 && (before < 0 || first < before) {
		c.lookAt(h, c.slot(first.Millis()))
	}
}

// lookAt schedules a check of the host.
func (c *call) lookAt(h *store.Host, second epoch.Seconds) {
	h.Watch(second)
	if alarm := max(second.Millis(), c.now.Add(c.settings.tickSpacing())); c.settings.PerMinute > 0 &&
		(c.alarm == 0 || alarm < c.alarm) {
		c.alarm = alarm
	}
}

// retries are the times after which an entry point is asked again that failed once, twice, three
// times in a row; then it is once a week.
var retries = [...]time.Duration{time.Hour, 6 * time.Hour, day, 7 * day}

// check records an answer, with the number of items that are new or store.Unknown, and chooses when the entry point is
// asked next.
func (c *call) check(e *store.Entry, r *frontier.Result, items int) (changed bool) {
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

// patience is the sum of the times that new items may have waited when an entry point is fetched again, in units of
// MinRefresh. With three, articles are found sooner than by the rule that makes an interval a fifth shorter after a
// change and half as long again otherwise: a quarter sooner for as many looks (rhythm_test.go).
const patience = 3

// nextInterval chooses the interval of an entry point after a look that found new items. Items come at a rate r, so
// those of an interval t have waited r·t²/2 together when they are found; with the same bound for all, a number of
// looks finds items as soon as possible on average. For a whole domain, which lists nothing, it is 20 % shorter
// when something changed, and else 50 % longer.
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

// collectTimes is the number of times as long as MaxRefresh a whole domain may be left alone: it costs many
// requests, where an entry point that has not changed costs one.
const collectTimes = 12

// bound keeps the interval of an entry point within the settings.
func (c *call) bound(method string, interval time.Duration) time.Duration {
	most := c.settings.MaxRefresh
	if method == frontier.MethodCollect {
		most *= collectTimes
	}
	return min(max(interval.Truncate(time.Second), c.settings.MinRefresh, time.Second), most)
}

// shownChange reports whether an entry point has changed so much that its contract may have to say so: it fails, or
// works again, or changes twice or half as often.
func shownChange(s, now frontier.EntryState) bool {
	return (s.Failures >= frontier.FailuresShown) != (now.Failures >= frontier.FailuresShown) ||
		bits.Len64(uint64(s.Interval)) != bits.Len64(uint64(now.Interval))
}
