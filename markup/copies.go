package markup

import (
	"bytes"
	"strings"
)

// Sites serve a page under several URLs: with parameters that say where a visitor came from, and as copies for
// phones (AMP) and for printers. What follows recognises them by their names.

// maxIdle is more than the length of any of the names below.
const maxIdle = 16

// trackingParameters record where a visitor came from; the page is the same without them. They
// stand here in lower case, and in URLs in any.
var trackingParameters = set(
	"gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid mc_cid mc_eid _ga _gl _hsenc _hsmi" +
		" mkt_tok vero_id oly_enc_id oly_anon_id wt_mc wt.mc_id at_medium at_campaign cmpid ncid ocid xtor spm " +
		"ref_src smid sr_share")

// copyParameters choose a copy where their value means yes, formParameters where it is one of copyForms.
var (
	copyParameters = set("amp isamp print printable printpage printview printversion printfriendly printmode isprint")
	formParameters = set("outputtype output view format mode action display layout template tmpl version")
	copyForms      = set("amp print printable printview printversion printer")
	yes            = set("1 true yes y on")
)

func set(words string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(words) {
		names[name] = true
	}
	return names
}

// isIdle reports whether the page is the same without a field of its query.
func isIdle(field []byte) bool {
	name, value, _ := bytes.Cut(field, []byte("="))
	if len(name) > maxIdle {
		name = name[:maxIdle]
	}
	var buf, valueBuf [maxIdle]byte
	name = AppendLower(buf[:0], name)
	if len(name) > 4 && string(name[:4]) == "utm_" || trackingParameters[string(name)] {
		return true
	}
	if len(value) >= maxIdle {
		return false
	}
	value = AppendLower(valueBuf[:0], value)
	return copyParameters[string(name)] && (len(value) == 0 || yes[string(value)]) ||
		formParameters[string(name)] && copyForms[string(value)]
}

// original removes the segment that marks a path as a copy, in place, and returns the new length:
// "/2026/story-7/amp", "/amp/2026/story-7" and "/story-7.amp.html" are copies. "/guides/print" is not: the rest must
// look like the name of a page.
func original(path []byte) int {
	for {
		n := withoutExtension(path[:withoutLast(path[:withoutFirst(path)])])
		if n == len(path) {
			return n
		}
		path = path[:n]
	}
}

func isCopyName(s []byte) bool {
	return len(s) == 3 && bytes.EqualFold(s, []byte("amp")) || len(s) == 5 && bytes.EqualFold(s, []byte("print"))
}

// withoutFirst removes names of copies from the beginning of a path.
func withoutFirst(path []byte) int {
	rest := path
	for {
		end := 1 + max(bytes.IndexByte(rest[1:min(len(rest), len("/print/"))], '/'), 0)
		if !isCopyName(rest[1:end]) || len(rest) == len(path) && !namesPage(lastSegment(path[end:])) {
			break
		}
		// the number of a page elsewhere, or an edition
		if end == len("/print") && bytes.IndexByte(rest[end+1:], '/') < 0 {
			break
		}
		rest = rest[end:]
	}
	if len(rest) == len(path) {
		return len(path)
	}
	return copy(path, rest)
}

func withoutLast(path []byte) int {
	last := lastSegment(path)
	slash := len(path) - len(last) // after it, the final slash not counted
	if len(last) > 0 && path[len(path)-1] == '/' {
		slash--
	}
	if !isCopyName(last) || slash < 2 || !namesPage(lastSegment(path[:slash-1])) {
		return len(path)
	}
	if path[len(path)-1] == '/' {
		return slash
	}
	return slash - 1
}

// withoutExtension cuts "amp" and "print" out of the extensions of a file name.
func withoutExtension(path []byte) int {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	dot := bytes.IndexByte(name, '.')
	if dot <= 0 {
		return len(path)
	}
	kept := dot
	for dot < len(name) {
		next := len(name)
		if end := bytes.IndexByte(name[dot+1:], '.'); end >= 0 {
			next = dot + 1 + end
		}
		if !isCopyName(name[dot+1 : next]) {
			kept += copy(name[kept:], name[dot:next])
		}
		dot = next
	}
	return len(path) - len(name) + kept
}

// lastSegment is the last segment of a path that is not empty.
func lastSegment(path []byte) []byte {
	path = bytes.TrimSuffix(path, []byte("/"))
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// minPageName is the length of a name with a hyphen that is hardly that of a section.
const minPageName = 6

// namesPage reports whether a segment looks like the name of a page rather than of a section: it has a number, an
// extension, or several words.
func namesPage(segment []byte) bool {
	for _, c := range segment {
		if digit(c) || c == '.' || c == '%' || (c == '-' || c == '_') && len(segment) >= minPageName {
			return true
		}
	}
	return false
}
