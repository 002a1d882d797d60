// Package ledger records in D1 what happened to the pipeline's work: the progress of every raw file and domain,
// reasons of failures, dead letters, and alarms.
// The ledger is only a view. The checkpoints in R2 decide what is done, so callers log an error of this package and
// continue.
package ledger

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
)

// Migrations holds migrations/*.sql, which `wrangler d1 migrations apply` applies in order of name. Tests apply
// them to SQLite.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Statement is one SQL statement with its parameters: strings, int64, epoch.Millis or nil.
type Statement struct {
	SQL  string
	Args []any
}

// Result is the result of a statement.
type Result struct {
	Changes int64           `json:"changes"` // rows inserted, updated or deleted
	Rows    json.RawMessage `json:"rows"`    // a JSON array of objects by column name
}

// DB is the database. Batch runs statements in one transaction.
type DB interface {
	Batch(ctx context.Context, statements []Statement) ([]Result, error)
}

// Limits of D1 (developers.cloudflare.com/d1/platform/limits/).
const (
	MaxParameters  = 100       // of one statement
	MaxSQLBytes    = 100_000   // of one statement
	MaxStringBytes = 2_000_000 // of one parameter
)

// Ledger records in a database. Its methods return errors of kind contract.Storage and use at most one Batch each.
type Ledger struct{ db DB }

// New returns a ledger on a database with all Migrations.
func New(db DB) *Ledger { return &Ledger{db} }

// newest is the name of the last migration. It is a constant because only tests use Migrations: the linker leaves the
// files out of the Worker.
const newest = "0020_fewer_rows_a_batch.sql"

// ErrNotMigrated is returned by Ping for a database that lacks migrations.
var ErrNotMigrated = errors.New("D1 lacks the migration " + newest)

// Ping checks that the database answers and has all migrations, according to wrangler's table.
func (l *Ledger) Ping(ctx context.Context) error {
	const op = "ledger.Ping"
	results, err := l.batch(ctx, op, Statement{SQL: `SELECT name FROM d1_migrations WHERE name >= ?1 LIMIT 1`,
		Args: []any{newest}})
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			err = Fault(op, fmt.Errorf("%w: %w", ErrNotMigrated, err))
		}
		return err
	}
	names, err := decode[struct{ Name string }](op, results[0])
	if err == nil && len(names) == 0 {
		err = Fault(op, ErrNotMigrated)
	}
	return err
}

func (l *Ledger) batch(ctx context.Context, op string, statements ...Statement) ([]Result, error) {
	err := ctx.Err()
	var results []Result
	if err == nil {
		results, err = l.db.Batch(ctx, statements)
	}
	if err == nil && len(results) != len(statements) {
		err = fmt.Errorf("%d results for %d statements", len(results), len(statements))
	}
	return results, Fault(op, err)
}

func decode[Row any](op string, r Result) (rows []Row, err error) {
	if string(r.Rows) == "[]" { // most results of a status
		return nil, nil
	}
	err = json.Unmarshal(r.Rows, &rows)
	return rows, Fault(op, err)
}

// reader decodes results and keeps the first error.
type reader struct {
	op      string
	results []Result
	err     error
}

func read[Row any](r *reader, i int) []Row {
	rows, err := decode[Row](r.op, r.results[i])
	if r.err == nil {
		r.err = err
	}
	return rows
}

// columns is a row that sets its columns one by one, several times as fast as by reflection.
type columns[Row any] interface {
	*Row
	set(column string, v gjson.Result)
}

// readColumns is read for columns.
func readColumns[Row any, Columns columns[Row]](r *reader, i int) (rows []Row) {
	text := r.results[i].Rows
	if !gjson.ValidBytes(text) {
		r.err = cmp.Or(r.err, Fault(r.op, errors.New("the database returned rows that are not JSON")))
	}
	if r.err != nil {
		return nil
	}
	gjson.ParseBytes(text).ForEach(func(_, object gjson.Result) bool {
		var row Row
		object.ForEach(func(column, v gjson.Result) bool {
			Columns(&row).set(column.Str, v)
			return true
		})
		rows = append(rows, row)
		return true
	})
	return rows
}

// Fault wraps a database error for callers. It returns nil for nil.
func Fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the database failed; try again", Err: err}
}
