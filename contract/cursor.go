package contract

import (
	"encoding/base64"
	"encoding/json"
)

// EncodeCursor returns an opaque cursor of strings and numbers.
func EncodeCursor(v any) *string {
	return Text(base64.RawURLEncoding.EncodeToString(Encode(v)))
}

// DecodeCursor decodes a cursor of EncodeCursor into v. Other texts return BadCursor.
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

// BadCursor returns the Validation error of an unknown cursor.
func BadCursor() error {
	return Invalid("cursor", "is not a cursor of this API; send the cursor of an answer unchanged, or none")
}
