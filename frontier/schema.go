package frontier

import (
	"errors"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// version is that of the tables and records that this program writes. Migrations only add, so that
// for the minutes of a deploy the program before can work on with what the next one has written.
const version = 3

// oldestReader is the least version of a program that can work with what this one writes.
const oldestReader = 1

// ErrNewer is given when the shard was written by a version that this program cannot read.
var ErrNewer = errors.New("frontier: the shard was written by a newer version")

// migrations are the statements by which version i becomes version i+1. No table has an index
// besides its integer key: an index entry costs as much as a row.
var migrations = [version][]string{{
	`CREATE TABLE IF NOT EXISTS hosts (id INTEGER PRIMARY KEY, host TEXT NOT NULL, domain INTEGER NOT NULL, urls INTEGER NOT NULL, due INTEGER NOT NULL, blocked INTEGER NOT NULL, record BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL, record BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS parts (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS queue (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS leases (id INTEGER PRIMARY KEY, ends INTEGER NOT NULL, data BLOB NOT NULL)`,
}, {
	`CREATE TABLE IF NOT EXISTS feed (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS changes (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS contracts (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS due (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
}, {
	`CREATE TABLE IF NOT EXISTS mirrors (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
}}

// Keys of the table state.
const (
	stateCounters = iota
	stateClasses
	statePatterns
	stateSnapshot   // the day of the last one
	stateRefreshing // counters of refreshes
	stateDeleted    // how far each log was deleted
	stateRows
)

// state is what a shard has once: its counters, its classes and the patterns of excluded URLs.
type state struct {
	version, reader int64 // of the writer; the least that may read
	hosts           int64
	urls            int64 // pages that are not done, the leased ones included
	entries         int64
	leased          int64 // pages and entry points
	done, failed    int64
	lease           int64       // number of the last lease
	turn            int64       // of the selector
	firstEnd        int64       // no lease ends before, ms
	answers, faults int64       // to requests for pages and entry points; those of no use
	lately          []foundHour // new URLs of the last hours, oldest first
	foundDay, found int64       // the last day on which reports added hosts, since 1970, and how many
	tail            string

	classes  []Class // the class with id i+1
	patterns []string
	excludes *contract.Exclusions

	refreshing refreshing
	deleted    deletedLogs

	stored [stateRows]string // as they were loaded
}

// appendedCounters is the index of the first counter that records of earlier programs may lack.
const appendedCounters = 11

// counters begin the record. It goes on with lately; what is added later stands behind that.
func (s *state) counters() []*int64 {
	return []*int64{&s.version, &s.reader, &s.hosts, &s.urls, &s.entries, &s.leased, &s.done, &s.failed, &s.lease, &s.turn, &s.firstEnd, &s.answers, &s.faults,
		&s.foundDay, &s.found}
}

func (s *state) encode() (rows [stateRows][]byte) {
	for _, v := range s.counters() {
		rows[stateCounters] = appendUint(rows[stateCounters], *v)
	}
	rows[stateCounters] = appendString(rows[stateCounters], string(appendFound(nil, s.lately)))
	rows[stateCounters] = append(rows[stateCounters], s.tail...)
	for _, class := range s.classes {
		rows[stateClasses] = appendString(appendString(rows[stateClasses], class.Country), class.Category)
	}
	if s.refreshing != (refreshing{}) {
		for _, v := range s.refreshing.counters() {
			rows[stateRefreshing] = appendUint(rows[stateRefreshing], *v)
		}
	}
	if s.deleted != (deletedLogs{}) {
		for _, v := range s.deleted.numbers() {
			rows[stateDeleted] = appendUint(rows[stateDeleted], *v)
		}
	}
	for _, p := range s.patterns {
		rows[statePatterns] = appendString(rows[statePatterns], p)
	}
	return rows
}

func (s *state) decode(key int64, data []byte) error {
	d := decode(data)
	switch key {
	case stateCounters:
		for i, v := range s.counters() {
			if i >= appendedCounters && d.at == len(d.text) {
				break
			}
			*v = d.int()
		}
		if d.err == nil && d.at < len(d.text) {
			var err error
			if s.lately, err = decodeFound(d.string()); err != nil {
				return err
			}
		}
		s.tail = d.text[d.at:]
	case stateClasses:
		for d.at < len(d.text) {
			s.classes = append(s.classes, Class{d.string(), d.string()})
		}
	case statePatterns:
		for d.at < len(d.text) {
			s.patterns = append(s.patterns, d.string())
		}
	case stateRefreshing:
		for _, v := range s.refreshing.counters() {
			if d.at < len(d.text) {
				*v = d.int()
			}
		}
	case stateDeleted:
		for _, v := range s.deleted.numbers() {
			if d.at < len(d.text) {
				*v = d.int()
			}
		}
	default:
		return nil
	}
	s.stored[key] = string(data)
	return d.err
}

// open loads the shard's state, and creates or migrates its tables.
func (c *call) open() error {
	rows, err := c.loadState()
	if err != nil {
		return err
	}
	s := &c.state
	for rows.Next() {
		if err := s.decode(rows.Int(), rows.Blob()); err != nil {
			return err
		}
	}
	if s.reader > version {
		return ErrNewer
	}
	for ; s.version < version; s.version++ {
		for _, sql := range migrations[s.version] {
			if _, err := c.db.Run(sql); err != nil {
				return err
			}
		}
		s.reader = oldestReader
	}
	s.exclude(s.patterns)
	return rows.Err()
}

// loadState gives the rows of the state. The table is missing in the first call only, which is not worth a statement in each.
func (c *call) loadState() (*Rows, error) {
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

// exclude makes the patterns of excluded URLs ready to be asked.
func (s *state) exclude(patterns []string) {
	list := make([]contract.Exclusion, len(patterns))
	for i, p := range patterns {
		list[i] = contract.Exclusion{Kind: contract.ExcludeURL, Value: p}
	}
	s.patterns, s.excludes = patterns, contract.NewExclusions(list)
}

// Class is what the pages of a partition have in common, whatever its day.
type Class struct {
	Country  string `json:"country"`
	Category string `json:"category"`
}

// maxClasses is what a pointer has room for. Further classes count to the last one.
const maxClasses = 1<<16 - 1

// class gives the id of a class, a new one when there is none.
func (s *state) class(class Class) int64 {
	i := slices.Index(s.classes, class)
	if i < 0 {
		if i = len(s.classes); i == maxClasses {
			return maxClasses
		}
		s.classes = append(s.classes, class)
	}
	return int64(i + 1)
}

func (s *state) classOf(id int64) Class {
	if id < 1 || id > int64(len(s.classes)) {
		return Class{}
	}
	return s.classes[id-1]
}
