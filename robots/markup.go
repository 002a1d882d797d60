package robots

import "strings"

// softBreak stands for a tag that ends a line of text. No file has it of its own: lines end before it.
const softBreak = "\x00"

// openers are the elements that a web page, or a file that an editor or server wrapped in HTML,
// begins with: those of the WHATWG MIME Sniffing standard (section 7.1) and others met in files.
const openers = " !doctype html head body title meta link script noscript style base iframe h1 h2 h3 div " +
	"font table form center section main header img a b i p br pre code span ul "

// inline are the elements within a line of text.
const inline = " a b i u em strong span font code tt small big abbr mark wbr "

// isMarkup: the text begins like HTML, or a line of it opens the html, head or body element.
func isMarkup(text string) bool {
	start := trimHTML(text)
	if strings.HasPrefix(start, "<?xml") { // XHTML
		_, start, _ = strings.Cut(start, "?>")
		start = trimHTML(start)
	}
	if strings.HasPrefix(start, "<!--") {
		return true
	}
	if !strings.HasPrefix(start, "</") && isOneOf(openers, tagName(start)) {
		return true
	}
	if strings.IndexByte(text, '<') < 0 {
		return false
	}
	for text != "" {
		var line string
		line, text = cutLine(text)
		if isOneOf(" !doctype html head body ", tagName(trimHTML(line))) {
			return true
		}
	}
	return false
}

// trimHTML removes what HTML takes for white space in front of a tag.
func trimHTML(text string) string { return strings.TrimLeft(text, " \t\r\n\v\f") }

// stripMarkup leaves the text of an HTML document: tags within a line vanish, others become a
// softBreak, comments, scripts and style sheets go as a whole. Line numbers stay as they were.
func stripMarkup(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	missing := map[string]bool{} // terminators that do not come any more
	drop := func(n int, instead string) {
		b.WriteString(instead)
		for _, c := range []byte(text[:n]) {
			if c == '\n' || c == '\r' {
				b.WriteByte(c)
			}
		}
		text = text[n:]
	}
	until := func(terminator string) int {
		if missing[terminator] {
			return -1
		}
		end := indexFold(text, terminator)
		missing[terminator] = end < 0
		return end
	}
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			b.WriteString(text)
			return entities.Replace(b.String())
		}
		b.WriteString(text[:i])
		text = text[i:]
		if strings.HasPrefix(text, "<!--") {
			if end := until("-->"); end >= 0 {
				drop(end+len("-->"), "")
				continue
			}
		}
		name := tagName(text)
		if (name == "script" || name == "style") && text[1] != '/' {
			if end := until("</" + name); end >= 0 {
				drop(end, softBreak)
				continue
			}
		}
		// A tag has no other within; so "/*<" in a rule costs no more than itself.
		if end := strings.IndexAny(text[1:], "<>"); name != "" && end >= 0 && text[1+end] == '>' {
			if isOneOf(inline, name) {
				drop(end+2, "")
			} else {
				drop(end+2, softBreak)
			}
			continue
		}
		b.WriteByte('<')
		text = text[1:]
	}
}

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&nbsp;", " ")

// tagName is the lower-case name of the tag, opening or closing, that text starts with, or "".
func tagName(text string) string {
	if len(text) < 2 || text[0] != '<' {
		return ""
	}
	text = strings.TrimPrefix(text[1:], "/")
	n := 0
	for n < len(text) && (isTokenByte(text[n]) || n == 0 && text[n] == '!') {
		n++
	}
	if n < len(text) && strings.IndexByte(" \t\r\n\f/>", text[n]) < 0 {
		return "" // such as <https://example.com/>
	}
	return strings.ToLower(text[:n])
}

func isOneOf(list, word string) bool {
	return word != "" && strings.Contains(list, " "+word+" ")
}

// indexFold is strings.Index without regard to case, for a needle that starts with a symbol.
func indexFold(s, needle string) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], needle[0])
		if i < 0 {
			return -1
		}
		from += i
		if hasPrefixFold(s[from:], needle) {
			return from
		}
		from++
	}
}
