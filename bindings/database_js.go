//go:build js && wasm

package bindings

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/worker"
)

// Database is a ledger.DB bound to the Worker.
type Database struct {
	// Timeout limits a batch, which might take effect all the same; 0: only the platform's own limit does.
	Timeout time.Duration

	name string
}

var _ ledger.DB = Database{}

// NewDatabase returns the database bound under name. Every call looks the binding up, because bindings
// belong to an event.
func NewDatabase(name string) Database { return Database{name: name} }

// Batch implements ledger.DB. All statements cross into JavaScript as one text, as do all rows back.
func (d Database) Batch(_ context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	answer, _, err := worker.Ask("d1Batch", ledger.AppendStatements(nil, statements), d.name,
		strconv.FormatInt(d.Timeout.Milliseconds(), 10))
	if err != nil {
		return nil, timedOut(err)
	}
	results := make([]ledger.Result, 0, len(statements))
	for answer != "" {
		var changes, rows string
		changes, answer, _ = strings.Cut(answer, "\n")
		rows, answer, _ = strings.Cut(answer, "\n")
		n, err := strconv.ParseInt(changes, 10, 64)
		if err != nil {
			return nil, err
		}
		results = append(results, ledger.Result{Changes: n, Rows: json.RawMessage(rows)})
	}
	return results, nil
}

// Size returns the size of the database in bytes.
func (d Database) Size(context.Context) (int64, error) {
	answer, _, err := worker.Ask("d1Size", nil, d.name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(answer, 10, 64)
}
