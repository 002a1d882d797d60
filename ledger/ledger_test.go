package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/ledgertest"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var ctx = context.Background()

var (
	noon  = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
)

func open(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, db ledger.DB, sql string, args ...any) []map[string]any {
	t.Helper()
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
	must(t, err)
	var list []map[string]any
	must(t, json.Unmarshal(results[0].Rows, &list))
	return list
}

func TestSQLite(t *testing.T) {
	db := open(t)
	for _, c := range ledgertest.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, db, c.Name+" ")
		})
	}
}

// Not in the suite: the D1 simulator accepts longer parameters than the platform.
func TestSQLite_ParameterLimit(t *testing.T) {
	long := strings.Repeat("x", ledger.MaxStringBytes+1)
	if _, err := open(t).Batch(ctx, []ledger.Statement{{SQL: `SELECT length(?1) AS n`,
		Args: []any{long}}}); err == nil {
		t.Error("a longer parameter gave no error")
	}
	if _, err := open(t).Batch(ctx, []ledger.Statement{{SQL: `SELECT ?1 AS n`, Args: []any{1.5}}}); err == nil {
		t.Error("a parameter of a type that Statement does not name gave no error")
	}
}

// A failing database and one with wrong answers cause errors of one kind.
func TestLedger_Faults(t *testing.T) {
	broken := errors.New("D1_ERROR: overloaded")
	db := open(t)
	db.Fail = func() error { return broken }
	for name, db := range map[string]ledger.DB{
		"failing":     db,
		"no results":  answer{},
		"no rows":     answer{{}, {}},
		"wrong rows":  answer{{Rows: []byte(`{}`)}, {Rows: []byte(`[1]`)}},
		"wrong types": answer{{Rows: []byte(`[{"failed_at":"x"}]`)}, {Rows: []byte(`[{"domain":1}]`)}},
	} {
		l := ledger.New(db)
		check := func(what string, err error) {
			t.Helper()
			if contract.KindOf(err) != contract.Storage {
				t.Errorf("%s: %s: got error %v", name, what, err)
			}
			if name == "failing" && !errors.Is(err, broken) {
				t.Errorf("%s: the cause is lost in %v", what, err)
			}
		}
		_, err := l.Reasons(ctx, []ledger.Work{{}})
		check("Reasons", err)
		if name == "failing" || name == "no results" {
			check("Ping", l.Ping(ctx))
			check("Record", l.Record(ctx, ledger.Changes{Finished: []ledger.Work{{}}}))
		}
	}
}

// A database without all migrations is distinguished from one that fails.
func TestPing_NewestMigration(t *testing.T) {
	db := open(t)
	if err := ledger.New(db).Ping(ctx); err != nil {
		t.Error(err)
	}
	names, err := fs.Glob(ledger.Migrations, "migrations/*.sql")
	if err != nil || !strings.HasSuffix(ledger.ErrNotMigrated.Error(), " "+path.Base(names[len(names)-1])) {
		t.Errorf("%v; the newest migration is %s", ledger.ErrNotMigrated, names[len(names)-1])
	}
	for _, sql := range []string{
		`INSERT INTO d1_migrations VALUES ('9999_of_a_later_version.sql')`,
		`DELETE FROM d1_migrations WHERE name > '0005'`,
		`DROP TABLE d1_migrations`,
	} {
		if _, err := db.Batch(ctx, []ledger.Statement{{SQL: sql}}); err != nil {
			t.Fatal(err)
		}
		later := strings.HasPrefix(sql, "INSERT")
		if err := ledger.New(db).Ping(ctx); errors.Is(err, ledger.ErrNotMigrated) == later || (err == nil) != later {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// answer is a database that returns the same results for every statement.
type answer []ledger.Result

func (a answer) Batch(_ context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	return a[:min(len(a), len(statements))], nil
}

// recorder records statements.
type recorder struct {
	*sqlite.DB
	statements []ledger.Statement
	changes    int64 // rows inserted, updated or deleted
}

func (r *recorder) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	r.statements = append(r.statements, statements...)
	results, err := r.DB.Batch(ctx, statements)
	for _, result := range results {
		r.changes += result.Changes
	}
	return results, err
}

// Statements are sent as their texts and the JSON of their parameters.
func TestAppendStatements(t *testing.T) {
	statements := []ledger.Statement{
		{SQL: "SELECT '\"' || ?1,\n\t'\\' <> ?2 & ?3"},
		{SQL: `SELECT ?1`, Args: []any{"한국 \x00\x1e\x1f <&> \u2028 \"quoted\" \\"}},
		{SQL: `SELECT ?1, ?2, ?3, ?4`, Args: []any{int64(-1 << 62), nil, "", `[{"a":1}]`}},
	}
	for n := range len(statements) + 1 {
		texts := strings.Split(string(ledger.AppendStatements(nil, statements[:n])), "\x1e")
		var have, want any
		must(t, json.Unmarshal([]byte(texts[n]), &have))
		parameters := [][]any{}
		for i, s := range statements[:n] {
			if texts[i] != s.SQL {
				t.Errorf("got %q, want %q", texts[i], s.SQL)
			}
			parameters = append(parameters, append([]any{}, s.Args...))
		}
		b, _ := json.Marshal(parameters)
		must(t, json.Unmarshal(b, &want))
		if !reflect.DeepEqual(have, want) {
			t.Errorf("got %v, want %v", have, want)
		}
	}
}
