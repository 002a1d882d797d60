//go:build js && wasm

package bindings

import (
	"context"
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/worker"
)

// Database is a ledger.DB behind a binding of the Worker.
type Database struct{ name string }

var _ ledger.DB = Database{}

// NewDatabase gives the database bound under name. The binding is looked up at every call, since each
// event brings its own.
func NewDatabase(name string) Database { return Database{name} }

// Batch implements ledger.DB. Statements and rows cross as one JSON text each.
func (d Database) Batch(_ context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	answer, _, err := worker.Ask("d1Batch", ledger.AppendStatements(nil, statements), d.name)
	if err != nil {
		return nil, err
	}
	// JSON.stringify made it, so there is nothing to validate before the rows are decoded.
	var results []ledger.Result
	gjson.Parse(answer).ForEach(func(_, r gjson.Result) bool {
		results = append(results, ledger.Result{Changes: r.Get("changes").Int(), Rows: json.RawMessage(r.Get("rows").Raw)})
		return true
	})
	return results, nil
}
