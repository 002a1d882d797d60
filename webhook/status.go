package webhook

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
)

// StatusError is a receiver's answer other than 2xx.
type StatusError struct{ Status int }

func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// CheckStatus returns nil for a 2xx status, else a *contract.Error that wraps a *StatusError.
func CheckStatus(status int) error {
	if status >= 200 && status <= 299 {
		return nil
	}
	return &contract.Error{Kind: contract.Network, Message: fmt.Sprintf("the webhook answered %d", status),
		Err: &StatusError{status}}
}

// refused reports whether a receiver refused the content of a delivery. Other answers are about the receiver: its
// address, its credentials (401, 403, 404, 410) or its condition (429, 5xx), so that every delivery fails alike.
func refused(err error) bool {
	var answer *StatusError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
