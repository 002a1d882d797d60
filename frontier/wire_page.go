package frontier

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/epoch"
)

// A put carries up to MaxPut pages, which take encoding/json longer than the shard needs to queue them. So they are
// written and read by hand, in the same JSON; everything else of a put, and whatever is not as expected, is left to
// encoding/json.

// appendPut appends the JSON of a put. Fields of pages that are zero are left out: a missing field is zero, too.
func appendPut(dst []byte, p *Put) ([]byte, error) {
	rest := *p
	rest.Pages = nil
	head, err := encode(rest)
	if err != nil {
		return nil, err
	}
	size := len(head) + 64
	for i := range p.Pages {
		n := &p.Pages[i]
		size += len(n.URL) + len(n.Title) + len(n.Snippet) + len(n.Image) + 128
	}
	dst = append(slices.Grow(dst, size), `{"Pages":[`...)
	for i := range p.Pages {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendPage(dst, &p.Pages[i]); err != nil {
			return nil, err
		}
	}
	head = bytes.Replace(head[1:], []byte(`"Pages":null,`), nil, 1)
	return append(append(dst, `],`...), head...), nil
}

func appendPage(dst []byte, p *NewPage) (_ []byte, err error) {
	dst = append(dst, '{')
	text := func(name, value string) {
		if value == "" && name != "URL" || err != nil {
			return
		}
		dst = append(append(append(dst, '"'), name...), '"', ':')
		dst, err = appendText(dst, value)
		dst = append(dst, ',')
	}
	truth := func(name string, value bool) {
		if value {
			dst = append(append(append(dst, '"'), name...), `":true,`...)
		}
	}
	text("URL", p.URL)
	text("Title", p.Title)
	text("Type", p.Type)
	if p.LastMod != 0 {
		dst = append(strconv.AppendInt(append(dst, `"LastMod":`...), int64(p.LastMod), 10), ',')
	}
	truth("Refetch", p.Refetch)
	truth("Fresh", p.Fresh)
	text("Snippet", p.Snippet)
	text("Image", p.Image)
	text("FoundBy", p.FoundBy)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(p.Priority) || math.IsInf(p.Priority, 0) {
		_, err := json.Marshal(p.Priority)
		return nil, err
	}
	return append(strconv.AppendFloat(append(dst, `"Priority":`...), p.Priority, 'g', -1, 64), '}'), nil
}

// appendText appends a JSON string.
func appendText(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := encode(s)
			return append(dst, text...), err
		}
	}
	return append(append(append(dst, '"'), s...), '"'), nil
}

// UnmarshalPut decodes a put.
func UnmarshalPut(data []byte, p *Put) error {
	const head = `{"Pages":[`
	if !strings.HasPrefix(string(data[:min(len(data), len(head))]), head) {
		return json.Unmarshal(data, p)
	}
	r := pageReader{text: string(data[len(head):])}
	pages := r.pages()
	if r.err != nil || !strings.HasPrefix(r.text[r.at:], `"`) || strings.Contains(r.text[r.at:], `"Pages"`) {
		return json.Unmarshal(data, p)
	}
	err := json.Unmarshal([]byte("{"+r.text[r.at:]), p)
	p.Pages = pages
	return err
}

// errUnexpected is the error of a pageReader that meets anything that appendPut does not write.
var errUnexpected = errors.New("frontier: not as a put is written")

// pageReader reads the pages of appendPut. After an error it reads nothing.
type pageReader struct {
	text string // behind the bracket
	at   int
	err  error
}

// next returns the next byte and goes behind it.
func (r *pageReader) next() byte {
	if r.err != nil || r.at == len(r.text) {
		r.err = errUnexpected
		return 0
	}
	r.at++
	return r.text[r.at-1]
}

func (r *pageReader) expect(c byte) {
	if r.next() != c {
		r.err = errUnexpected
	}
}

// pages reads all pages, and the comma behind their list.
func (r *pageReader) pages() []NewPage {
	if strings.HasPrefix(r.text, "],") {
		r.at = 2
		return []NewPage{}
	}
	pages := make([]NewPage, 0, min(strings.Count(r.text, `},{`)+1, MaxPut))
	for r.err == nil {
		pages = append(pages, NewPage{})
		r.page(&pages[len(pages)-1])
		if c := r.next(); c == ']' {
			r.expect(',')
			return pages
		} else if c != ',' {
			r.err = errUnexpected
		}
	}
	return nil
}

func (r *pageReader) page(p *NewPage) {
	r.expect('{')
	for r.err == nil {
		switch r.string() {
		case "URL":
			p.URL = r.value()
		case "Title":
			p.Title = r.value()
		case "Type":
			p.Type = r.value()
		case "Snippet":
			p.Snippet = r.value()
		case "Image":
			p.Image = r.value()
		case "FoundBy":
			p.FoundBy = r.value()
		case "Priority":
			p.Priority = number(r, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
		case "LastMod":
			p.LastMod = epoch.Seconds(number(r, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }))
		case "Refetch":
			p.Refetch = r.truth()
		case "Fresh":
			p.Fresh = r.truth()
		default:
			r.err = errUnexpected
		}
		switch r.next() {
		case ',':
		case '}':
			return
		default:
			r.err = errUnexpected
		}
	}
}

// value reads a colon and a string.
func (r *pageReader) value() string {
	r.expect(':')
	return r.string()
}

// string reads a string. One with escapes is decoded by encoding/json, as is one that is not UTF-8.
func (r *pageReader) string() string {
	r.expect('"')
	if r.err != nil {
		return ""
	}
	end := strings.IndexByte(r.text[r.at:], '"')
	if end < 0 {
		r.err = errUnexpected
		return ""
	}
	s := r.text[r.at : r.at+end]
	if !isPlain(s) {
		return r.escaped()
	}
	r.at += end + 1
	return s
}

// isPlain reports whether a JSON string of s without its closing quote stands for s.
func isPlain(s string) bool {
	high := byte(0)
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '\\' {
			return false
		}
		high |= s[i]
	}
	return high < utf8.RuneSelf || utf8.ValidString(s)
}

// escaped reads a string behind its opening quote.
func (r *pageReader) escaped() (s string) {
	begin := r.at - 1
	for {
		switch c := r.next(); {
		case r.err != nil:
			return ""
		case c == '\\':
			r.next()
		case c == '"':
			r.err = json.Unmarshal([]byte(r.text[begin:r.at]), &s)
			return s
		}
	}
}

func (r *pageReader) truth() bool {
	r.expect(':')
	const yes = "true"
	if !strings.HasPrefix(r.text[r.at:], yes) {
		r.err = errUnexpected
		return false
	}
	r.at += len(yes)
	return true
}

// number reads a colon and a number as JSON writes them.
func number[N int64 | float64](r *pageReader, parse func(string) (N, error)) (n N) {
	r.expect(':')
	begin := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.0123456789Ee", r.text[r.at]) >= 0 {
		r.at++
	}
	s := r.text[begin:r.at]
	n, err := parse(s)
	if err != nil || !json.Valid([]byte(s)) {
		r.err = errUnexpected
	}
	return n
}
