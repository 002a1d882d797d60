package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// Version is the version of the tables and records that this program writes. Migrations only add, so during a deploy
// the previous program can read the records of the next.
const Version = 5

// latestVersion is a version that will never be reached.
const latestVersion = 100

// oldestReader is the least version of a program that can work with what this one writes. Version 1 would take what is
// remembered of URLs for hashes, version 2 the rows of leased hosts for what they are, version 3 would find no visits,
// version 4 would take hosts for damaged, count announcements from those in the domains' rows on, and miss pointers and
// the last block of the feed.
const oldestReader = 5

// migrations are the statements by which version i becomes version i+1. No table has an index
// besides its integer key: an index entry costs as much as a row.
var migrations = [Version][]string{{
	`CREATE TABLE IF NOT EXISTS hosts (id INTEGER PRIMARY KEY, host TEXT NOT NULL, domain INTEGER NOT NULL, urls ` +
		`INTEGER NOT NULL, due INTEGER NOT NULL, blocked INTEGER NOT NULL, record BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL, record BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS parts (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS queue (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS leases (id INTEGER PRIMARY KEY, ends INTEGER NOT NULL, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS feed (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS changes (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS due (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS mirrors (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
},
	{}, // version 2 remembers what became of URLs
	{}, // version 3 has the records of leased hosts in the rows of their leases
	{}, // version 4 has the counters of visits in the row of the others, since a lease changes both
	// version 5 packs what is remembered of URLs, and has in the row of the counters announcements, which are newer
	// than those in the domains' rows, and pointers to hosts, and beside them the last block of the feed
	{`ALTER TABLE state ADD COLUMN feed BLOB`},
}

// Keys of the table state.
const (
	stateCounters = iota
	stateClasses
	statePatterns
	stateSnapshot   // the day of the last one
	stateRefreshing // counters of refreshes
	stateDeleted    // how far each log was deleted
	stateClassSets  // see ClassSet
	stateWalks      // see walk
	stateQuarantine // see QuarantineCounters
	stateSecret     // State.Secret
	stateWithheld   // State.Withheld
	stateUnderway   // State.Underway
	stateVisits     // State.Visits before version 4, which deletes the row
	stateWanting    // State.Wanting
	stateBorn       // State.Born and State.Ordered
	stateClaims     // State.claims
	stateRows
)

// State holds what a shard has once: its counters, its classes and the patterns of excluded URLs.
type State struct {
	Version, Reader int64 // of the writer; the least that may read
	Tail            string

	counts
	leaseState
	foundURLs
	snapshots

	Classes   []frontier.Class // the class with id i+1
	classSets [][]int64        // the set with id firstClassSet+i, in ascending order
	Patterns  []string
	Excludes  *contract.Exclusions

	Scrapers   []frontier.ScraperCounts
	Wanting    []Wanting // domains that want more pages
	Visits     VisitCounters
	Refreshing RefreshCounters
	Withheld   int64 // pages that were not announced since their domain had too many that day
	Quarantine QuarantineCounters
	walks      []walk // the latest last
	claims     claimList
	journal    journal
	announced  announcedList
	pointers   pendingList // of the queue
	due        pendingList // hosts whose entry points are to be checked
	deleted    deletedLogs

	stored [stateRows]string // as they were loaded
	loaded int64             // bytes of rows that the operation has loaded
}

// newState returns the state of an empty shard.
func newState() State {
	return State{pointers: pendingList{width: pointerLen, most: maxPendingPointers},
		due: pendingList{width: idBytes, most: maxPendingDue}}
}

// LimitPending replaces the limits of pointers that are in no block, for tests.
func (s *State) LimitPending(most int) { s.pointers.most, s.due.most = most, most }

// counts counts the rows of a shard and the outcomes of requests.
type counts struct {
	Hosts           int64
	URLs            int64 // pages that are not done, the leased ones included
	Entries         int64
	Leased          int64 // pages and entry points
	Done, Failed    int64
	Answers, Faults int64 // to requests for pages and entry points; those of no use

	AnswerDay, AnsweredToday int64 // the day of the last answer, since 1970, and how many it had
}

// Answer counts an answer that a scraper reported.
func (n *counts) Answer(today int64) {
	n.Answers++
	if n.AnswerDay != today {
		n.AnswerDay, n.AnsweredToday = today, 0
	}
	n.AnsweredToday++
}

// AnsweredOn returns how many answers today has.
func (n *counts) AnsweredOn(today int64) int64 {
	if n.AnswerDay != today {
		return 0
	}
	return n.AnsweredToday
}

// leaseState is the state that the next lease depends on.
type leaseState struct {
	Lease    int64        // number of the last lease
	Turn     int64        // of the selector
	FirstEnd epoch.Millis // no lease ends before
	Secret   []byte       // with which the shard seals its leases; empty until the first one
	Unsealed int64        // leases up to this number were given by a version without seals
}

// foundURLs counts the URLs that the feed announced lately, and the hosts that reports added today.
type foundURLs struct {
	lately          []foundHour // new URLs of the last hours, oldest first
	FoundDay, Found int64       // the last day on which reports added hosts, since 1970, and how many
}

// snapshots lists the snapshots of a shard.
type snapshots struct {
	Snapshot string           // the day of the last one; "" before the first one
	Underway UnderwaySnapshot // the one that is being stored
	Ordered  bool             // an operator wants one that begins after this
	Born     epoch.Millis     // of the database; 0 if a version made it that did not note it
}

// Wanting is a domain that wants more pages of its backlog.
type Wanting struct {
	Domain string
	Ask    epoch.Millis // when to ask for them
}

// UnderwaySnapshot is a snapshot of which some pages are stored.
type UnderwaySnapshot struct {
	Date  string
	Taken epoch.Millis // when it began
	Page  int          // the last that is stored
	Next  int64        // start of the next one
}

// counters begin the record. It goes on with lately, Scrapers and the answers of the day;
// what is added later stands behind that.
func (s *State) counters() []*int64 {
	return []*int64{&s.Version, &s.Reader, &s.Hosts, &s.URLs, &s.Entries, &s.Leased, &s.Done, &s.Failed, &s.Lease,
		&s.Turn, (*int64)(&s.FirstEnd), &s.Answers, &s.Faults,
		&s.FoundDay, &s.Found}
}

func (s *State) encode() (rows [stateRows][]byte) {
	for _, v := range s.counters() {
		rows[stateCounters] = appendUint(rows[stateCounters], *v)
	}
	rows[stateCounters] = appendString(rows[stateCounters], string(appendFound(nil, s.lately)))
	rows[stateCounters] = appendString(rows[stateCounters], string(appendScrapers(nil, s.Scrapers)))
	rows[stateCounters] = appendUint(appendUint(rows[stateCounters], s.AnswerDay), s.AnsweredToday)
	rows[stateCounters] = appendString(rows[stateCounters], string(s.journal.append(nil)))
	rows[stateCounters] = appendString(rows[stateCounters], string(s.Visits.append(nil)))
	rows[stateCounters] = appendString(rows[stateCounters], string(s.announced.append(nil)))
	rows[stateCounters] = appendString(rows[stateCounters], string(s.pointers.data))
	rows[stateCounters] = appendString(rows[stateCounters], string(s.due.data))
	rows[stateCounters] = append(rows[stateCounters], s.Tail...)
	for _, class := range s.Classes {
		rows[stateClasses] = appendString(appendString(rows[stateClasses], class.Country), class.Category)
	}
	rows[stateSnapshot] = []byte(s.Snapshot)
	if p := &s.Underway; p.Date != "" {
		rows[stateUnderway] = appendUint(appendUint(appendUint(nil, p.Taken), int64(p.Page)), p.Next)
		rows[stateUnderway] = append(rows[stateUnderway], p.Date...)
	}
	if s.Born > 0 || s.Ordered {
		ordered := int64(0)
		if s.Ordered {
			ordered = 1
		}
		rows[stateBorn] = appendUint(appendUint(nil, s.Born), ordered)
	}
	if s.Refreshing != (RefreshCounters{}) {
		for _, v := range s.Refreshing.counters() {
			rows[stateRefreshing] = appendUint(rows[stateRefreshing], *v)
		}
	}
	for _, w := range s.Wanting {
		rows[stateWanting] = appendUint(appendString(rows[stateWanting], w.Domain), w.Ask)
	}
	if s.deleted != (deletedLogs{}) {
		for _, v := range s.deleted.numbers() {
			rows[stateDeleted] = appendUint(rows[stateDeleted], *v)
		}
	}
	if s.Quarantine != (QuarantineCounters{}) {
		for _, v := range s.Quarantine.counters() {
			rows[stateQuarantine] = appendUint(rows[stateQuarantine], *v)
		}
	}
	for _, set := range s.classSets {
		rows[stateClassSets] = appendUint(rows[stateClassSets], int64(len(set)))
		for _, id := range set {
			rows[stateClassSets] = appendUint(rows[stateClassSets], id)
		}
	}
	for i := range s.walks {
		rows[stateWalks] = s.walks[i].append(rows[stateWalks])
	}
	for i := range s.claims {
		rows[stateClaims] = s.claims[i].append(rows[stateClaims])
	}
	if s.Withheld > 0 {
		rows[stateWithheld] = appendUint(nil, s.Withheld)
	}
	if len(s.Secret) > 0 {
		rows[stateSecret] = append(appendUint(nil, s.Unsealed), s.Secret...)
	}
	for _, p := range s.Patterns {
		rows[statePatterns] = appendString(rows[statePatterns], p)
	}
	return rows
}

func (s *State) decode(key int64, data []byte) error {
	d := decode(data)
	switch key {
	case stateCounters:
		for _, v := range s.counters() {
			*v = d.int()
			switch {
			case s.Reader > s.Version || s.Version > latestVersion: // no version requires a later one
				return ErrDamaged
			case s.Reader > Version: // the rest may differ
				return frontier.ErrNewer
			}
		}
		var err error
		if s.lately, err = decodeFound(d.string()); err != nil {
			return err
		}
		if d.at < len(d.text) {
			if s.Scrapers, err = decodeScrapers(d.string()); err != nil {
				return err
			}
		}
		if d.at < len(d.text) {
			s.AnswerDay, s.AnsweredToday = d.int(), d.int()
		}
		if d.at < len(d.text) && s.Version >= 3 {
			if s.journal, err = decodeJournal(d.string()); err != nil {
				return err
			}
		}
		if d.at < len(d.text) && s.Version >= 4 {
			visits := decode([]byte(d.string()))
			s.Visits.decode(visits)
			if visits.err != nil {
				return visits.err
			}
		}
		if d.at < len(d.text) && s.Version >= 5 {
			if s.announced, err = decodeAnnounced(d.string()); err != nil {
				return err
			}
		}
		if d.at < len(d.text) && s.Version >= 5 {
			if err = cmp.Or(s.pointers.decode(d.string()), s.due.decode(d.string())); err != nil {
				return err
			}
		}
		s.Tail = d.text[d.at:]
	case stateClasses:
		for d.at < len(d.text) {
			s.Classes = append(s.Classes, frontier.Class{Country: d.string(), Category: d.string()})
		}
	case statePatterns:
		for d.at < len(d.text) {
			s.Patterns = append(s.Patterns, d.string())
		}
	case stateSnapshot:
		if contract.IsDate(string(data)) { // else no day would be later
			s.Snapshot = string(data)
		}
	case stateUnderway:
		if len(data) > 0 {
			p := UnderwaySnapshot{Taken: d.millis(), Page: int(d.int()), Next: d.int()}
			if p.Date = d.text[d.at:]; contract.IsDate(p.Date) { // else it begins anew
				s.Underway = p
			}
		}
	case stateBorn:
		if len(data) > 0 {
			s.Born, s.Ordered = d.millis(), d.int() > 0
		}
	case stateRefreshing:
		for _, v := range s.Refreshing.counters() {
			if d.at < len(d.text) { // later versions append
				*v = d.int()
			}
		}
	case stateVisits:
		s.Visits.decode(d)
	case stateWanting:
		for d.at < len(d.text) {
			s.Wanting = append(s.Wanting, Wanting{d.string(), d.millis()})
		}
	case stateDeleted:
		for _, v := range s.deleted.numbers() {
			if d.at < len(d.text) { // later versions append
				*v = d.int()
			}
		}
	case stateQuarantine:
		for _, v := range s.Quarantine.counters() {
			if d.at < len(d.text) { // later versions append
				*v = d.int()
			}
		}
	case stateClassSets:
		for d.at < len(d.text) {
			set := make([]int64, d.count(1))
			for i := range set {
				set[i] = d.int()
			}
			s.classSets = append(s.classSets, set)
		}
	case stateWalks:
		for d.at < len(d.text) {
			s.walks = append(s.walks, d.walk())
		}
	case stateClaims:
		for d.at < len(d.text) {
			s.claims = append(s.claims, d.listedClaim())
			if l := &s.claims[len(s.claims)-1].claim; l.ClaimEnds.Sub(l.ClaimedAt) > maxClaim {
				d.fail()
			}
		}
	case stateWithheld:
		if len(data) > 0 {
			s.Withheld = d.int()
		}
	case stateSecret:
		if len(data) > 0 {
			s.Unsealed = d.int()
			s.Secret = slices.Clone(data[d.at:])
		}
	default:
		return nil
	}
	s.stored[key] = string(data)
	return d.err
}

// open loads the shard's state, and creates or migrates its tables.
func (c *Tx) open() error {
	rows, err := c.loadState()
	if err != nil {
		return err
	}
	s := &c.state
	isNew := true
	for rows.Next() {
		isNew = false
		key, data := rows.Int(), rows.Blob()
		err := s.decode(key, data)
		if errors.Is(err, ErrDamaged) {
			err = c.quarantine.replaceState(key, data)
		}
		if err != nil {
			return err
		}
	}
	if isNew {
		s.Born = c.now
		c.logs.begin()
	}
	for ; s.Version < Version; s.Version++ {
		for _, sql := range migrations[s.Version] {
			if _, err := c.db.Run(sql); err != nil && !strings.Contains(err.Error(), "duplicate column name") {
				return err // else the counters are older than the table
			}
		}
		s.Reader = oldestReader
	}
	s.Exclude(s.Patterns)
	return rows.Err()
}

// loadState returns the rows of the state. The table is missing in the first call only, which is not worth a statement
// in each.
func (c *Tx) loadState() (*Rows, error) {
	const load = `SELECT key, data FROM state`
	rows, err := c.db.Run(load)
	if err == nil || !strings.Contains(err.Error(), "no such table") { // as SQLite says it
		return rows, err
	}
	if _, err := c.db.Run(`CREATE TABLE state (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`); err != nil {
		return nil, err
	}
	return c.db.Run(load)
}

// Exclude replaces the patterns of excluded URLs, and compiles them.
func (s *State) Exclude(patterns []string) {
	list := make([]contract.Exclusion, len(patterns))
	for i, p := range patterns {
		list[i] = contract.Exclusion{Kind: contract.ExcludeURL, Value: p}
	}
	s.Patterns, s.Excludes = patterns, contract.NewExclusions(list)
}

// A pointer has 16 bits for a class or a set of classes.
const (
	maxClasses    = firstClassSet - 1 // further classes count to the last one
	firstClassSet = 1 << 15
	maxClassSets  = 1024
)

// Class returns the id of a class, or makes it.
func (s *State) Class(class frontier.Class) int64 {
	i := slices.Index(s.Classes, class)
	if i < 0 {
		if i = len(s.Classes); i == maxClasses {
			return maxClasses
		}
		s.Classes = append(s.Classes, class)
	}
	return int64(i + 1)
}

func (s *State) ClassOf(id int64) frontier.Class {
	if id < 1 || id > int64(len(s.Classes)) {
		return frontier.Class{}
	}
	return s.Classes[id-1]
}

// ClassSet returns the id by which pointers name a set of classes, or makes it: that of the class if there is one; 0,
// for which hosts must be loaded, if there are no more ids.
func (s *State) ClassSet(classes []int64) int64 {
	set := slices.Compact(slices.Sorted(slices.Values(classes)))
	switch len(set) {
	case 0:
		return 0
	case 1:
		return set[0]
	}
	i := slices.IndexFunc(s.classSets, func(known []int64) bool { return slices.Equal(known, set) })
	if i < 0 {
		if i = len(s.classSets); i == maxClassSets {
			return 0
		}
		s.classSets = append(s.classSets, set)
	}
	return int64(firstClassSet + i)
}

// setsWith returns the ids of the sets that have one of some classes.
func (s *State) setsWith(classes map[int64]bool) (ids []int64) {
	for i, set := range s.classSets {
		// one without is not known
		if len(set) == 0 || slices.ContainsFunc(set, func(id int64) bool { return classes[id] }) {
			ids = append(ids, int64(firstClassSet+i))
		}
	}
	return ids
}
