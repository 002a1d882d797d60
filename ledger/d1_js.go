//go:build js && wasm

package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/worker"
)

// The JavaScript half, worker/helpers.mjs.
var d1Batch = js.Global().Get("context").Get("helpers").Get("d1Batch")

// D1 is a DB behind a binding of the Worker.
type D1 struct{ name string }

var _ DB = D1{}

// NewD1 gives the database bound under name. The binding is looked up at every call, since each
// event brings its own.
func NewD1(name string) D1 { return D1{name} }

// Batch implements DB. Statements and rows cross as one JSON text each.
func (d D1) Batch(_ context.Context, statements []Statement) ([]Result, error) {
	db := worker.Env(d.name)
	if db.IsUndefined() {
		return nil, fmt.Errorf("there is no D1 binding %s", d.name)
	}
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
	v, err := worker.Await(d1Batch.Invoke(db, string(text)))
	if err != nil {
		return nil, err
	}
	// JSON.stringify made it, so there is nothing to validate before the rows are decoded.
	var results []Result
	gjson.Parse(v.String()).ForEach(func(_, r gjson.Result) bool {
		results = append(results, Result{Changes: r.Get("changes").Int(), Rows: json.RawMessage(r.Get("rows").Raw)})
		return true
	})
	return results, nil
}
