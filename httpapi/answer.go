package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
)

// Error is an error with a status and code of its own, as opposed to those of a contract.Kind.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an error with a status and code.
func Errorf(status int, code, format string, args ...any) *Error {
	return &Error{status, code, fmt.Sprintf(format, args...)}
}

// NotFound returns an error with status 404.
func NotFound(format string, args ...any) *Error {
	return Errorf(http.StatusNotFound, "not_found", format, args...)
}

// Envelope is the body of an answer.
type Envelope struct {
	Success bool       `json:"success"`
	Data    any        `json:"data,omitempty"`
	Error   *ErrorBody `json:"error,omitempty"`
}

// ErrorBody is the error in an envelope.
type ErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

// Send answers with an envelope.
func Send(w http.ResponseWriter, status int, e Envelope) {
	sendJSON(w, status, contract.Encode(e))
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}

// appender is data too large for reflection.
type appender interface{ AppendJSON(b []byte) []byte }

// Succeed answers with data.
func Succeed(w http.ResponseWriter, status int, data any) {
	if d, ok := data.(appender); ok {
		sendJSON(w, status, append(d.AppendJSON([]byte(`{"success":true,"data":`)), '}'))
		return
	}
	Send(w, status, Envelope{Success: true, Data: data})
}

// Fail answers with err; data, unless nil, is what was done before it. Causes of server errors go to the log, never
// to the caller.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error, data any) {
	var own *Error
	if errors.As(err, &own) {
		Send(w, own.Status, Envelope{Data: data, Error: &ErrorBody{Code: own.Code, Message: own.Message}})
		return
	}
	kind := contract.KindOf(err)
	status := contract.HTTPStatus(kind)
	if status >= 500 {
		s.Log.Error(s.LogEvent, "error_type", kind, "error", err.Error(),
			"method", r.Method, "path", r.URL.Path, "request_id", w.Header().Get(requestIDHeader))
	}
	Send(w, status, Envelope{Data: data, Error: describe(kind, err)})
}

// describe returns what a caller may read about err: the message closest to the cause, or a general one.
func describe(kind contract.Kind, err error) *ErrorBody {
	body := ErrorBody{Code: string(kind), Message: general[kind]}
	var e *contract.Error
	if !errors.As(err, &e) {
		return &body
	}
	body.Field = e.Field
	for e.Message == "" {
		var inner *contract.Error
		if !errors.As(e.Err, &inner) {
			return &body
		}
		e = inner
	}
	body.Message = e.Message
	return &body
}

// general replaces messages whose cause is not for the caller.
var general = map[contract.Kind]string{
	contract.Validation: "the request is not valid",
	contract.Parse:      "the body is not valid JSON",
	contract.Network:    "an upstream server could not be reached; try again",
	contract.Timeout:    "an upstream server did not answer in time; try again",
	contract.Storage:    "the storage did not answer; try again",
	contract.Internal:   "internal error; the log has the details under this request id",
}

// Misconfigured answers every request while a setting is wrong. err names the variable.
func Misconfigured(w http.ResponseWriter, err error) {
	body := ErrorBody{Code: string(contract.Validation), Message: err.Error()}
	var e *contract.Error
	if errors.As(err, &e) {
		body.Field, body.Message = e.Field, e.Message
	}
	Send(w, http.StatusInternalServerError, Envelope{Error: &body})
}
