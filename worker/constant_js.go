//go:build js && wasm

package worker

import (
	"bytes"
	"net/http"
)

// A constant is an answer that does not depend on the request.
type constant struct {
	head []byte // headers as respond takes them; the last is the request id, whose value is left out
	body []byte
}

// constants holds the answers to GET requests for the paths that were given to Run. They are nil
// until the handler answers such a request for the first time.
var constants = map[string]*constant{}

// longestRequestID is the longest that the entry module accepts, in bytes.
const longestRequestID = 64

// remember keeps w for the next request for the same path, if that is what Run was told.
func remember(r *http.Request, w *response) {
	known, ok := constants[r.RequestURI]
	if !ok || known != nil || r.Method != http.MethodGet || w.status != http.StatusOK {
		return
	}
	header := w.header.Clone()
	header.Del(requestIDHeader)
	var head bytes.Buffer
	writeHeader(&head, header)
	head.WriteString("\n" + requestIDHeader + "\n")
	head.Grow(longestRequestID)
	constants[r.RequestURI] = &constant{head.Bytes(), bytes.Clone(w.body.Bytes())}
}

// answerAgain answers the request that head describes with what is remembered, and reports whether
// it could. It must not wait for anything.
func answerAgain(head []byte) bool {
	head, ok := bytes.CutPrefix(head, []byte("GET\n"))
	if !ok {
		return false
	}
	whole, head, _ := bytes.Cut(head, []byte("\n"))
	_, rest, _ := bytes.Cut(whole, []byte("://"))
	slash := bytes.IndexByte(rest, '/')
	if slash < 0 {
		return false
	}
	known := constants[string(rest[slash:])]
	if known == nil {
		return false
	}
	_, head, _ = bytes.Cut(head, []byte("\n")) // the request id comes first
	id, _, _ := bytes.Cut(head, []byte("\n"))
	answerHead := append(known.head, id...)
	respond(http.StatusOK, start(answerHead), int32(len(answerHead)), start(known.body), int32(len(known.body)))
	return true
}
