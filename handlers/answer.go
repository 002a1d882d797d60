package handlers

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
)

// failure is an answer that is not a pipeline error: it has a status and code of its own.
type failure struct {
	status  int
	code    string
	message string
}

func (f *failure) Error() string { return f.message }

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

type answer struct {
	Success bool       `json:"success"`
	Data    any        `json:"data,omitempty"`
	Error   *errorBody `json:"error,omitempty"`
}

func send(w http.ResponseWriter, status int, a answer) {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // answers are plain structs
	}
	sendJSON(w, status, body)
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}

// appender is data that is too much for reflection.
type appender interface{ AppendJSON(b []byte) []byte }

func succeed(w http.ResponseWriter, status int, data any) {
	if d, ok := data.(appender); ok {
		sendJSON(w, status, append(d.AppendJSON([]byte(`{"success":true,"data":`)), '}'))
		return
	}
	send(w, status, answer{Success: true, Data: data})
}

// fail answers err; data, unless nil, shows what was done before it. Causes of server errors go to
// the log, never to the caller.
func fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error, data any) {
	var f *failure
	if errors.As(err, &f) {
		send(w, f.status, answer{Data: data, Error: &errorBody{Code: f.code, Message: f.message}})
		return
	}
	kind := contract.KindOf(err)
	body := errorBody{Code: string(kind)}
	var e *contract.Error
	if errors.As(err, &e) {
		body.Field = e.Field
		for e != nil && e.Message == "" { // the message nearest to the cause is the caller's
			var inner *contract.Error
			if !errors.As(e.Err, &inner) {
				break
			}
			e = inner
		}
		body.Message = e.Message
	}
	if body.Message == "" {
		body.Message = general[kind]
	}
	status := contract.HTTPStatus(kind)
	if status >= 500 {
		log.Error("request_failed", "error_type", kind, "error", err.Error(), "method", r.Method, "path", r.URL.Path, "request_id", w.Header().Get(requestID))
	}
	send(w, status, answer{Data: data, Error: &body})
}

// general replaces a message where the cause is not for the caller.
var general = map[contract.Kind]string{
	contract.Validation: "the request is not valid",
	contract.Parse:      "the body is not valid JSON",
	contract.Network:    "an upstream server could not be reached; try again",
	contract.Timeout:    "an upstream server did not answer in time; try again",
	contract.Storage:    "the storage did not answer; try again",
	contract.Internal:   "something went wrong here; the log has the details under this request id",
}

// Misconfigured answers every request while a setting is wrong. err names the variable.
func Misconfigured(w http.ResponseWriter, err error) {
	body := errorBody{Code: string(contract.Validation), Message: err.Error()}
	var e *contract.Error
	if errors.As(err, &e) {
		body.Field, body.Message = e.Field, e.Message
	}
	send(w, http.StatusInternalServerError, answer{Error: &body})
}
