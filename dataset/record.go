package dataset

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Field names one thing a record can tell.
type Field uint8

// The fields of a record, each with the JSON names under which it is accepted, best first.
const (
	URL               Field = iota // url, raw_url, input_url
	Host                           // domain, normalized_domain
	RegistrableDomain              // registrable_domain
	DomainID                       // domain_id
	Authority                      // source_type, authority
	Title                          // title
	DiscoveryMethod                // discovery_method
	Language                       // language
	DiscoveredAt                   // discovered_at
	Confidence                     // confidence, a number
	fieldCount
)

// A name is one JSON name of a field. The names of one field follow each other, best first.
type name uint8

const (
	nameURL name = iota
	nameRawURL
	nameInputURL
	nameDomain
	nameNormalizedDomain
	nameRegistrableDomain
	nameDomainID
	nameSourceType
	nameAuthority
	nameTitle
	nameDiscoveryMethod
	nameLanguage
	nameDiscoveredAt
	nameConfidence
	nameCount
	unknown
)

var names = [nameCount]struct {
	json  string
	field Field
}{
	nameURL:               {"url", URL},
	nameRawURL:            {"raw_url", URL},
	nameInputURL:          {"input_url", URL},
	nameDomain:            {"domain", Host},
	nameNormalizedDomain:  {"normalized_domain", Host},
	nameRegistrableDomain: {"registrable_domain", RegistrableDomain},
	nameDomainID:          {"domain_id", DomainID},
	nameSourceType:        {"source_type", Authority},
	nameAuthority:         {"authority", Authority},
	nameTitle:             {"title", Title},
	nameDiscoveryMethod:   {"discovery_method", DiscoveryMethod},
	nameLanguage:          {"language", Language},
	nameDiscoveredAt:      {"discovered_at", DiscoveredAt},
	nameConfidence:        {"confidence", Confidence},
}

// nameOf finds a key among the names; a switch over constants compiles to a few comparisons.
func nameOf(key []byte) name {
	switch string(key) {
	case "url":
		return nameURL
	case "raw_url":
		return nameRawURL
	case "input_url":
		return nameInputURL
	case "domain":
		return nameDomain
	case "normalized_domain":
		return nameNormalizedDomain
	case "registrable_domain":
		return nameRegistrableDomain
	case "domain_id":
		return nameDomainID
	case "source_type":
		return nameSourceType
	case "authority":
		return nameAuthority
	case "title":
		return nameTitle
	case "discovery_method":
		return nameDiscoveryMethod
	case "language":
		return nameLanguage
	case "discovered_at":
		return nameDiscoveredAt
	case "confidence":
		return nameConfidence
	}
	return unknown
}

// MaxFieldBytes bounds every field but URL and Title, as written; what is longer is no identifier,
// method, language or date.
const MaxFieldBytes = 1024

// Record is one element of the dataset, valid until the next call of Next.
type Record struct {
	// Number counts the elements from 1; Offset is where this one begins in the file, in bytes.
	Number int
	Offset int64
	// Problem says why nothing of the element can be used: it is no object, or it is too large.
	Problem string

	raw    []byte
	spans  [nameCount]span // of the names in seen
	seen   uint16
	best   [fieldCount]name // of the fields in filled
	filled uint16
	bad    uint16 // names whose values cannot be used
}

// Get returns a field as UTF-8, unescaped as encoding/json does it. It is nil when the record has
// none: no name of the field, or null, "" or a bad value under all of them.
func (r *Record) Get(f Field) []byte {
	if r.filled>>f&1 == 0 {
		return nil
	}
	s := &r.spans[r.best[f]]
	if s.traits == 0 {
		return r.raw[s.start:s.end]
	}
	return unquote(r.raw[s.start-1:s.end+1], s.traits)
}

// JSON returns a field as valid JSON on one line, or nil like Get.
func (r *Record) JSON(f Field) []byte {
	if r.filled>>f&1 == 0 {
		return nil
	}
	s := &r.spans[r.best[f]]
	if s.kind == number {
		return r.raw[s.start:s.end]
	}
	quoted := r.raw[s.start-1 : s.end+1]
	if s.traits&surrogate != 0 || s.traits&nonASCII != 0 && !utf8.Valid(quoted) {
		return gjson.AppendJSONString(nil, string(unquote(quoted, s.traits)))
	}
	return quoted
}

// Bad lists the JSON names whose values could not be used: not a string (for confidence: not a
// number that fits a float64), or longer than MaxFieldBytes.
func (r *Record) Bad() []string {
	var list []string
	for set := r.bad; set != 0; set &= set - 1 {
		list = append(list, names[bits.TrailingZeros16(set)].json)
	}
	return list
}

// kind of JSON value, named by the byte it begins with; numbers are '0'.
type kind byte

const (
	absent kind = 0
	str    kind = '"'
	number kind = '0'
	object kind = '{'
	array  kind = '['
	truth  kind = 't'
	falsum kind = 'f'
	null   kind = 'n'
)

func (k kind) String() string {
	switch k {
	case str:
		return "a string"
	case number:
		return "a number"
	case object:
		return "an object"
	case array:
		return "an array"
	case null:
		return "null"
	}
	return "true or false"
}

// span is a value as it stands in the window: offsets from the beginning of the record, without the
// quotes of a string.
type span struct {
	start, end int32
	kind       kind
	traits     traits
}

// traits of a string: what keeps its bytes from being its value.
type traits uint8

const (
	escaped   traits = 1 << iota // holds a backslash
	surrogate                    // holds \uD800 to \uDFFF, in pairs or not
	nonASCII                     // may hold invalid UTF-8
)

// choose settles which of the names seen gives each field.
func (r *Record) choose() {
	for set := r.seen; set != 0; set &= set - 1 {
		n := name(bits.TrailingZeros16(set))
		s, f := &r.spans[n], names[n].field
		size := s.end - s.start
		ok := s.kind == str && (size <= MaxFieldBytes || f == URL || f == Title)
		if f == Confidence {
			ok = s.kind == number && size <= MaxFieldBytes && isFinite(r.raw[s.start:s.end])
		}
		switch {
		case s.kind == null || ok && size == 0:
		case !ok:
			r.bad |= 1 << n
		case r.filled>>f&1 == 0:
			r.filled |= 1 << f
			r.best[f] = n
		}
	}
}

// isFinite reports whether a JSON number fits a float64. Only an exponent or hundreds of digits can
// make it too large.
func isFinite(num []byte) bool {
	if len(num) < 300 && bytes.IndexByte(num, 'e') < 0 && bytes.IndexByte(num, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(num), 64)
	return err == nil
}

// unquote gives the value of a valid JSON string, with its quotes, as encoding/json would: escapes
// replaced, halves of surrogate pairs and invalid UTF-8 turned into U+FFFD.
func unquote(quoted []byte, t traits) []byte {
	v := quoted[1 : len(quoted)-1]
	if t&surrogate != 0 { // gjson swallows what follows half a pair
		var s string
		if json.Unmarshal(quoted, &s) == nil {
			return []byte(s)
		}
	}
	if t&escaped != 0 {
		s := gjson.Parse(unsafe.String(unsafe.SliceData(quoted), len(quoted))).Str
		v = unsafe.Slice(unsafe.StringData(s), len(s))
	}
	if t&nonASCII != 0 && !utf8.Valid(v) {
		v = []byte(string([]rune(string(v))))
	}
	return v
}
