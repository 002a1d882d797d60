package frontier

import (
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// Which host has an entry point that is due is found in the table due: blocks of ids of hosts by the
// second at which the host is to be looked at, key = second << 14 | number of the block. Every host
// with entry points has a pointer there that is not later than its first entry point, but for the
// rounding of slot. Pointers are hints: Tick looks at the host itself and gives the pointer its next
// second, many in one write, and a host that has two loses one where they meet. So a refresh moves
// no pointer, and writes only the host's row: once when it begins, once when it ends.

// MethodCollect is the entry point that stands for a whole domain: when it is due, the domain is
// collected again. Its URL is that of robots.txt, with which a collection begins.
const MethodCollect = "collect"

// Bounds of refreshing.
const (
	maxTickHosts   = 2000 // that one tick looks at
	maxTickBlocks  = maxTickHosts/maxBlock + 1
	maxLookAgain   = 900    // seconds after which a message that was not answered is sent again
	minLookAgain   = 2      // the same, where intervals are short
	collectAgain   = 4      // times as long for a whole domain
	excludedAgain  = 21_600 // seconds after which a domain that operators excluded is looked at again, or a host that scrapers refresh
	maxTickSpacing = 60_000 // ms between two ticks
	minTickSpacing = 1000   // the same, where intervals are short
)

// refresh adds the messages for the entry points that are due: at most one of a host, and not more than
// the settings allow. One whose refresh does not end is given again. What operators excluded, and hosts that
// somebody has, are left for later.
func (c *call) refresh(tick *Tick) error {
	if c.settings.PerMinute <= 0 {
		return nil
	}
	r := &c.state.refreshing
	if today := c.seconds() / 86_400; r.day < today || r.day > today+1 { // a clock may go back, over midnight or from far ahead
		r.day, r.sent = today, 0
	}
	t := &ticking{c: c, seen: map[int64]bool{}, moved: map[int64][]int64{}}
	if err := t.run(); err != nil {
		return err
	}
	r.behind(c.seconds(), &t.late)
	for _, m := range t.messages {
		tick.Messages = append(tick.Messages, contract.Encode(m))
	}
	at, err := t.next()
	if at > 0 {
		tick.AlarmAt = min(tick.AlarmAt, at)
	}
	return err
}

// refreshing is what the shard counts of its refreshes.
type refreshing struct {
	day   int64 // since 1970, in UTC
	sent  int64 // messages on that day
	total int64 // messages since the beginning
	late
	given int64 // refreshes since the last tick that gave any, its own included
	lent  int64 // the last second to which hosts that are due were moved while scrapers were given them; 0: none were
}

func (r *refreshing) counters() []*int64 {
	return []*int64{&r.day, &r.sent, &r.oldest, &r.total, &r.given, &r.lent, &r.at, &r.until}
}

// late is how late the shard is with its refreshes, by the entry point that had been due longest when it was given.
// That counts until it is given again if its refresh does not end: else it would be late at that tick alone.
type late struct {
	oldest int64 // since when it was due, in seconds; 0: none is late
	at     int64 // when it was given
	until  int64 // for how long that counts
}

// behind takes over how late a tick was, unless one before was later.
func (l *late) behind(now int64, tick *late) {
	if now >= l.until || now < l.at || tick.at-tick.oldest >= l.at-l.oldest && tick.oldest > 0 {
		*l = *tick
	}
}

// since is since when something is due, in seconds; 0 when nothing is. Later than at the last tick it may be or not.
func (l *late) since(now int64) int64 {
	if l.oldest == 0 || now >= l.until {
		return 0
	}
	return now - (l.at - l.oldest)
}

// count counts refreshes that are given.
func (r *refreshing) count(n int) {
	r.sent += int64(n)
	r.total += int64(n)
	r.given += int64(n)
}

// ticking is a tick at work.
type ticking struct {
	c        *call
	seen     map[int64]bool    // hosts
	moved    map[int64][]int64 // hosts by the second at which they are to be looked at
	messages []contract.RefreshMessage
	late     late
	left     bool // hosts that are due, for the next tick
}

// perTick is how many refreshes may be given from one tick to the next.
func (c *call) perTick() int64 {
	return max((c.settings.PerMinute*c.settings.tickSpacing()+59_999)/60_000, 1)
}

// budget is how many refreshes may be given now, by this tick or in place of one.
func (c *call) budget() int {
	n := c.perTick()
	if c.settings.PerDay > 0 {
		n = min(n, c.settings.PerDay-c.state.refreshing.sent)
	}
	return int(max(n, 0))
}

// tickSpacing is the time between two ticks, in ms: a minute, less where intervals are short.
func (s *Settings) tickSpacing() int64 {
	return min(max(s.MinRefresh*1000/90, minTickSpacing), maxTickSpacing)
}

// lookAgain is after how many seconds a message that was not answered is sent again.
func (s *Settings) lookAgain(method string) int64 {
	again := min(max(s.MinRefresh/6, minLookAgain), maxLookAgain)
	if method == MethodCollect {
		again *= collectAgain
	}
	return again
}

func (t *ticking) run() error {
	c := t.c
	budget := c.budget()
	until := max(c.seconds(), c.state.refreshing.lent)
	rows, err := c.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(until+1), int64(maxTickBlocks))
	if err != nil {
		return err
	}
	blocks := map[int64][]byte{}
	for looked := 0; rows.Next(); {
		key, data := rows.Int(), rows.Blob()
		if looked >= maxTickHosts || len(t.messages) >= budget {
			t.left = true
			break
		}
		ids := make([]int64, 0, len(data)/idBytes)
		for at := 0; at+idBytes <= len(data); at += idBytes {
			ids = append(ids, idAt(data, at))
		}
		looked += len(ids)
		taken, err := t.look(ids, budget)
		if err != nil {
			return err
		}
		if taken < len(ids) {
			t.left = true
		}
		blocks[key] = slices.Clone(data[taken*idBytes:])
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := c.writeData("due", blocks); err != nil { // move must see what was taken out
		return err
	}
	if t.left = t.left || len(blocks) == maxTickBlocks; !t.left {
		c.state.refreshing.lent = 0
	}
	if len(t.messages) > 0 {
		c.state.refreshing.given = 0
		c.state.refreshing.count(len(t.messages))
	}
	return c.moveDue(t.moved)
}

// look decides about hosts until there are as many messages as the budget allows.
func (t *ticking) look(ids []int64, budget int) (taken int, err error) {
	c := t.c
	hosts, err := c.loadWithDomains(ids)
	if err != nil {
		return 0, err
	}
	for i, h := range hosts {
		if len(t.messages) >= budget {
			return i, nil
		}
		if h == nil || t.seen[h.id] {
			continue
		}
		t.seen[h.id] = true
		if err := h.unpackEntries(); err != nil {
			return 0, err
		}
		if len(h.entries) > 0 {
			at := t.decide(h)
			t.moved[at] = append(t.moved[at], h.id)
		}
	}
	return len(hosts), nil
}

// decide gives a message for a host, if one of its entry points is due, and the second at which the
// host is to be looked at next.
func (t *ticking) decide(h *host) (at int64) {
	c := t.c
	m := c.domains[h.domain]
	busy := max(h.leaseEnds, m.closed(c.now), h.claimEnds)
	e := c.first(h, nil)
	switch {
	case h.excluded || m.excluded || e == nil || !c.owns(m.name):
		return c.seconds() + excludedAgain
	case c.goesAt(e) > c.seconds():
		return c.slot(c.goesAt(e) * 1000)
	case max(busy, c.freeAt(h)) > c.now: // its owner may be done with it long before the end of the time
		busy = min(busy, c.now+1000*c.settings.lookAgain(e.method))
		return c.slot(max(busy, c.freeAt(h), c.now+c.settings.tickSpacing()))
	}
	if t.late.oldest == 0 || e.due < t.late.oldest {
		again := c.settings.lookAgain(e.method) + 2*c.settings.tickSpacing()/1000
		t.late = late{e.due, c.seconds(), c.seconds() + again}
	}
	t.messages = append(t.messages, contract.RefreshMessage{Refresh: contract.Refresh{
		Domain: m.name, URL: h.url(&e.page), Method: e.method, ETag: e.etag, LastModified: e.modified,
		SHA256: e.hexDigest(), Partition: c.partition(h, &e.page), QueuedAt: c.now,
	}})
	at = c.seconds() + c.settings.lookAgain(e.method)
	if other := c.first(h, e); e.method == MethodCollect && other != nil && c.goesAt(other) < at { // it waits for the collection, no longer
		e.tried = c.seconds()
		c.change(h)
	}
	return at
}

// first gives the entry point of a host that goes first, but for one; nil when operators excluded all of them.
func (c *call) first(h *host, but *entry) *entry {
	var first *entry
	for i := range h.entries {
		e := &h.entries[i]
		if e != but && (first == nil || c.goesAt(e) < c.goesAt(first)) && !c.state.excludes.URL(h.url(&e.page)) {
			first = e
		}
	}
	return first
}

// goesAt is from when on an entry point may be refreshed, in seconds: it is due then, or a refresh of it that
// has not ended began so long ago that others of its host had their turn.
func (c *call) goesAt(e *entry) int64 {
	if e.tried < e.due {
		return e.due
	}
	return e.tried + c.settings.lookAgain(e.method)
}

// next gives when to tick again, in ms; 0 when nothing will be due.
func (t *ticking) next() (int64, error) {
	c := t.c
	soon := c.now + c.settings.tickSpacing()
	if c.budget() <= 0 { // for today
		return max((c.seconds()/86_400+1)*86_400_000, soon), nil
	}
	if t.left {
		return soon, nil
	}
	rows, err := c.db.Run(`SELECT min(key) FROM due`)
	if err != nil || !rows.Next() {
		return 0, err
	}
	if key := rows.Int(); key > 0 {
		return max(dueSecond(key)*1000, soon), nil
	}
	return 0, nil
}

// queueDue queues for scrapers the hosts whose entry points are due, if the shard does not refresh them
// itself. It did before, perhaps, or will again: they keep a pointer.
func (c *call) queueDue() error {
	if c.settings.PerMinute > 0 {
		return nil
	}
	rows, err := c.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(c.seconds()+1), int64(maxTickBlocks))
	if err != nil {
		return err
	}
	var ids []int64
	blocks := map[int64][]byte{}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		for at := 0; at+idBytes <= len(data); at += idBytes {
			ids = append(ids, idAt(data, at))
		}
		blocks[key] = nil
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return err
	}
	hosts, err := c.loadWithDomains(ids)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h != nil && h.lease == 0 {
			if err := c.queue(h); err != nil {
				return err
			}
		}
	}
	if err := c.flushQueue(); err != nil { // the selector reads what is stored
		return err
	}
	if err := c.writeData("due", blocks); err != nil {
		return err
	}
	later := c.seconds() + excludedAgain
	c.state.refreshing.lent = later
	return c.moveDue(map[int64][]int64{later: ids})
}

// statsDue counts the hosts that are due for a refresh.
func (c *call) statsDue(stats *Stats) error {
	stats.Refreshed = c.state.refreshing.sent
	if c.state.refreshing.day != c.seconds()/86_400 {
		stats.Refreshed = 0
	}
	stats.OldestDue[entryLane] = c.state.refreshing.since(c.seconds()) * 1000
	rows, err := c.db.Run(`SELECT coalesce(sum(length(data)), 0), coalesce(min(key), 0) FROM due WHERE key < ?1`, dueKey(c.seconds()+1))
	if err != nil || !rows.Next() {
		return err
	}
	stats.Due[entryLane] = rows.Int() / idBytes
	if first := dueSecond(rows.Int()) * 1000; first > 0 && (stats.OldestDue[entryLane] == 0 || first < stats.OldestDue[entryLane]) {
		stats.OldestDue[entryLane] = first
	}
	return nil
}

// ---- pointers

func dueKey(second int64) int64 { return second << blockBits }

func dueSecond(key int64) int64 { return key >> blockBits }

// watch makes sure that a host is looked at when its first entry point is due. before is when that was
// before the entry points changed, in seconds; -1 when there was none.
func (c *call) watch(h *host, before int64) {
	if first := h.nextDue(); first >= 0 && (before < 0 || first < before) {
		c.lookAt(h, c.slot(first*1000))
	}
}

// lookAt has a host looked at in a second.
func (c *call) lookAt(h *host, second int64) {
	c.watched[second] = append(c.watched[second], h.id)
	if alarm := max(second*1000, c.now+c.settings.tickSpacing()); c.settings.PerMinute > 0 && (c.alarm == 0 || alarm < c.alarm) {
		c.alarm = alarm
	}
}

// nextDue is when the first entry point of a host is due, in seconds; -1 when it has none.
func (h *host) nextDue() int64 {
	first := int64(-1)
	for i := range h.entries {
		if due := h.entries[i].due; first < 0 || due < first {
			first = due
		}
	}
	return first
}

// moveDue adds pointers to hosts, unless the last block of their second has them.
func (c *call) moveDue(hosts map[int64][]int64) error {
	if len(hosts) == 0 {
		return nil
	}
	var firsts []int64
	for _, second := range sortedKeys(hosts) {
		firsts = append(firsts, dueKey(second))
	}
	rows, err := c.db.Run(`SELECT j.value, d.key, d.data FROM json_each(?1) j LEFT JOIN due d ON d.key = (SELECT max(key) FROM due WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(firsts))
	if err != nil {
		return err
	}
	changed := map[int64][]byte{}
	for rows.Next() {
		first, key, block := rows.Int(), rows.Int(), slices.Clone(rows.Blob())
		if block == nil {
			key = first
		}
		there := map[int64]bool{}
		for at := 0; at+idBytes <= len(block); at += idBytes {
			there[idAt(block, at)] = true
		}
		for _, id := range hosts[dueSecond(first)] {
			if there[id] {
				continue
			}
			there[id] = true
			if len(block) >= maxBlock*idBytes {
				if key++; dueSecond(key) != dueSecond(first) {
					return errFull
				}
				block = nil
			}
			block = appendID(block, id)
			changed[key] = block
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.writeData("due", changed)
}
