// Package robots reads robots.txt: the Robots Exclusion Protocol of RFC 9309, read as leniently as
// Google's open-source parser reads it, and what real files have beside the rules: Sitemap,
// Crawl-delay and Content-Signal lines, files saved as UTF-16 or wrapped in HTML, and web pages
// served in place of the file. No line makes another one ineffective.
//
// Evaluate decides which rules apply after a fetch, Parse reads a body, File.Agent picks the group that
// applies to a crawler, and Group answers for single URLs. Everything here is a pure function; a
// File and a Group are safe for concurrent use.
package robots

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBytes is the part of a file that is read, the 500 KiB of RFC 9309 section 2.5. Pass Parse one byte more of a
// longer file, so that it knows that the file is truncated.
const MaxBytes = 512_000

// File is a parsed robots.txt file.
type File struct {
	// Truncated: the body was longer than MaxBytes. What follows is ignored, and so is the line that the
	// limit cuts, since half a rule may forbid more than the whole one.
	Truncated bool
	// IsHTML: the body is a web page (a soft 404, a home page, a bot challenge), not a robots.txt
	// file, and so has no rules and no sitemaps. Files that are merely wrapped in HTML have.
	IsHTML bool

	records []record
}

// record is one line that means something.
type record struct {
	kind  kind
	line  int32 // counted from 1
	value string
}

// Parse reads a robots.txt body. It cannot fail: lines that make no sense are skipped.
func Parse(body []byte) *File {
	truncated := len(body) > MaxBytes
	body = body[:min(len(body), MaxBytes+1)]
	marked, body := cutMark(body)
	if marked != "" {
		if f := parseText(marked, truncated); f.IsHTML || len(f.records) > 0 {
			return f
		}
		// Editors and servers also write the UTF-16 mark before text in other encodings.
	}
	return parseText(decode(body), truncated)
}

// parseText parses a body as text. If it is truncated, its last line is incomplete.
func parseText(text string, truncated bool) *File {
	f := &File{Truncated: truncated}
	if truncated {
		text = text[:max(strings.LastIndexAny(text, "\r\n"), 0)]
	}
	text = cutAtNUL(text)
	if !isMarkup(text) {
		f.read(text)
		return f
	}
	f.read(stripMarkup(text))
	if !f.hasContent() {
		f.IsHTML, f.records = true, nil
	}
	return f
}

// cutAtNUL ends each line at its first NUL, as Google's parser does, to which lines are C strings.
// Files are padded with NULs, or have them for characters that were lost.
func cutAtNUL(text string) string {
	if strings.IndexByte(text, 0) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		line, rest, found := strings.Cut(text, "\x00")
		b.WriteString(line)
		end := strings.IndexAny(rest, "\r\n")
		if !found || end < 0 {
			return b.String()
		}
		text = rest[end:]
	}
}

// read takes the records from text. Lines end with LF, CR or CRLF, and nothing else; softBreak divides
// a line without counting as one.
func (f *File) read(text string) {
	for n := int32(1); text != ""; n++ {
		var line string
		line, text = cutLine(text)
		for more := true; more; {
			var part string
			part, line, more = strings.Cut(line, softBreak)
			if k, value := parseLine(part); k != unknown {
				f.records = append(f.records, record{k, n, value})
			}
		}
	}
}

func cutLine(text string) (line, rest string) {
	i := 0
	for i < len(text) && text[i] != '\n' && text[i] != '\r' {
		i++
	}
	line, rest = text[:i], text[i:]
	if strings.HasPrefix(rest, "\r\n") {
		return line, rest[2:]
	}
	return line, rest[min(1, len(rest)):]
}

// hasContent reports whether the file has a group with something in it, or names a sitemap: that
// distinguishes a robots.txt file wrapped in HTML from a web page.
func (f *File) hasContent() bool {
	agent := false
	for _, r := range f.records {
		switch r.kind {
		case userAgent:
			agent = true
		case sitemap:
			if strings.Contains(r.value, "/") && !strings.ContainsAny(r.value, " \t") {
				return true
			}
		default:
			if agent {
				return true
			}
		}
	}
	return false
}

// cutMark takes a mark of UTF-16 off body, and returns what follows as UTF-8; "" where there is no mark.
// RFC 9309 section 2.2.2 lets a crawler bridge other encodings that it detects; UTF-16 is the one that
// editors produce.
func cutMark(body []byte) (marked string, rest []byte) {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return decodeUTF16(body[2:], false), body[2:]
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return decodeUTF16(body[2:], true), body[2:]
	}
	return "", body
}

// decode returns a body without a UTF-16 mark as UTF-8 without a byte order mark.
func decode(body []byte) string {
	if len(body) >= 4 {
		switch zero := [4]bool{body[0] == 0, body[1] == 0, body[2] == 0, body[3] == 0}; zero {
		case [4]bool{false, true, false, true}:
			return decodeUTF16(body, false)
		case [4]bool{true, false, true, false}:
			return decodeUTF16(body, true)
		}
	}
	const mark = "\ufeff" // also when it was cut short, as Google's parser has it
	n := 0
	for n < len(mark) && n < len(body) && body[n] == mark[n] {
		n++
	}
	return string(body[n:])
}

func decodeUTF16(body []byte, bigEndian bool) string {
	var b strings.Builder
	b.Grow(len(body) / 2)
	unit := func(i int) rune {
		if bigEndian {
			return rune(body[i])<<8 | rune(body[i+1])
		}
		return rune(body[i+1])<<8 | rune(body[i])
	}
	for i := 0; i+1 < len(body); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if i+3 < len(body) {
				pair = utf16.DecodeRune(r, unit(i+2))
			}
			if r = pair; r != utf8.RuneError {
				i += 2
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Sitemaps lists the sitemaps that the file names, in its order and each once, in any group. Relative ones are
// resolved against base, the URL of the file; without a base they are left out, as is everything that is not http or
// https.
func (f *File) Sitemaps(base string) []string {
	list := []string{}
	seen := map[string]bool{}
	b, err := url.Parse(base)
	if err != nil || b.Host == "" {
		b = nil
	}
	add := func(value string) {
		if u := resolve(b, value); u != "" {
			if key := lowerAuthority(u); !seen[key] {
				seen[key] = true
				list = append(list, u)
			}
		}
	}
	for _, r := range f.records {
		if r.kind != sitemap {
			continue
		}
		values := strings.FieldsFunc(r.value, isBlank)
		for _, v := range values {
			if !isAbsolute(v) { // one URL with spaces in it
				values = []string{r.value}
				break
			}
		}
		for _, v := range values {
			add(strings.Trim(v, `"'<>`))
		}
	}
	return list
}

// resolve makes a Sitemap value absolute, or returns "".
func resolve(base *url.URL, value string) string {
	switch {
	case isAbsolute(value):
		if !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			if _, rest, _ := strings.Cut(value, "://"); rest == "" || rest[0] == '/' {
				return ""
			}
			return value // as written: it need not be a URL that net/url likes
		}
	case base == nil || value == "":
		return ""
	default:
		// "www.example.com/sitemap.xml" lacks only the scheme.
		host, _, _ := strings.Cut(value, "/")
		if strings.EqualFold(strings.TrimPrefix(host, "www."), strings.TrimPrefix(base.Host, "www.")) {
			value = "//" + value
		}
	}
	u, err := url.Parse(strings.ReplaceAll(value, " ", "%20")) // net/url leaves them in queries
	if err != nil {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	return u.String()
}

func isAbsolute(s string) bool { return hasPrefixFold(s, "http://") || hasPrefixFold(s, "https://") }

// lowerAuthority lowers scheme and host of an absolute URL, whose case makes no difference.
func lowerAuthority(u string) string {
	start := strings.Index(u, "://") + len("://")
	end := strings.IndexByte(u[start:], '/')
	if end < 0 {
		return strings.ToLower(u)
	}
	return strings.ToLower(u[:start+end]) + u[start+end:]
}
