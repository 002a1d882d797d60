package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// MaxBodyBytes is the size limit of most bodies.
const MaxBodyBytes = 64 << 10

// ReadJSON decodes a body of at most MaxBodyBytes into v. An empty body leaves v alone.
func ReadJSON(r *http.Request, v any) error { return ReadJSONUpTo(r, MaxBodyBytes, v) }

// ReadJSONUpTo is ReadJSON with another limit.
func ReadJSONUpTo(r *http.Request, maxBytes int64, v any) error {
	return ReadJSONWithin(r, Limits{Bytes: maxBytes}, v)
}

// Limits bound what a body may cost.
type Limits struct {
	Bytes int64
	// Most values, in all lists and objects together; 0 for any number. An empty element of a list costs a few bytes
	// of JSON and, once it is decoded, a hundred bytes of memory.
	Values int
}

// ReadJSONWithin is ReadJSON with other limits.
func ReadJSONWithin(r *http.Request, limits Limits, v any) error {
	body, err := readUpTo(r, limits.Bytes+1)
	if err != nil {
		return contract.Wrap(contract.Network, "httpapi.ReadJSON", err)
	}
	if int64(len(body)) > limits.Bytes {
		return Errorf(http.StatusRequestEntityTooLarge, "payload_too_large",
			"the body is larger than %d KB; send less", limits.Bytes>>10)
	}
	if limits.Values > 0 && bytes.Count(body, []byte{','}) >= limits.Values {
		return Errorf(http.StatusRequestEntityTooLarge, "payload_too_large",
			"the body has more than %d values; send less", limits.Values)
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil
	}
	if err := RequireJSON(r); err != nil {
		return err
	}
	return decodeObject(body, "", v)
}

// readUpTo reads at most n bytes of a body. Where its length is declared, no buffer has to grow: growing ones take
// several times the memory.
func readUpTo(r *http.Request, n int64) ([]byte, error) {
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength, n)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(r.Body, n))
	return b.Bytes(), err
}

// RequireJSON refuses bodies that are compressed or declared as something other than JSON. A missing Content-Type is
// accepted: plain clients leave it out.
func RequireJSON(r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return Errorf(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body must not be compressed; send it without Content-Encoding")
	}
	if t := r.Header.Get("Content-Type"); t != "" && !isJSON(t) {
		return Errorf(http.StatusUnsupportedMediaType, "unsupported_media_type",
			`the body must be JSON; send "Content-Type: application/json"`)
	}
	return nil
}

// Elements splits a JSON array, of which null is an empty one, into its first elements, at most n, and the number of
// further ones. It copies nothing: a list of a million elements costs no memory.
func Elements(list json.RawMessage, field string, n int) (first []json.RawMessage, more int, err error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	if list[0] != '[' {
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(list, &first), &wrong) {
			err = contract.Invalid(field, "must be a JSON array, got a JSON %s", wrong.Value)
		}
		return nil, 0, err
	}
	depth, start, quoted := 0, 1, false
	add := func(end int) {
		switch element := bytes.TrimSpace(list[start:end]); {
		case len(element) == 0: // of an empty list
		case len(first) < n:
			first = append(first, element)
		default:
			more++
		}
		start = end + 1
	}
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case c == ']', c == '}':
			if depth--; depth == 0 {
				add(i)
			}
		case c == ',' && depth == 1:
			add(i)
		}
	}
	return first, more, nil
}

// DecodeList decodes the objects of a list one by one, so that an error names the first wrong element.
func DecodeList[T any](list []json.RawMessage, field string) ([]T, error) {
	decoded := make([]T, len(list))
	for i, data := range list {
		if err := decodeObject(data, Element(field, i), &decoded[i]); err != nil {
			return nil, err
		}
	}
	return decoded, nil
}

// Element returns the name of an element of a list, such as "urls[3]".
func Element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// decodeObject decodes one JSON object into v. Errors name fields by their path below field; "" is the body itself.
func decodeObject(data []byte, field string, v any) error {
	if data[0] != '{' {
		return contract.Invalid(cmp.Or(field, "body"), `must be a JSON object, such as {"country":"sg"}`)
	}
	path := func(name string) string {
		if field == "" || name == "" {
			return field + name
		}
		return field + "." + name
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return contract.Invalid(path(strings.Trim(name, `"`)), "is not a field of this request; leave it out")
		}
		err = contract.JSONError(err)
		var e *contract.Error
		if field != "" && errors.As(err, &e) {
			e.Field = path(e.Field)
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &contract.Error{Kind: contract.Parse, Field: "body",
			Message: "continues after its JSON object; send exactly one"}
	}
	return nil
}
