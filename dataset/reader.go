// Package dataset reads raw files: the URLs that the Research Engine discovered, as a JSON array of records or an
// object {"meta": …, "records": […]}. It streams: memory does not grow with the file.
//
// It accepts a file exactly if encoding/json does (RFC 8259, at most 10,000 levels of nesting, an optional UTF-8 byte
// order mark), with one exception: a second "records" in one object is an error, because the first has been returned
// by then.
package dataset

import (
	"fmt"
	"io"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/swar"
)

const (
	// MaxRecordBytes bounds one record. A larger one is a bad record, not a bad file.
	MaxRecordBytes = 1 << 20

	maxDepth   = 10_000    // of nesting, as in encoding/json
	readSize   = 256 << 10 // minimum space offered to one Read
	windowSize = 2 * readSize
	padding    = 16 // zero bytes after the window, so that words can be loaded anywhere

	wanted = `upload a JSON array of records or an object with "records"`
)

// Reader reads the records of one file after the other. Call Reset for every file, which reuses the buffer. The zero
// value is ready for Reset.
type Reader struct {
	src     io.Reader
	srcErr  error // what ended src
	buf     []byte
	pos     int   // of the next byte
	end     int   // of the bytes read
	keep    int   // start of the record that must stay in the window, or none
	base    int64 // offset of buf[0] in the file
	started bool
	wrapped bool // the records are in an object
	err     error
	nesting [(maxDepth + 63) / 64]uint64 // a bit for each open level: 1 is an object
	record  Record
	now     *members // of the current record
	before  *members // of the previous record
}

// none means that no byte before pos is needed.
const none = -1

// NewReader returns a Reader of one file.
func NewReader(src io.Reader) *Reader {
	r := &Reader{}
	r.Reset(src)
	return r
}

// Reset starts another file, and frees the memory of a large record.
func (r *Reader) Reset(src io.Reader) {
	buf := r.buf
	if len(buf) != windowSize+padding {
		buf = make([]byte, windowSize+padding)
	}
	clear(buf[:padding])
	now, before := r.now, r.before
	if now == nil {
		now, before = &members{}, &members{}
	}
	before.start()
	*r = Reader{src: src, buf: buf, keep: none, now: now, before: before}
}

// Offset returns the number of bytes parsed.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// Next returns the next record, or io.EOF after the last one. A malformed file is an error of kind contract.Parse
// that names the offset, and wraps io.ErrUnexpectedEOF if the file ends too early. Errors of the underlying reader
// are returned unchanged. Reading may continue after a record with a Problem.
func (r *Reader) Next() (*Record, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &r.record, nil
}

func (r *Reader) next() error {
	first := !r.started
	if first {
		r.started = true
		if err := r.open(); err != nil {
			return err
		}
	}
	c := r.space()
	if c == ']' {
		r.pos++
		return r.close()
	}
	if !first {
		if c != ',' {
			return r.syntax("expected ',' or ']' after a record")
		}
		r.pos++
		c = r.space()
	}
	r.record.Number++
	r.record.Offset = r.Offset()
	r.record.Problem = ""
	r.record.good, r.record.bad, r.record.same, r.record.before = 0, 0, 0, 0
	depth := 2
	if r.wrapped {
		depth = 3
	}
	if c != '{' {
		k, err := r.skip(c, depth-1)
		if err == nil {
			r.record.Problem = "is " + k.String() + ", not an object"
		}
		return err
	}
	return r.object(depth)
}

// open reads up to the first record.
func (r *Reader) open() error {
	for r.end < 3 && r.more() {
	}
	switch b := r.buf[:r.end]; {
	case len(b) >= 3 && string(b[:3]) == "\xef\xbb\xbf":
		r.pos = 3
	case len(b) >= 2 && (string(b[:2]) == "\xff\xfe" || string(b[:2]) == "\xfe\xff"):
		return r.syntax("the file is UTF-16; upload it as UTF-8")
	}
	switch c := r.space(); {
	case c == '[':
		r.pos++
		return nil
	case c == '{':
		r.pos++
		r.wrapped = true
		return r.findRecords()
	case r.ended() && r.srcErr == io.EOF:
		return r.truncated("the file is empty; " + wanted)
	default:
		k, err := r.skip(c, 0)
		if err != nil {
			return err
		}
		return r.parseError("the file is " + k.String() + "; " + wanted)
	}
}

// findRecords reads the members of the outer object up to the content of "records".
func (r *Reader) findRecords() error {
	for first := true; ; first = false {
		key, more, err := r.member(first)
		if err != nil {
			return err
		}
		if !more {
			return r.parseError("the object has no \"records\"; " + wanted)
		}
		isRecords := string(key) == "records"
		c, err := r.colon()
		if err != nil {
			return err
		}
		if isRecords && c == '[' {
			r.pos++
			return nil
		}
		k, err := r.skip(c, 1)
		if err != nil {
			return err
		}
		if isRecords {
			return r.parseError("\"records\" is " + k.String() + "; upload an array of records")
		}
	}
}

// close reads what follows the records.
func (r *Reader) close() error {
	for r.wrapped {
		key, more, err := r.member(false)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if string(key) == "records" {
			return r.parseError("the object has \"records\" twice; upload one array of records")
		}
		c, err := r.colon()
		if err != nil {
			return err
		}
		if _, err := r.skip(c, 1); err != nil {
			return err
		}
	}
	r.space()
	if !r.ended() {
		return r.syntax("the file goes on after its JSON")
	}
	return r.srcErr
}

// member reads the key of the outer object's next member; the key is valid until the window moves.
func (r *Reader) member(first bool) (key []byte, more bool, err error) {
	c := r.space()
	if c == '}' {
		r.pos++
		return nil, false, nil
	}
	if !first {
		if c != ',' {
			return nil, false, r.syntax("expected ',' or '}'")
		}
		r.pos++
		c = r.space()
	}
	if c != '"' {
		return nil, false, r.syntax("expected a key")
	}
	r.keep = r.pos
	s, err := r.text()
	if err != nil {
		return nil, false, err
	}
	if r.keep != none { // otherwise it is too long to be a name
		key = r.valueOf(&s)
	}
	r.keep = none
	return key, true, nil
}

// object reads a record, whose '{' is at pos, into r.record.
func (r *Reader) object(depth int) error {
	r.keep = r.pos
	r.now.start()
	r.pos++
	for first := true; ; first = false {
		r.repeat()
		first = first && r.now.count == 0
		c := r.space()
		if c == '}' {
			r.pos++
			break
		}
		if !first {
			if c != ',' {
				return r.syntax("expected ',' or '}' in a record")
			}
			r.pos++
			c = r.space()
		}
		if err := r.recordMember(c, depth); err != nil {
			return err
		}
	}
	if r.keep == none || r.pos-r.keep > MaxRecordBytes {
		r.record.Problem = "is larger than 1 MiB"
		r.record.good, r.record.bad = 0, 0
	} else {
		r.record.raw = r.buf[r.keep:r.pos]
		r.now.end(&r.record, r.keep, r.before)
		r.record.before, r.record.goodBefore, r.record.doubled = r.before.number, r.before.good,
			r.before.doubled|r.now.doubled
		r.now, r.before = r.before, r.now
	}
	r.keep = none
	return nil
}

// recordMember reads a member of a record; its key begins with c at pos.
func (r *Reader) recordMember(c byte, depth int) error {
	if c != '"' {
		return r.syntax("expected a key")
	}
	s, err := r.text()
	if err != nil {
		return err
	}
	n := unknown
	if r.keep != none {
		n = nameOf(r.valueOf(&s))
	}
	if c, err = r.colon(); err != nil {
		return err
	}
	if c == '"' {
		s, err = r.text()
	} else {
		s = span{start: int32(r.pos - r.keep)}
		s.kind, err = r.skip(c, depth)
		s.end = int32(r.pos - r.keep)
	}
	if err != nil || r.keep == none {
		return err
	}
	r.take(n, s)
	return nil
}

// valueOf returns the value of a key.
func (r *Reader) valueOf(s *span) []byte {
	raw := r.buf[r.keep:]
	if s.traits&escaped != 0 {
		return unquote(raw[s.start-1:s.end+1], s.traits)
	}
	return raw[s.start:s.end]
}

// colon reads the ':' after a key, and returns the first byte of the value.
func (r *Reader) colon() (byte, error) {
	if r.space() != ':' {
		return 0, r.syntax("expected ':' after a key")
	}
	r.pos++
	return r.space(), nil
}

// space skips white space and returns the next byte without consuming it, or 0 at the end of the file.
func (r *Reader) space() byte {
	if c := r.buf[r.pos]; c > ' ' {
		return c
	}
	return r.skipSpace()
}

func (r *Reader) skipSpace() byte {
	for {
		c := r.buf[r.pos]
		switch c {
		case ' ', '\n', '\r', '\t':
			r.pos++
			continue
		case 0:
			if r.pos == r.end && r.more() {
				continue
			}
		}
		return c
	}
}

// peek returns the next byte without consuming it, or 0 at the end of the file.
func (r *Reader) peek() byte {
	if r.pos == r.end && !r.more() {
		return 0
	}
	return r.buf[r.pos]
}

func (r *Reader) ended() bool { return r.pos == r.end && !r.more() }

// text reads a string whose quote is at pos.
func (r *Reader) text() (span, error) {
	r.pos++
	s := span{start: int32(r.pos - r.keep), kind: str}
	for {
		end, seen := plainEnd(r.buf, r.pos)
		r.pos = end
		s.traits |= seen
		switch r.buf[r.pos] {
		case '"':
			s.end = int32(r.pos - r.keep)
			r.pos++
			return s, nil
		case '\\':
			r.pos++
			t, err := r.escape()
			if err != nil {
				return s, err
			}
			s.traits |= escaped | t
		default:
			if r.peek() < ' ' {
				return s, r.syntax("a string holds a control character")
			}
		}
	}
}

// plainEnd returns the end of the plain text from i on: a quote, backslash or control character. The padding contains
// one. seen is nonASCII or nothing.
func plainEnd(b []byte, i int) (end int, seen traits) {
	var all uint64
	for {
		w, v := swar.Load(b, i), swar.Load(b, i+8) // every jump costs more than a word in WebAssembly
		m, n := special(w), special(v)
		if m|n == 0 {
			all |= w | v
			i += 16
			continue
		}
		if m == 0 {
			all |= w
			i += 8
			w, m = v, n
		}
		before := swar.First(m)
		all |= w & (1<<(8*before) - 1)
		if all&swar.Highs != 0 {
			seen = nonASCII
		}
		return i + before, seen
	}
}

// special marks the quotes, backslashes and control characters among eight bytes in their highest bits. Only the
// lowest mark is exact: those above might come from a borrow.
func special(x uint64) uint64 {
	return (swar.Zeroes(x^'"'*swar.Ones) | swar.Zeroes(x^'\\'*swar.Ones) | (x-' '*swar.Ones)&^x) & swar.Highs
}

// escape reads what follows a backslash, and reports whether it is one half of a surrogate pair.
func (r *Reader) escape() (traits, error) {
	switch r.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.pos++
		return 0, nil
	case 'u':
		r.pos++
		var digits [4]byte
		for i := range digits {
			c := r.peek()
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0, r.syntax("expected four hexadecimal digits")
			}
			digits[i] = c
			r.pos++
		}
		if digits[0]|0x20 == 'd' && digits[1] >= '8' {
			return surrogate, nil
		}
		return 0, nil
	}
	return 0, r.syntax("a string holds an unknown escape")
}

// skip reads a value that begins with c at pos and lies below depth levels.
func (r *Reader) skip(c byte, depth int) (kind, error) {
	floor := depth
	result := absent
	for {
		k, err := r.scalar(c)
		if err != nil {
			return k, err
		}
		if result == absent {
			result = k
		}
		switch k {
		case object, array:
			if depth == maxDepth {
				return k, r.syntax("more than 10,000 levels of nesting")
			}
			closing := byte(']')
			if k == object {
				closing = '}'
				r.nesting[depth/64] |= 1 << (depth % 64)
			} else {
				r.nesting[depth/64] &^= 1 << (depth % 64)
			}
			depth++
			if c = r.space(); c != closing {
				if k == object {
					if c, err = r.key(c); err != nil {
						return k, err
					}
				}
				continue
			}
		}
		// A value is complete: on to the next one of its array or object.
		for {
			if depth == floor {
				return result, nil
			}
			inObject := r.nesting[(depth-1)/64]>>((depth-1)%64)&1 == 1
			c = r.space()
			if c == '}' && inObject || c == ']' && !inObject {
				r.pos++
				depth--
				continue
			}
			if c != ',' {
				return k, r.syntax("expected ',' or the end of an array or object")
			}
			r.pos++
			c = r.space()
			if inObject {
				if c, err = r.key(c); err != nil {
					return k, err
				}
			}
			break
		}
	}
}

// key reads a key that begins with c, its ':', and returns the first byte of the value.
func (r *Reader) key(c byte) (byte, error) {
	if c != '"' {
		return 0, r.syntax("expected a key")
	}
	if _, err := r.text(); err != nil {
		return 0, err
	}
	return r.colon()
}

// scalar reads a string, number or literal that begins with c at pos, or the opening bracket of an
// object or array.
func (r *Reader) scalar(c byte) (kind, error) {
	switch c {
	case '"':
		_, err := r.text()
		return str, err
	case '{', '[':
		r.pos++
		return kind(c), nil
	case 't':
		return boolean, r.literal("true")
	case 'f':
		return boolean, r.literal("false")
	case 'n':
		return null, r.literal("null")
	}
	return number, r.number(c)
}

func (r *Reader) literal(word string) error {
	for i := range len(word) {
		if r.peek() != word[i] {
			return r.syntax("expected " + word)
		}
		r.pos++
	}
	return nil
}

// number reads a number by the grammar of RFC 8259, section 6.
func (r *Reader) number(c byte) error {
	if c == '-' {
		r.pos++
		c = r.peek()
	} else if c < '0' || c > '9' {
		return r.syntax("expected a value")
	}
	if c == '0' {
		r.pos++
	} else if !r.digits() {
		return r.syntax("expected a digit")
	}
	if r.peek() == '.' {
		r.pos++
		if !r.digits() {
			return r.syntax("expected a digit")
		}
	}
	if r.peek()|0x20 == 'e' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		if !r.digits() {
			return r.syntax("expected a digit")
		}
	}
	return nil
}

// digits consumes all digits at pos, and reports whether there was one.
func (r *Reader) digits() bool {
	any := false
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		any = true
		r.pos++
	}
	return any
}

// more moves the window and reads. It returns false if src has ended or failed. Call it only when every byte read was
// consumed. Positions other than pos are relative to keep, which stays in the window.
func (r *Reader) more() bool {
	if r.srcErr != nil {
		return false
	}
	if r.keep != none && r.pos-r.keep > MaxRecordBytes {
		r.keep = none
	}
	from := r.keep
	if from == none {
		from = r.pos
	}
	if from > 0 && len(r.buf)-padding-r.end < readSize {
		r.end = copy(r.buf, r.buf[from:r.end])
		r.base += int64(from)
		r.pos -= from
		r.before.count = 0 // it is gone
		if r.keep != none {
			r.keep = 0
		}
	}
	if len(r.buf)-padding-r.end < readSize {
		buf := make([]byte, 2*(len(r.buf)-padding)+padding)
		copy(buf, r.buf[:r.end])
		r.buf = buf
	}
	n := 0
	for tries := 0; n == 0 && r.srcErr == nil; tries++ {
		if tries == 100 {
			r.srcErr = io.ErrNoProgress
			break
		}
		n, r.srcErr = r.src.Read(r.buf[r.end : len(r.buf)-padding])
	}
	r.end += n
	clear(r.buf[r.end : r.end+padding])
	return n > 0
}

// syntax returns the error for the byte at pos, or for the end of the file.
func (r *Reader) syntax(expected string) error {
	if r.ended() {
		if r.srcErr != io.EOF {
			return r.srcErr
		}
		return r.truncated("the JSON ends unfinished; upload the whole file")
	}
	return r.parseError(fmt.Sprintf("%s, found %q", expected, r.buf[r.pos]))
}

func (r *Reader) truncated(what string) error {
	err := r.parseError(what)
	err.Err = io.ErrUnexpectedEOF
	return err
}

func (r *Reader) parseError(what string) *contract.Error {
	return &contract.Error{Kind: contract.Parse, Op: "dataset.Next",
		Message: fmt.Sprintf("byte %d: %s", r.Offset(), what)}
}
