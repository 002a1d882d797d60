// Package sqlite is the native twin of a Durable Object's database for tests: SQLite in memory, with
// the platform's limits, its transactions, and its way of counting the rows that a statement writes.
package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Limits of the platform (developers.cloudflare.com/durable-objects/platform/limits/).
const (
	maxParameters = 100
	maxSQLBytes   = 100_000
	maxValueBytes = 2_000_000
	maxInteger    = 1 << 53 // JavaScript has no larger ones
)

// DB is a frontier.DB. It is for one goroutine.
type DB struct {
	// Fail, when set, is asked before every statement; an error makes the statement fail with it.
	Fail func() error

	Statements int // run so far
	Written    int // rows, in transactions that were committed
	ReadRows   int // rows that statements gave
	ReadBytes  int // encoded

	conn    *sqlite3.Conn
	cached  map[string]*sqlite3.Stmt
	inside  bool
	pending int // rows written in the current transaction
}

var _ store.DB = (*DB)(nil)

// Open makes an empty database. The caller closes it.
func Open() (*DB, error) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	// A plan does not depend on what is bound: otherwise json_each(?) is compiled again for each list.
	if _, err := conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &DB{conn: conn, cached: map[string]*sqlite3.Stmt{}}, nil
}

// Close frees the database.
func (d *DB) Close() error {
	for _, stmt := range d.cached {
		stmt.Close()
	}
	return d.conn.Close()
}

// Transaction does what transactionSync does: everything that f runs is kept, or when it returns an
// error nothing.
func (d *DB) Transaction(f func() error) (err error) {
	tx, err := d.conn.BeginImmediate()
	if err != nil {
		return err
	}
	d.inside, d.pending = true, 0
	defer func() {
		d.inside = false
		tx.End(&err)
		if err == nil {
			d.Written += d.pending
		}
	}()
	return f()
}

// Query runs a statement for a test and gives its rows one by one.
func (d *DB) Query(sql string, each func(*store.Rows)) error {
	return d.Transaction(func() error {
		rows, err := d.Run(sql)
		if err != nil {
			return err
		}
		for rows.Next() {
			each(rows)
		}
		return rows.Err()
	})
}

// Run implements frontier.DB. Arguments and answer go through the encoding in which they would cross.
func (d *DB) Run(sql string, args ...any) (*store.Rows, error) {
	d.Statements++
	if d.Fail != nil {
		if err := d.Fail(); err != nil {
			return nil, err
		}
	}
	if !d.inside {
		return nil, errors.New("a statement outside of a transaction")
	}
	if len(sql) > maxSQLBytes || len(args) > maxParameters {
		return nil, fmt.Errorf("too long: %d bytes of SQL, %d parameters", len(sql), len(args))
	}
	encoded, err := store.AppendArgs(nil, args...)
	if err != nil {
		return nil, err
	}
	stmt, err := d.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer stmt.Reset()
	if err := bind(stmt, len(args), encoded); err != nil {
		return nil, err
	}
	return d.step(stmt)
}

// Size implements frontier.DB. Free pages do not count, as on the platform.
func (d *DB) Size() (int64, error) {
	rows, err := d.Run("SELECT ((SELECT page_count FROM pragma_page_count()) - (SELECT freelist_count FROM " +
		"pragma_freelist_count())) * (SELECT page_size FROM pragma_page_size())")
	if err != nil || !rows.Next() {
		return 0, err
	}
	return rows.Int(), rows.Err()
}

func (d *DB) prepare(sql string) (*sqlite3.Stmt, error) {
	if stmt := d.cached[sql]; stmt != nil {
		return stmt, nil
	}
	stmt, tail, err := d.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	if tail != "" {
		return nil, fmt.Errorf("more than one statement: %s", tail)
	}
	d.cached[sql] = stmt
	return stmt, nil
}

// bind reads arguments as an adapter in JavaScript would.
func bind(stmt *sqlite3.Stmt, count int, b []byte) error {
	if n := stmt.BindCount(); n != count {
		return fmt.Errorf("wrong number of parameter bindings: %d for %d", count, n)
	}
	for i := 1; i <= count; i++ {
		kind := b[0]
		b = b[1:]
		var err error
		switch kind {
		case 0:
			err = stmt.BindNull(i)
		case 1:
			v := math.Float64frombits(binary.LittleEndian.Uint64(b))
			if math.Abs(v) > maxInteger {
				return fmt.Errorf("parameter %d is beyond 2^53", i)
			}
			err = stmt.BindInt64(i, int64(v))
			b = b[8:]
		default:
			n := binary.LittleEndian.Uint32(b)
			if n > maxValueBytes {
				return fmt.Errorf("string or blob too big: %d bytes", n)
			}
			if value := b[4 : 4+n]; kind == 2 {
				err = stmt.BindText(i, string(value))
			} else {
				err = stmt.BindBlob(i, value)
			}
			b = b[4+n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step runs a statement. Rows written are the changes that SQLite counts, because no table has an
// index besides its key: an entry of one would count as a row too.
func (d *DB) step(stmt *sqlite3.Stmt) (*store.Rows, error) {
	before := d.conn.TotalChanges()
	rows := 0
	var values []byte
	for stmt.Step() {
		rows++
		for c := range stmt.ColumnCount() {
			var v any
			switch stmt.ColumnType(c) {
			case sqlite3.INTEGER:
				n := stmt.ColumnInt64(c)
				if n > maxInteger || n < -maxInteger {
					return nil, fmt.Errorf("column %d is beyond 2^53", c)
				}
				v = n
			case sqlite3.TEXT:
				v = stmt.ColumnText(c)
			case sqlite3.BLOB:
				v = stmt.ColumnRawBlob(c)
			}
			var err error
			if values, err = store.AppendArgs(values, v); err != nil {
				return nil, err
			}
		}
	}
	if err := stmt.Err(); err != nil {
		return nil, err
	}
	d.ReadRows += rows
	d.ReadBytes += len(values)
	written := int(d.conn.TotalChanges() - before)
	d.pending += written
	return store.NewRows(append(store.AppendHeader(nil, written, rows, stmt.ColumnCount()), values...))
}
