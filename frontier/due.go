package frontier

import (
	"encoding/hex"
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
	maxTickHosts   = 2000    // that one tick looks at
	maxLookAgain   = 900     // seconds after which a message that was not answered is sent again
	minLookAgain   = 2       // the same, where intervals are short
	collectAgain   = 4       // times as long for a whole domain
	excludedAgain  = 21_600  // seconds after which a domain that operators excluded is looked at again
	maxTickSpacing = 60_000  // ms between two ticks
	minTickSpacing = 1000    // the same, where intervals are short
	claimTime      = 120_000 // ms for one refresh
	claimWait      = 30_000  // ms for which a refresh waits for its host
	maxNewPages    = 1000    // that one refresh may put
)

// refresh adds the messages for the entry points that are due: at most one of a host, and not more than
// the settings allow. One whose refresh does not end is given again. What operators excluded, and hosts that
// somebody has, are left for later.
func (c *call) refresh(tick *Tick) error {
	if c.settings.PerMinute <= 0 {
		return nil
	}
	r := &c.state.refreshing
	if today := c.seconds() / 86_400; r.day < today {
		r.day, r.sent = today, 0
	}
	t := &ticking{c: c, seen: map[int64]bool{}, moved: map[int64][]int64{}}
	if err := t.run(); err != nil {
		return err
	}
	r.oldest = t.oldest
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
	day    int64 // since 1970, in UTC
	sent   int64 // messages on that day
	total  int64 // messages since the beginning
	oldest int64 // since when the entry point of the last messages was due that had been due longest, in seconds
}

func (r *refreshing) counters() []*int64 { return []*int64{&r.day, &r.sent, &r.oldest, &r.total} }

// ticking is a tick at work.
type ticking struct {
	c        *call
	seen     map[int64]bool    // hosts
	moved    map[int64][]int64 // hosts by the second at which they are to be looked at
	messages []contract.RefreshMessage
	oldest   int64 // since when the first of them is due, in seconds
	left     bool  // hosts that are due, for the next tick
}

// budget is how many messages this tick may give.
func (t *ticking) budget() int {
	s := &t.c.settings
	n := max((s.PerMinute*s.tickSpacing()+59_999)/60_000, 1)
	if s.PerDay > 0 {
		n = min(n, s.PerDay-t.c.state.refreshing.sent)
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
	budget := t.budget()
	rows, err := c.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(c.seconds()+1), int64(maxTickHosts/maxBlock+1))
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
	c.state.refreshing.sent += int64(len(t.messages))
	c.state.refreshing.total += int64(len(t.messages))
	return c.moveDue(t.moved)
}

// look decides about hosts until there are as many messages as the budget allows.
func (t *ticking) look(ids []int64, budget int) (taken int, err error) {
	c := t.c
	hosts, err := c.loadHosts(ids)
	if err != nil {
		return 0, err
	}
	if err := c.domainsOf(hosts); err != nil {
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
	busy := max(h.free(), h.leaseEnds, m.closed(c.now), h.claimEnds)
	e := h.firstDue(c)
	switch {
	case h.excluded || m.excluded || e == nil || !c.owns(m.name):
		return c.seconds() + excludedAgain
	case e.due > c.seconds():
		return c.slot(e.due * 1000)
	case busy > c.now:
		return c.slot(max(busy, c.now+c.settings.tickSpacing()))
	}
	if t.oldest == 0 || e.due < t.oldest {
		t.oldest = e.due
	}
	t.messages = append(t.messages, contract.RefreshMessage{Refresh: contract.Refresh{
		Domain: m.name, URL: h.url(&e.page), Method: e.method, ETag: e.etag, LastModified: e.modified,
		SHA256: e.hexDigest(), Partition: c.partition(h, &e.page), QueuedAt: c.now,
	}})
	return c.seconds() + c.settings.lookAgain(e.method)
}

// firstDue gives the entry point that has been due longest, nil when operators excluded all of them.
func (h *host) firstDue(c *call) *entry {
	var first *entry
	for i := range h.entries {
		e := &h.entries[i]
		if (first == nil || e.due < first.due) && !c.state.excludes.URL(h.url(&e.page)) {
			first = e
		}
	}
	return first
}

// next gives when to tick again, in ms; 0 when nothing will be due.
func (t *ticking) next() (int64, error) {
	c := t.c
	soon := c.now + c.settings.tickSpacing()
	if t.budget() <= 0 { // for today
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
	rows, err := c.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(c.seconds()+1), int64(maxTickHosts/maxBlock+1))
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
	hosts, err := c.loadHosts(ids)
	if err != nil {
		return err
	}
	if err := c.domainsOf(hosts); err != nil {
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
	return c.moveDue(map[int64][]int64{later: ids})
}

// statsDue counts the hosts that are due for a refresh.
func (c *call) statsDue(stats *Stats) error {
	stats.Refreshed = c.state.refreshing.sent
	if c.state.refreshing.day != c.seconds()/86_400 {
		stats.Refreshed = 0
	}
	stats.OldestDue[entryLane] = c.state.refreshing.oldest * 1000
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
		at := c.slot(first * 1000)
		c.watched[at] = append(c.watched[at], h.id)
		if alarm := max(at*1000, c.now+c.settings.tickSpacing()); c.settings.PerMinute > 0 && (c.alarm == 0 || alarm < c.alarm) {
			c.alarm = alarm
		}
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

// ---- one refresh

// RefreshRequest asks for an entry point's host, to refresh it.
type RefreshRequest struct {
	Domain string
	URL    string
	Owner  string // names one attempt
}

// Refreshing answers a RefreshRequest. Whoever was granted a refresh may ask the host for it, one request
// at a time at its delay, for Seconds; nobody else may meanwhile.
type Refreshing struct {
	Granted bool
	Over    bool  // there is nothing to do: it was refreshed meanwhile, removed or excluded
	RetryIn int64 // ms after which to ask again, when neither

	Seconds int64
	Host    HostState
	Entry   EntryState
	SHA256  string // of what it was when it was last read: the first 32 digits
	Since   int64  // ms: when it was last read, 0: it never was
	Type    string
	// Partition is the newest one of the entry point.
	Partition contract.Partition
}

// BeginRefresh gives the host of an entry point that is due to its refresh. It writes one row.
func (s *Shard) BeginRefresh(now int64, r RefreshRequest) (answer Refreshing, err error) {
	if r.Owner == "" || len(r.Owner) > maxOwner {
		return answer, contract.Invalid("owner", "an owner has 1 to %d bytes", maxOwner)
	}
	err = s.run(now, func(c *call) error {
		h, e, err := c.findEntry(r.Domain, r.URL)
		if err != nil {
			return err
		}
		if e == nil || e.due > c.seconds() || !c.owns(r.Domain) || h.excluded || c.domains[h.domain].excluded || c.state.excludes.URL(r.URL) {
			answer.Over = true
			return nil
		}
		if answer.RetryIn, err = c.refreshBusy(h); err != nil || answer.RetryIn > 0 {
			return err
		}
		answer = Refreshing{
			Granted: true, Seconds: claimTime / 1000,
			Host:  HostState{h.name, h.interval(), h.ready, h.blocked, h.robotsEnds, h.unresolved, h.excluded},
			Entry: e.state(), SHA256: e.hexDigest(), Since: e.lastRead(), Type: typeName(e.kind), Partition: c.partition(h, &e.page),
		}
		h.claim, h.claimEnds = claimOf(r.Owner), c.now+claimTime
		c.change(h)
		return c.claimDomain(h, r.Owner)
	})
	return answer, err
}

// refreshBusy is for how many ms a host cannot be refreshed, 0 when it can be now or soon. While
// scrapers have it they get no more hosts of the domain until the refresh had its turn.
func (c *call) refreshBusy(h *host) (int64, error) {
	m := c.domains[h.domain]
	if err := c.list(m); err != nil {
		return 0, err
	}
	collector := int64(0)
	if m.owner != "" && m.ownerEnds > c.now {
		collector = m.ownerEnds
	}
	leased := int64(0)
	if h.lease != 0 {
		leased = max(h.leaseEnds, c.now+1)
	}
	for _, a := range m.active {
		if len(m.active) >= c.settings.HostsPerDomain {
			leased = max(leased, a.ends)
		}
	}
	if leased > c.now && m.waitEnds <= leased {
		m.waitEnds = leased + waitGrace
		c.changeDomain(m)
	}
	until := max(collector, leased, h.claimEnds)
	if free := h.free(); free > c.now+claimWait {
		until = max(until, free)
	}
	return max(until-c.now, 0), nil
}

// claimDomain has a large domain, whose hosts a collector does not look at one by one, belong to the
// refresh as if it were a collection. It also ends the wait of refreshBusy.
func (c *call) claimDomain(h *host, owner string) error {
	m := c.domains[h.domain]
	if m.listed {
		m.owner, m.ownerEnds = owner, h.claimEnds
		c.changeDomain(m)
	}
	if m.waitEnds > c.now {
		m.waitEnds = 0
		c.changeDomain(m)
	}
	return nil
}

// claimOf is how a host's row names the owner of its refresh.
func claimOf(owner string) int64 { return int64(hash48(owner)) }

// findEntry gives an entry point with its host, nil when there is none.
func (c *call) findEntry(domain, url string) (*host, *entry, error) {
	l, ok := parse(url)
	if !ok {
		return nil, nil, contract.Invalid("url", "%.80q is not an http or https URL", url)
	}
	h, err := c.findHost(l.host)
	if err != nil || h == nil || !within(l.host, domain) {
		return nil, nil, err
	}
	if err := c.domainsOf([]*host{h}); err != nil {
		return nil, nil, err
	}
	if err := h.unpackEntries(); err != nil {
		return nil, nil, err
	}
	at := h.entry(hash48(l.path))
	if at < 0 || c.domains[h.domain].name != domain {
		return nil, nil, nil
	}
	return h, &h.entries[at], nil
}

// RefreshResult ends a refresh.
type RefreshResult struct {
	Domain string
	URL    string
	Owner  string

	// The answer. Skipped says that the entry point was not asked after all: it stays due.
	Skipped      bool
	Status       int // 0 when there was none
	ETag         string
	LastModified string
	SHA256       string // of the body, in hexadecimal
	Visit        Visit  // of the host

	Pages []NewPage // that it lists and the caller has not seen before, at most maxNewPages
}

// RefreshEnd answers a RefreshResult.
type RefreshEnd struct {
	Accepted  bool // false: the time was over, and nothing changed
	Changed   bool
	Entry     EntryState
	Interval  int64 // seconds
	DueAt     int64 // ms: when it is refreshed next
	Added     int   // pages that are new
	Announced int   // of them, those in the feed
}

// EndRefresh takes the outcome of a refresh and puts what it found, in one transaction: that of a refresh
// that found nothing writes one row.
func (s *Shard) EndRefresh(now int64, r RefreshResult) (answer RefreshEnd, err error) {
	if err := checkRange("pages", len(r.Pages), 0, maxNewPages); err != nil {
		return answer, err
	}
	if r.Status != 0 {
		if err := checkRange("status", r.Status, 100, 599); err != nil {
			return answer, err
		}
	}
	err = s.run(now, func(c *call) error {
		h, e, err := c.findEntry(r.Domain, r.URL)
		if err != nil || e == nil || h.claim != claimOf(r.Owner) || h.claimEnds <= c.now {
			return err
		}
		answer.Accepted = true
		since, partition := e.lastRead(), c.partition(h, &e.page)
		h.claim, h.claimEnds = 0, 0
		c.change(h)
		if m := c.domains[h.domain]; m.listed && m.owner == r.Owner {
			m.owner, m.ownerEnds = "", 0
			c.changeDomain(m)
		}
		if r.Visit.Host = h.name; r.Visit.RobotsExpires == 0 { // only robots.txt says what the host asks for
			r.Visit.Delay = h.delay
		}
		if err := c.visited(c.domains[h.domain], &r.Visit); err != nil {
			return err
		}
		if len(r.Pages) > 0 {
			put := Put{Domain: r.Domain, Pages: r.Pages}
			p := c.newPut(r.Domain, partition)
			p.since = since
			p.expect(&put)
			if err := c.preparePuts([]*putting{p}); err != nil {
				return err
			}
			if _, err := p.do(&put); err != nil {
				return err
			}
			answer.Added, answer.Announced = p.added, p.announced
		}
		if !r.Skipped {
			before := h.nextDue()
			if failedStatus(r.Status) { // others are counted by the tick, which writes the counters anyway
				c.state.faults++
			}
			// Many a feed is different at every request, if only by the time at which it was made.
			same := answer.Added+answer.Announced == 0
			answer.Changed = c.check(e, &Result{Status: r.Status, ETag: r.ETag, LastModified: r.LastModified, SHA256: r.SHA256, same: same})
			c.watch(h, before)
		}
		answer.Interval, answer.DueAt, answer.Entry = e.interval, e.due*1000, e.state()
		return nil
	})
	return answer, err
}

// state describes an entry point.
func (e *entry) state() EntryState {
	return EntryState{e.method, e.interval, e.etag, e.modified, int(e.lastStatus), e.changedAt * 1000, int(e.failures), e.checks, e.due * 1000}
}

// lastRead is when an entry point was last seen as it was, in ms; 0 when that is not known.
func (e *entry) lastRead() int64 {
	for _, k := range slices.Backward(e.checks) {
		if !failedStatus(k.Status) {
			return k.At * 1000
		}
	}
	return 0
}

func (e *entry) hexDigest() string { return hex.EncodeToString([]byte(e.digest)) }
