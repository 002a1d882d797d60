package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
)

// now is the database's own clock in milliseconds, so that claims do not depend on the clocks of the
// isolates that make them.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// statement makes list the first parameter, as JSON: a statement takes at most MaxParameters, but any
// JSON.
func statement(sql string, list any, args ...any) Statement {
	return Statement{sql, append([]any{string(contract.Encode(list))}, args...)}
}

// separator ends the text of each statement on its way to the database. It is in none: what could contain it is a
// parameter.
const separator = '\x1e'

// AppendStatements appends the texts of statements as they are, each with the separator behind it, and then the JSON
// of their parameters, [[parameter…]…]. It does without reflection, since every call of the database is one.
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
			default:
				b = append(b, contract.Encode(arg)...)
			}
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// maxPiece is about how many bytes of a list travel in one parameter, well below MaxStringBytes.
const maxPiece = MaxStringBytes / 4

// pieces makes list the parameter, as JSON, of as many statements as its size asks for; none when it
// is empty.
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

// rowsOf gives the rows of records, as their statement reads them.
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

// clone gives conditions that are extended apart.
func (c *conditions) clone() conditions {
	return conditions{slices.Clone(c.terms), slices.Clone(c.args)}
}

// and adds a term in which ? stands for each of the values. Written out wherever it is called, it would be 20 KB of
// the module.
//
//go:noinline
func (c *conditions) and(term string, values ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, values...)
}

// partition restricts the columns of partitions, which the query calls p.
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

// maxErrorMessage is how much of an error's text is kept, in bytes.
const maxErrorMessage = 2000

// clip keeps the beginning of a long error text.
func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxErrorMessage)], "")
}
