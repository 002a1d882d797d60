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
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBytes+1))
	if err != nil {
		return contract.Wrap(contract.Network, "httpapi.ReadJSON", err)
	}
	if int64(len(body)) > maxBytes {
		return Errorf(http.StatusRequestEntityTooLarge, "payload_too_large",
			"the body is larger than %d KB; send less", maxBytes>>10)
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
