package contract

import (
	"encoding/base64"
	"encoding/json"
)

// EncodeCursor makes an opaque cursor of strings and numbers, which the caller sends back as it is.
func EncodeCursor(v any) *string {
	return Text(base64.RawURLEncoding.EncodeToString(Encode(v)))
}

// DecodeCursor reads into v what EncodeCursor made a cursor of. What is none is BadCursor.
func DecodeCursor(cursor string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return BadCursor()
	}
	return nil
}

// BadCursor is the Validation error for what is no cursor of an answer.
func BadCursor() error {
	return Invalid("cursor", "is not the cursor of an answer; send it as it was given, or none")
}
