//go:build js && wasm

package ledger

import (
	"context"
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/worker"
)

// D1 is a DB behind a binding of the Worker.
type D1 struct{ name string }

var _ DB = D1{}

// NewD1 gives the database bound under name. The binding is looked up at every call, since each
// event brings its own.
func NewD1(name string) D1 { return D1{name} }

// Batch implements DB. Statements and rows cross as one JSON text each.
func (d D1) Batch(_ context.Context, statements []Statement) ([]Result, error) {
	list := make([][2]any, len(statements))
	for i, s := range statements {
		args := s.Args
		if args == nil {
			args = []any{}
		}
		list[i] = [2]any{s.SQL, args}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	answer, _, err := worker.Ask("d1Batch", text, d.name)
	if err != nil {
		return nil, err
	}
	// JSON.stringify made it, so there is nothing to validate before the rows are decoded.
	var results []Result
	gjson.Parse(answer).ForEach(func(_, r gjson.Result) bool {
		results = append(results, Result{Changes: r.Get("changes").Int(), Rows: json.RawMessage(r.Get("rows").Raw)})
		return true
	})
	return results, nil
}
