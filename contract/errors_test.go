package contract

import (
	"errors"
	"fmt"
	"testing"
)

// Operators read reasons, so these do not contain function names.
func TestReason(t *testing.T) {
	inner := &Error{Kind: Parse, Op: "dataset.Next", Message: "byte 7: expected a value"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, "byte 7: expected a value"},
		{Wrap(Parse, "processor.Process", inner), "byte 7: expected a value"},
		{Wrap(Storage, "r2.Put", errors.New("503")), "503"},
		{&Error{Kind: Storage, Op: "ledger.Record", Message: "the database failed",
			Err: fmt.Errorf("after 3 tries: %w", inner)},
			"the database failed: after 3 tries: byte 7: expected a value"},
		{Invalid("domain", "is missing"), "domain: is missing"},
		{&Error{Kind: Internal, Op: "main.main"}, "internal_error"},
		{errors.New("plain"), "plain"},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
