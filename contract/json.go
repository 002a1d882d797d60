package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Messages keep their bytes on their way: what is stored or sent again is what was received, since a message close
// to the limits might exceed them when encoded again. The functions of this file change nothing else.

// Encode returns v, which must be plain data, as compact JSON. Unlike json.Marshal it does not escape "&", "<" and
// ">", which could make a message too large.
func Encode(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// AppendText appends a string as Encode writes it. Plain strings, which are most, are only copied.
func AppendText(b []byte, s string) []byte {
	if !isPlain(s) {
		return append(b, Encode(s)...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// AppendTextOrNull is AppendText of a nullable field.
func AppendTextOrNull(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return AppendText(b, *s)
}

// AppendFloat appends a finite number as encoding/json writes it.
func AppendFloat(b []byte, f float64) []byte {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) { // with an exponent
		return append(b, Encode(f)...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// isPlain reports whether a string needs no escapes in JSON. U+2028 and U+2029 (E2 80 A8 and A9) are escaped for
// JavaScript.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xe2 && i+2 < len(s) && s[i+1] == 0x80 &&
			s[i+2]&^1 == 0xa8 {
			return false
		}
	}
	return utf8.ValidString(s)
}

// AsJSON returns a message as JSON: unchanged, or as a string if it is not JSON.
func AsJSON(message []byte) json.RawMessage {
	if json.Valid(message) {
		return message
	}
	return Encode(string(message))
}

const busySince = "busy_since"

// WithBusySince sets the field busy_since of a message, a JSON object, and keeps all other bytes.
func WithBusySince(message []byte, since time.Time) []byte {
	message = WithoutBusySince(message)
	open := bytes.IndexByte(message, '{') + 1
	field := `"` + busySince + `":"` + since.UTC().Format("2006-01-02T15:04:05.000Z07:00") + `"`
	if after := bytes.TrimLeft(message[open:], " \t\r\n"); len(after) > 0 && after[0] != '}' {
		field += ","
	}
	out := make([]byte, 0, len(message)+len(field))
	out = append(out, message[:open]...)
	out = append(out, field...)
	return append(out, message[open:]...)
}

// WithoutBusySince removes the field busy_since from a message. Other messages are returned unchanged.
func WithoutBusySince(message []byte) []byte {
	for {
		start, end, ok := member(message, busySince)
		if !ok {
			return message
		}
		message = append(append(make([]byte, 0, len(message)), message[:start]...), message[end:]...)
	}
}

// member finds the first member of a JSON object that encoding/json would decode as name, in any case. The range
// includes one of the commas around it, so that the rest is still an object.
func member(object []byte, name string) (start, end int, ok bool) {
	if !json.Valid(object) {
		return 0, 0, false
	}
	root := gjson.ParseBytes(object)
	if !root.IsObject() {
		return 0, 0, false
	}
	before := 0 // where the member before ends
	root.ForEach(func(key, value gjson.Result) bool {
		if !strings.EqualFold(key.Str, name) {
			before = value.Index + len(value.Raw)
			return true
		}
		start, end, ok = key.Index, value.Index+len(value.Raw), true
		return false
	})
	if !ok {
		return 0, 0, false
	}
	if after := bytes.TrimLeft(object[end:], " \t\r\n"); after[0] == ',' {
		end = len(object) - len(after) + 1
	} else if before > 0 {
		start = before
	}
	return start, end, true
}

// decode decodes one JSON object.
func decode(body []byte, v any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' {
		return Invalid("body", "must be a JSON object as in the workflow documents")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(v); err != nil {
		return JSONError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Kind: Parse, Field: "body", Message: "continues after its JSON object; send exactly one"}
	}
	return nil
}

// JSONError converts an error of encoding/json into one that names the field and its expected type.
func JSONError(err error) error {
	var wrong *json.UnmarshalTypeError
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &wrong):
		return Invalid(wrong.Field, "must be %s, got a JSON %s", jsonType(wrong.Type.Kind().String()), wrong.Value)
	}
	return &Error{Kind: Parse, Field: "body", Message: "is not valid JSON; send one JSON object", Err: err}
}

func jsonType(kind string) string {
	switch {
	case kind == "struct", kind == "map", kind == "ptr":
		return "a JSON object"
	case kind == "slice":
		return "a JSON array"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "a string"
}
