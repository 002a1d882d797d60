package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Messages keep their bytes wherever they pass: what is stored or sent again is what was received,
// since a message close to the limits would not survive being written anew. Functions of this file
// change only what they are for.

// Encode writes v, which must be plain data, as compact JSON. Unlike json.Marshal it leaves "&", "<"
// and ">" as they are: six bytes for each of them could make a message too large.
func Encode(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// AsJSON returns a message as JSON: itself, or as a string when it is not JSON.
func AsJSON(message []byte) json.RawMessage {
	if json.Valid(message) {
		return message
	}
	return Encode(string(message))
}

const busySince = "busy_since"

// WithBusySince sets the field busy_since of a message, a JSON object. All other bytes stay.
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

// WithoutBusySince takes the field busy_since out of a message. What is no JSON object, or has no such
// field, comes back as it is.
func WithoutBusySince(message []byte) []byte {
	for {
		start, end, ok := member(message, busySince)
		if !ok {
			return message
		}
		message = append(append(make([]byte, 0, len(message)), message[:start]...), message[end:]...)
	}
}

// member finds the first member of a JSON object that encoding/json would read as name, in any case
// of letters. The range has one of the commas around it, so that taking it out leaves an object.
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
	if rest := bytes.TrimLeft(object[end:], " \t\r\n"); rest[0] == ',' {
		end = len(object) - len(rest) + 1
	} else if before > 0 {
		start = before
	}
	return start, end, true
}
