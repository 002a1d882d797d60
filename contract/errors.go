package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Kind classifies every error of the pipeline. Its value is the name used on the wire: in API
// answers (error.code), logs, dead letters (error_type) and documents (error_type).
type Kind string

// The kinds of errors. docs/api.md, "Errors", has what the API answers to each.
const (
	// Validation: a field, message, key or setting that the caller must correct.
	Validation Kind = "validation_error"
	// Parse: bytes that are not the JSON or XML they should be.
	Parse Kind = "parse_error"
	// Network: refused, reset, not resolved, TLS.
	Network Kind = "network_error"
	// Timeout: no answer in time.
	Timeout Kind = "timeout_error"
	// Storage: R2, D1 or a queue failed.
	Storage Kind = "storage_error"
	// Internal: a recovered panic or a broken invariant; also every error without a kind.
	Internal Kind = "internal_error"
)

// Kinds lists all kinds.
var Kinds = []string{string(Validation), string(Parse), string(Network), string(Timeout), string(Storage),
	string(Internal)}

// Error is the one error type of the pipeline. Message is safe to show to a caller; Err is the
// cause, kept for logs.
type Error struct {
	Kind    Kind
	Op      string // package.Function that failed, for logs
	Field   string // the field, setting or key to correct, if there is one
	Message string // one sentence: what is wrong and what to send instead
	Err     error
}

// Error returns the operation, field, message and cause, without those that are empty. An error that only wraps a
// cause leaves field and kind to it.
func (e *Error) Error() string {
	return e.text(e.Op, error.Error)
}

func (e *Error) text(op string, of func(error) string) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(op)
	if e.Message != "" || e.Err == nil {
		add(e.Field)
		add(cmp.Or(e.Message, string(e.Kind)))
	}
	if e.Err != nil {
		add(of(e.Err))
	}
	return strings.Join(parts, ": ")
}

// Reason returns the text of err without operations, for people who do not know the code.
func Reason(err error) string {
	if e, ok := err.(*Error); ok {
		return e.text("", Reason)
	}
	text := err.Error()
	var e *Error
	if errors.As(err, &e) {
		text = strings.Replace(text, e.Error(), Reason(e), 1)
	}
	return text
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns a Validation error about one field. The message says what is accepted.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Kind: Validation, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap adds a kind and the operation that failed to err. It returns nil for a nil err, and keeps the kind
// of an error that already has one.
func Wrap(kind Kind, op string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return &Error{Kind: e.Kind, Op: op, Field: e.Field, Err: err}
	}
	return &Error{Kind: kind, Op: op, Err: err}
}

// KindOf returns the kind of err: its own, Timeout for an exceeded deadline, else Internal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Internal
}

// MessageOf returns the Message of err, or "". Unlike err's text it never contains the cause, which might quote a
// secret.
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

// HTTPStatus returns the HTTP status for a kind of error.
func HTTPStatus(kind Kind) int {
	switch kind {
	case Validation, Parse:
		return http.StatusBadRequest
	case Network:
		return http.StatusBadGateway
	case Timeout:
		return http.StatusGatewayTimeout
	case Storage:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
