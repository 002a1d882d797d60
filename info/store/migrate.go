package store

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/newsfork/seed-engine/ledger"
)

// Scripted is a PostgreSQL database that runs scripts, each in one transaction.
type Scripted interface {
	DB
	Script(ctx context.Context, sql string) error
}

// MigratePostgres applies the migrations that a database lacks, in order, and records each in news_migrations together
// with its changes. It returns the names of those that it applied. A database whose tables were made without a record
// needs last, the name of the last migration that it has; else last is "".
func MigratePostgres(ctx context.Context, db Scripted, last string) (applied []string, err error) {
	files, err := fs.Glob(Migrations, "postgres/*.sql")
	if err != nil {
		return nil, err
	}
	if err := db.Script(ctx, `CREATE TABLE IF NOT EXISTS news_migrations
(name TEXT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`); err != nil {
		return nil, err
	}
	const op = "store.MigratePostgres"
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: `SELECT name FROM news_migrations ORDER BY name`},
		{SQL: `SELECT to_regclass('news_articles') IS NOT NULL AS there`}})
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Name string `json:"name"`
	}](op, results[0])
	if err != nil {
		return nil, err
	}
	tables, err := decode[struct {
		There bool `json:"there"`
	}](op, results[1])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, path.Base(f))
	}
	switch there := tables[0].There; {
	case len(rows) > 0 || !there:
		last = "" // the record counts
	case !slices.Contains(names, last):
		return nil, fmt.Errorf("the database has tables, but no record of its migrations: "+
			"name the last one that was applied, one of %v", names)
	}
	recorded := map[string]bool{}
	for _, r := range rows {
		recorded[r.Name] = true
	}
	for i, name := range names {
		if recorded[name] {
			continue
		}
		sql, err := Migrations.ReadFile(files[i])
		if err != nil {
			return applied, err
		}
		if name <= last {
			sql = nil
		}
		// A migrator that runs at the same time fails at the record, with all of this migration.
		record := fmt.Sprintf("\nINSERT INTO news_migrations (name) VALUES ('%s');", name)
		if err := db.Script(ctx, string(sql)+record); err != nil {
			return applied, fmt.Errorf("%s: %w", name, err)
		}
		if name > last {
			applied = append(applied, name)
		}
	}
	return applied, nil
}
