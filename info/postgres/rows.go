package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5/pgproto3"
)

// rows collects the rows of a statement as a JSON array of objects by column name.
type rows struct {
	columns []column
	text    []byte
}

type column struct {
	name   []byte // with its punctuation
	plain  bool   // values are JSON as they are
	isBool bool   // values are t or f
}

// Types whose text is JSON, by their numbers in pg_type.
const (
	oidBool  = 16
	oidInt8  = 20
	oidInt2  = 21
	oidInt4  = 23
	oidJSON  = 114
	oidJSONB = 3802
)

func newRows(fields []pgproto3.FieldDescription) *rows {
	r := &rows{text: []byte{'['}}
	for i, f := range fields {
		name, _ := json.Marshal(string(f.Name))
		c := column{name: append(name, ':')}
		if i > 0 {
			c.name = append([]byte{','}, c.name...)
		}
		switch f.DataTypeOID {
		case oidInt2, oidInt4, oidInt8, oidJSON, oidJSONB:
			c.plain = true
		case oidBool:
			c.isBool = true
		}
		r.columns = append(r.columns, c)
	}
	return r
}

func (r *rows) add(values [][]byte) {
	if len(r.text) > 1 {
		r.text = append(r.text, ',')
	}
	r.text = append(r.text, '{')
	for i, v := range values {
		c := &r.columns[i]
		r.text = append(r.text, c.name...)
		switch {
		case v == nil:
			r.text = append(r.text, "null"...)
		case c.plain:
			r.text = append(r.text, v...)
		case c.isBool:
			text := "false"
			if string(v) == "t" {
				text = "true"
			}
			r.text = append(r.text, text...)
		default:
			text, _ := json.Marshal(string(v)) // strings always marshal
			r.text = append(r.text, text...)
		}
	}
	r.text = append(r.text, '}')
}

func (r *rows) json() json.RawMessage {
	if r == nil {
		return json.RawMessage("[]")
	}
	return append(r.text, ']')
}
