package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// now is the database's own clock in milliseconds, so that claims do not depend on the clocks of isolates.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// statement returns a statement whose first parameter is list as JSON: a list might have more than MaxParameters
// values.
func statement(sql string, list any, args ...any) Statement {
	return Statement{sql, append([]any{string(contract.Encode(list))}, args...)}
}

// separator ends each statement's text on its way to the database. SQL here never contains it: values are
// parameters.
const separator = '\x1e'

// AppendStatements appends the texts of statements, each followed by the separator, then the JSON of their
// parameters, [[parameter…]…]. Every database call runs it, so it avoids reflection.
func AppendStatements(b []byte, statements []Statement) []byte {
	for _, s := range statements {
		b = append(append(b, s.SQL...), separator)
	}
	b = append(b, '[')
	for i, s := range statements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for i, arg := range s.Args {
			if i > 0 {
				b = append(b, ',')
			}
			switch arg := arg.(type) {
			case string:
				b = gjson.AppendJSONString(b, arg)
			case int64:
				b = strconv.AppendInt(b, arg, 10)
			case epoch.Millis:
				b = strconv.AppendInt(b, int64(arg), 10)
			default:
				b = append(b, contract.Encode(arg)...)
			}
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// maxPiece is the approximate size of a list in one parameter, well below MaxStringBytes.
const maxPiece = MaxStringBytes / 4

// pieces returns statements with list as their JSON parameter, split by size. An empty list has none.
func pieces[Row any](sql string, list []Row) (statements []Statement) {
	piece := []byte{'['}
	flush := func() {
		statements = append(statements, Statement{sql, []any{string(append(piece, ']'))}})
		piece = piece[:1]
	}
	for _, row := range list {
		if len(piece) > maxPiece {
			flush()
		}
		if len(piece) > 1 {
			piece = append(piece, ',')
		}
		piece = append(piece, contract.Encode(row)...)
	}
	if len(piece) > 1 {
		flush()
	}
	return statements
}

// rowsOf returns the rows of records.
func rowsOf[Record interface{ row() Row }, Row any](records []Record) []Row {
	rows := make([]Row, len(records))
	for i, r := range records {
		rows[i] = r.row()
	}
	return rows
}

// conditions collects the WHERE clause of a query and its parameters.
type conditions struct {
	terms []string
	args  []any
}

// clone returns an independent copy.
func (c *conditions) clone() conditions {
	return conditions{slices.Clone(c.terms), slices.Clone(c.args)}
}

// and adds a term with a ? for each value.
func (c *conditions) and(term string, values ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, values...)
}

// partition adds conditions on the partition, which the query calls p.
func (c *conditions) partition(f contract.Filter) {
	for column, v := range map[string]string{"p.country": f.Country, "p.category": f.Category, "p.date": f.Date} {
		if v != "" {
			c.and(column+" = ?", v)
		}
	}
}

func (c *conditions) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

func bit(b bool) *int64 {
	var n int64
	if b {
		n = 1
	}
	return &n
}

// maxErrorMessage caps an error's text, in bytes.
const maxErrorMessage = 2000

// clip shortens an error's text.
func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxErrorMessage)], "")
}
