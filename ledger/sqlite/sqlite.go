// Package sqlite is a twin of D1 for tests: an in-memory SQLite database with D1's limits, and with the ledger's or
// other migrations applied.
package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/serdes"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/ledger"
)

// DB is a ledger.DB. It is safe for concurrent use. Set Fail before the first use.
type DB struct {
	// Fail, if set, is called before every batch. If it returns an error, the batch fails with it.
	Fail func() error

	mu     sync.Mutex
	steps  int
	conn   *sqlite3.Conn
	cached map[string]*sqlite3.Stmt // D1 keeps statements too
}

var _ ledger.DB = (*DB)(nil)

// Open returns an empty database with the ledger's tables. The caller closes it.
func Open() (*DB, error) { return OpenWith(ledger.Migrations) }

// OpenWith returns an empty database with the tables of migrations/*.sql. The caller closes it.
func OpenWith(migrations fs.FS) (*DB, error) {
	list, err := read(migrations)
	if err != nil {
		return nil, err
	}
	image, err := imageOf(list)
	if err != nil {
		return nil, err
	}
	d, err := open(":memory:")
	if err != nil {
		return nil, err
	}
	if err := serdes.Deserialize(d.conn, "main", image); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// OpenFile is OpenWith for databases larger than memory: it creates a file, which is not synced.
func OpenFile(name string, migrations fs.FS) (*DB, error) {
	list, err := read(migrations)
	if err != nil {
		return nil, err
	}
	return create(name, list)
}

type migration struct{ name, sql string }

// read returns migrations/*.sql in their order.
func read(migrations fs.FS) (list []migration, err error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	for _, name := range names {
		sql, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{path.Base(name), string(sql)})
	}
	return list, err
}

// images are databases to which migrations were applied: copying one takes far less time than applying them.
var images struct {
	sync.Mutex
	of map[string][]byte // by the migrations
}

func imageOf(list []migration) ([]byte, error) {
	images.Lock()
	defer images.Unlock()
	key := fmt.Sprint(list)
	if image := images.of[key]; image != nil {
		return image, nil
	}
	d, err := create(":memory:", list)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	image, err := serdes.Serialize(d.conn, "main")
	if err != nil {
		return nil, err
	}
	if images.of == nil {
		images.of = map[string][]byte{}
	}
	images.of[key] = image
	return image, nil
}

// create applies migrations to an empty database.
func create(name string, list []migration) (*DB, error) {
	d, err := open(name)
	if err != nil {
		return nil, err
	}
	// Wrangler's own table.
	if err := d.conn.Exec(`CREATE TABLE d1_migrations(name TEXT UNIQUE)`); err != nil {
		d.Close()
		return nil, err
	}
	for _, m := range list {
		if err := d.conn.Exec(m.sql + `; INSERT INTO d1_migrations VALUES ('` + m.name + `')`); err != nil {
			d.Close()
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return d, nil
}

func open(name string) (*DB, error) {
	conn, err := sqlite3.Open(name)
	if err != nil {
		return nil, err
	}
	d := &DB{conn: conn, cached: map[string]*sqlite3.Stmt{}}
	if err = fts5.Register(conn); err == nil { // as in D1
		err = conn.Exec(`PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -65536`)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close frees the database.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, stmt := range d.cached {
		stmt.Close()
	}
	return d.conn.Close()
}

// Batch implements ledger.DB.
func (d *DB) Batch(ctx context.Context, statements []ledger.Statement) (results []ledger.Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.Fail != nil {
		if err := d.Fail(); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	tx, err := d.conn.BeginImmediate()
	if err != nil {
		return nil, err
	}
	defer tx.End(&err) // commits, or rolls back on an error
	for _, s := range statements {
		r, err := d.run(s)
		if err != nil {
			return nil, fmt.Errorf("D1_ERROR: %w", err)
		}
		results = append(results, r)
	}
	return results, nil
}

// Steps returns the steps of SQLite's virtual machine so far: a measure of work that is equal on every machine.
func (d *DB) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}

// Size returns the size of the database in bytes.
func (d *DB) Size(ctx context.Context) (int64, error) {
	results, err := d.Batch(ctx, []ledger.Statement{{SQL: `SELECT page_count * page_size AS bytes
FROM pragma_page_count, pragma_page_size`}})
	if err != nil {
		return 0, err
	}
	var rows []struct {
		Bytes int64 `json:"bytes"`
	}
	if err := json.Unmarshal(results[0].Rows, &rows); err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Bytes, nil
}

func (d *DB) run(s ledger.Statement) (r ledger.Result, err error) {
	if len(s.SQL) > ledger.MaxSQLBytes {
		return r, fmt.Errorf("statement too long: %d bytes", len(s.SQL))
	}
	if len(s.Args) > ledger.MaxParameters {
		return r, fmt.Errorf("too many SQL variables: %d", len(s.Args))
	}
	stmt, err := d.prepared(s.SQL)
	if err != nil {
		return r, err
	}
	defer stmt.Reset()
	if n := stmt.BindCount(); n != len(s.Args) {
		return r, fmt.Errorf("wrong number of parameter bindings: %d for %d", len(s.Args), n)
	}
	for i, arg := range s.Args {
		switch v := arg.(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case int64:
			err = stmt.BindInt64(i+1, v)
		case epoch.Millis:
			err = stmt.BindInt64(i+1, int64(v))
		case string:
			if len(v) > ledger.MaxStringBytes {
				return r, fmt.Errorf("string or blob too big: %d bytes", len(v))
			}
			err = stmt.BindText(i+1, v)
		default:
			err = fmt.Errorf("type %T not supported for parameter %d", arg, i+1)
		}
		if err != nil {
			return r, err
		}
	}
	before := d.conn.TotalChanges()
	rows := []map[string]any{}
	for stmt.Step() {
		row := make(map[string]any, stmt.ColumnCount())
		for c := range stmt.ColumnCount() {
			var v any
			switch stmt.ColumnType(c) {
			case sqlite3.INTEGER:
				v = stmt.ColumnInt64(c)
			case sqlite3.FLOAT:
				v = stmt.ColumnFloat(c)
			case sqlite3.TEXT:
				v = stmt.ColumnText(c)
			}
			row[stmt.ColumnName(c)] = v
		}
		rows = append(rows, row)
	}
	if err := stmt.Err(); err != nil {
		return r, err
	}
	d.steps += stmt.Status(sqlite3.STMTSTATUS_VM_STEP, true)
	r.Changes = d.conn.TotalChanges() - before
	r.Rows, err = json.Marshal(rows)
	return r, err
}

// maxCached caps the statements that are kept.
const maxCached = 100

// prepared returns the statement of an SQL text, which is kept.
func (d *DB) prepared(sql string) (*sqlite3.Stmt, error) {
	if stmt := d.cached[sql]; stmt != nil {
		return stmt, stmt.ClearBindings()
	}
	stmt, tail, err := d.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	if tail != "" {
		stmt.Close()
		return nil, fmt.Errorf("more than one statement: %s", tail)
	}
	if len(d.cached) == maxCached {
		for _, other := range d.cached {
			other.Close()
		}
		clear(d.cached)
	}
	d.cached[sql] = stmt
	return stmt, nil
}
