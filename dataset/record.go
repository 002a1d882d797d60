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

// Field is one property of a record.
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
	unknown // any other
	nameKinds
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

// nameSet is a bit set of names.
type nameSet uint16

func (n name) set() nameSet { return 1 << n }

// fieldNames are the names of each field.
var fieldNames = func() (list [fieldCount]nameSet) {
	for n := range nameCount {
		list[names[n].field] |= n.set()
	}
	return list
}()

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

// MaxFieldBytes caps every field but URL and Title, as written.
const MaxFieldBytes = 1024

// Record is one element of the dataset, valid until the next call of Next.
type Record struct {
	// Number counts the elements from 1; Offset is the position of this one in the file, in bytes.
	Number int
	Offset int64
	// Problem is the reason why the element cannot be used: it is not an object, or too large.
	Problem string

	raw   []byte
	spans [nameKinds]span // of the names in good
	good  nameSet
	bad   nameSet // names with unusable values

	before     int     // number of the record it was compared with; 0 for none
	goodBefore nameSet // good of that record
	same       nameSet // names whose values equal those of that record
	doubled    nameSet // names that might be duplicated in either
}

// Fields is a set of fields.
type Fields struct{ names nameSet }

// Add puts a field into the set.
func (s *Fields) Add(f Field) { s.names |= fieldNames[f] }

// SameAs reports whether the fields are written as in the record with a number, so that Get and JSON return the same
// for both. False means unknown: only consecutive records are compared, as far as that is cheap.
func (r *Record) SameAs(number int, fields Fields) bool {
	return r.before == number && number > 0 &&
		(r.good^r.goodBefore)&fields.names == 0 &&
		r.good&fields.names&(r.doubled|^r.same) == 0
}

// Get returns a field as UTF-8, unescaped as by encoding/json. It returns nil if all names of the field are missing,
// null, "" or bad.
func (r *Record) Get(f Field) []byte {
	s := r.best(f)
	switch {
	case s == nil:
		return nil
	case s.traits == 0:
		return r.raw[s.start:s.end]
	}
	return unquote(r.raw[s.start-1:s.end+1], s.traits)
}

// JSON returns a field as valid JSON on one line, or nil like Get.
func (r *Record) JSON(f Field) []byte {
	s := r.best(f)
	if s == nil {
		return nil
	}
	if s.kind == number {
		return r.raw[s.start:s.end]
	}
	quoted := r.raw[s.start-1 : s.end+1]
	if s.traits&surrogate != 0 || s.traits&nonASCII != 0 && !utf8.Valid(quoted) {
		return gjson.AppendJSONString(nil, string(unquote(quoted, s.traits)))
	}
	return quoted
}

// best returns the value under the best name of a field, or nil.
func (r *Record) best(f Field) *span {
	set := r.good & fieldNames[f]
	if set == 0 {
		return nil
	}
	return &r.spans[bits.TrailingZeros16(uint16(set))]
}

// Bad returns the JSON names with unusable values: not a string (for confidence: not a float64), or longer than
// MaxFieldBytes.
func (r *Record) Bad() []string {
	if r.bad == 0 {
		return nil
	}
	var list []string
	for n := range nameCount {
		if r.bad&n.set() != 0 {
			list = append(list, names[n].json)
		}
	}
	return list
}

// kind of JSON value, named by the byte it begins with; numbers are '0'.
type kind byte

const (
	absent  kind = 0
	str     kind = '"'
	number  kind = '0'
	object  kind = '{'
	array   kind = '['
	null    kind = 'n'
	boolean kind = 't' // true or false
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

// span locates a value in the window, relative to the start of the record and without the quotes of a string.
type span struct {
	start, end int32
	kind       kind
	traits     traits
}

// traits are the reasons why the bytes of a string differ from its value.
type traits uint8

const (
	escaped   traits = 1 << iota // has a backslash
	surrogate                    // has \uD800 to \uDFFF, in pairs or not
	nonASCII                     // might be invalid UTF-8
)

// use classifies a value by its usability.
type use uint8

const (
	nothing use = iota // null, "", or of no field
	good
	bad
)

// useOf returns the use of a value. raw is its record, read up to the value.
func useOf(n name, s span, raw []byte) use {
	size := s.end - s.start
	ok := s.kind == str && (size <= MaxFieldBytes || n.set()&(fieldNames[URL]|fieldNames[Title]) != 0)
	if n == nameConfidence {
		ok = s.kind == number && size <= MaxFieldBytes && isFinite(raw[s.start:s.end])
	}
	switch {
	case n == unknown, s.kind == null, ok && size == 0:
		return nothing
	case ok:
		return good
	}
	return bad
}

// put sets the value of a name. The last duplicate wins.
func (r *Record) put(m *member) {
	set := m.name.set()
	r.good &^= set
	r.bad &^= set
	switch m.use {
	case good:
		r.spans[m.name] = m.span
		r.good |= set
	case bad:
		r.bad |= set
	}
}

// isFinite reports whether a JSON number fits a float64. Only an exponent or hundreds of digits can exceed it.
func isFinite(num []byte) bool {
	if len(num) < 300 && bytes.IndexByte(num, 'e') < 0 && bytes.IndexByte(num, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(num), 64)
	return err == nil
}

// unquote returns the value of a valid JSON string with its quotes, as encoding/json does: escapes replaced, unpaired
// surrogates and invalid UTF-8 turned into U+FFFD.
func unquote(quoted []byte, t traits) []byte {
	v := quoted[1 : len(quoted)-1]
	if t&surrogate != 0 { // gjson drops the text after an unpaired surrogate
		var s string
		if json.Unmarshal(quoted, &s) == nil {
			return []byte(s)
		}
	}
	if t&escaped != 0 {
		// With an escape in it, gjson returns a string of its own.
		s := gjson.Parse(unsafe.String(unsafe.SliceData(quoted), len(quoted))).Str
		v = unsafe.Slice(unsafe.StringData(s), len(s))
	}
	if t&nonASCII != 0 && !utf8.Valid(v) {
		v = []byte(string([]rune(string(v))))
	}
	return v
}
