// Package store keeps articles and the state of collections in D1 or PostgreSQL: one implementation, with
// statements in both dialects where they differ.
package store

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// Migrations holds migrations/*.sql for D1 and postgres/*.sql for PostgreSQL, to be applied in the order of
// their names.
//
//go:embed migrations/*.sql postgres/*.sql
var Migrations embed.FS

// DB runs statements in one transaction. Their parameters are ?1, ?2, …
type DB interface {
	Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error)
}

// Store stores its records in a database with all Migrations. Each method uses one transaction; errors have kind
// contract.Storage.
type Store struct {
	*base
	alarmRecords
	cacheRecords
	cronRecords
}

// base runs statements in a dialect.
type base struct {
	db DB
	dialect
}

// NewD1 returns a store on D1 or its twin.
func NewD1(db DB) *Store { return newStore(db, d1) }

// NewPostgres returns a store on PostgreSQL.
func NewPostgres(db DB) *Store { return newStore(db, postgres) }

func newStore(db DB, d dialect) *Store {
	b := &base{db, d}
	return &Store{b, alarmRecords{b}, cacheRecords{b}, cronRecords{b}}
}

// Name returns "d1" or "postgres".
func (s *base) Name() string { return s.name }

// NotMigratedError is returned by Ready for a database that lacks migrations.
type NotMigratedError struct {
	Database  string // name of the store
	Migration string // the last one that this version needs
}

func (e *NotMigratedError) Error() string { return e.Database + " lacks the migration " + e.Migration }

// Ready checks that the database answers and has all migrations, according to the record of those that were applied.
func (s *base) Ready(ctx context.Context) error {
	const op = "store.Ready"
	results, err := s.batch(ctx, op, s.statement(`SELECT name FROM `+s.migrations+` WHERE name >= ?1 LIMIT 1`,
		s.newest))
	if err != nil {
		if strings.Contains(err.Error(), s.noTable) {
			err = ledger.Fault(op, fmt.Errorf("%w: %w", &NotMigratedError{s.name, s.newest}, err))
		}
		return err
	}
	if names, err := decode[struct{}](op, results[0]); err != nil || len(names) > 0 {
		return err
	}
	return ledger.Fault(op, &NotMigratedError{s.name, s.newest})
}

// Sized is a DB that knows its size otherwise than by a statement.
type Sized interface {
	// Size returns the size in bytes.
	Size(ctx context.Context) (int64, error)
}

// Size returns the size of the database in bytes, or 0 if it is unknown.
func (s *base) Size(ctx context.Context) (int64, error) {
	const op = "store.Size"
	if sized, ok := s.db.(Sized); ok {
		n, err := sized.Size(ctx)
		return n, ledger.Fault(op, err)
	}
	if s.size == "" {
		return 0, nil
	}
	results, err := s.batch(ctx, op, s.statement(s.size))
	if err != nil {
		return 0, err
	}
	rows, err := decode[struct {
		Bytes int64 `json:"bytes"`
	}](op, results[0])
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Bytes, nil
}

func (s *base) batch(ctx context.Context, op string, statements ...ledger.Statement) ([]ledger.Result, error) {
	err := ctx.Err()
	var results []ledger.Result
	if err == nil {
		results, err = s.db.Batch(ctx, statements)
	}
	if err == nil && len(results) != len(statements) {
		err = fmt.Errorf("%d results for %d statements", len(results), len(statements))
	}
	return results, ledger.Fault(op, err)
}

func decode[Row any](op string, r ledger.Result) (rows []Row, err error) {
	err = json.Unmarshal(r.Rows, &rows)
	return rows, ledger.Fault(op, err)
}

// encode returns a list as a JSON parameter.
func encode(list any) string { return string(contract.Encode(list)) }

// dialect holds the differences between SQLite and PostgreSQL.
type dialect struct {
	name       string
	migrations string   // table: the names of the migrations that were applied
	newest     string   // the last of Migrations, which only tests and MigratePostgres embed
	noTable    string   // part of the error for a table that does not exist
	dollars    bool     // placeholders are $1 instead of ?1
	now        string   // the database's clock, in milliseconds
	upsert     []string // parameter: the list of articles
	// saved is the index in upsert of the statement that returns a row per article inserted or updated.
	saved int
	prune []string
	size  string // query: the database's size in a column "bytes"; "": see Sized
	// columns are those of an article, with times in milliseconds.
	columns string
	live    string // condition: the article is not deleted
	no, yes string
	arrived string // column: time of arrival in milliseconds
	tried   func() string
	// indexed returns the text of an article for the search index.
	indexed func(grams []string, publishedAt epoch.Millis) string
	list    string // query: the values of a JSON list of strings in a column "value"
	instant func(placeholder string) string
	millis  func(column string) string
	search  func(s *Store, q *info.Query) ledger.Statement // see searched
}

var placeholders = regexp.MustCompile(`\?(\d+)`)

// statement returns a statement of SQL, with {now} replaced by the database's clock and placeholders by the
// dialect's. Unused trailing parameters are dropped.
func (s *base) statement(sql string, args ...any) ledger.Statement {
	sql = strings.ReplaceAll(sql, "{now}", s.now)
	used := 0
	for _, p := range placeholders.FindAllStringSubmatch(sql, -1) {
		n, _ := strconv.Atoi(p[1])
		used = max(used, n)
	}
	if s.dollars {
		sql = placeholders.ReplaceAllString(sql, `$$$1`)
	}
	return ledger.Statement{SQL: sql, Args: args[:used]}
}

// conditions collects the WHERE clause of a query and its parameters.
type conditions struct {
	terms []string
	args  []any
}

// arg adds a parameter and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("?%d", len(c.args))
}

func (c *conditions) and(term string) { c.terms = append(c.terms, term) }

// more returns the terms as the rest of a WHERE clause.
func (c *conditions) more() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " AND " + strings.Join(c.terms, " AND ")
}

func (c *conditions) where() string { return " WHERE " + strings.Join(c.terms, " AND ") }
