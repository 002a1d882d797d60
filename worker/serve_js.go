//go:build js && wasm

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall/js"
	"unsafe"

	"github.com/newsfork/seed-engine/contract"
)

// maxKeptResponse is the largest response buffer, in bytes, that is kept for the next request.
const maxKeptResponse = 1 << 20

type requestKey struct{}

// RawBody returns a ReadableStream of a request's body, or null, so that it can be handed on without
// passing through Go. It has the length that the request declares. From then on r.Body must not be
// read. As long as bytes arrive the deadline of the request moves; so that the requests of slow clients do
// not take all instances, there is ErrTooManyUploads when half of them are at it.
func RawBody(r *http.Request) (js.Value, error) {
	body, ok := r.Context().Value(requestKey{}).(*requestBody)
	if !ok {
		return js.Null(), nil
	}
	stream := host.Call("upload", r.ContentLength)
	if stream.IsUndefined() {
		return stream, ErrTooManyUploads
	}
	body.taken = true
	return stream, nil
}

// ErrTooManyUploads is the error of a request whose body may not be handed on now.
var ErrTooManyUploads = errors.New("too many uploads are under way")

// requestBody opens the stream of the current request when it is first read.
type requestBody struct {
	reader io.ReadCloser
	taken  bool // by reader, RawBody or Close
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.reader == nil {
		if b.taken {
			return 0, http.ErrBodyReadAfterClose
		}
		b.taken = true
		b.reader = BodyReader(host.Get("request").Get("body"))
	}
	return b.reader.Read(p)
}

func (b *requestBody) Close() error {
	b.taken = true
	if b.reader == nil {
		return nil
	}
	return b.reader.Close()
}

// response records what a handler answers.
type response struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	constant bool // it is the answer to all further requests for this URL
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	switch {
	case status < 100 || status > 599:
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	case status >= 200 && w.status == 0: // informational answers are not passed on
		w.status = status
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *response) WriteString(s string) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.WriteString(s)
}

// fail replaces the answer by an error.
func (w *response) fail(kind contract.Kind, message string) {
	kept := w.body
	kept.Reset()
	id := w.header.Get(requestIDHeader)
	*w = response{header: http.Header{}, body: kept}
	w.header.Set("Content-Type", "application/json")
	w.header.Set("Cache-Control", "no-store")
	w.header.Set(requestIDHeader, id)
	w.WriteHeader(contract.HTTPStatus(kind))
	fmt.Fprintf(w, `{"success":false,"error":{"code":%q,"message":%q}}`, kind, message)
}

// respond hands an answer to JavaScript, which copies it at once: names and values of the headers,
// a line each, and the body; and whether it is constant.
//
//go:wasmimport worker respond
func respond(status int32, head unsafe.Pointer, headLength int32, body unsafe.Pointer, bodyLength int32, constant int32)

// send answers the request.
func (w *response) send() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	bodyLength := w.body.Len()
	writeHeader(&w.body, w.header) // behind the body in the same buffer
	body, head := w.body.Bytes()[:bodyLength], w.body.Bytes()[bodyLength:]
	constant := int32(0)
	if w.constant {
		constant = 1
	}
	respond(int32(w.status), start(head), int32(len(head)), start(body), int32(len(body)), constant)
}

// writeHeader writes names and values, a line each, without a line break at the end.
func writeHeader(b *bytes.Buffer, header http.Header) {
	separator := ""
	for name, values := range header {
		for _, value := range values {
			b.WriteString(separator)
			b.WriteString(name)
			b.WriteByte('\n')
			headerNewlines.WriteString(b, value)
			separator = "\n"
		}
	}
}

func start(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// failedUnexpectedly is what a caller learns of a panic.
const failedUnexpectedly = "The request failed unexpectedly."

const requestIDHeader = "X-Request-Id"

// As net/http: a line break in a value must not start a header of its own.
var headerNewlines = strings.NewReplacer("\n", " ", "\r", " ")

var (
	// inbox receives what describes a request: method, URL, then names and values of headers, a line each.
	inbox    []byte
	requests = make(chan int, 1) // lengths of what is in inbox
)

// inboxFor returns the address of an inbox of at least length bytes.
//
//go:wasmexport worker_inbox
func inboxFor(length int32) unsafe.Pointer {
	if len(inbox) < int(length) {
		inbox = make([]byte, length)
	}
	return start(inbox)
}

// request takes a request of the given length from the inbox.
//
//go:wasmexport worker_request
func request(length int32) { requests <- int(length) }

// constants are the paths to which the answer does not depend on the request. The entry module keeps it.
var constants = map[string]bool{}

// serve answers requests with h, one after the other. It is one goroutine for all of them, since a
// new one would have to grow its stack each time.
func serve(h http.Handler) {
	var spare bytes.Buffer // of the response before
	for length := range requests {
		w := &response{header: http.Header{}, body: spare}
		answer(w, h, string(inbox[:length]))
		work := after
		if after = nil; work == nil {
			w.send()
		} else {
			host.Call("goOn")
			w.send()
			goOn(work, w.header.Get(requestIDHeader))
			host.Call("done")
		}
		spare = bytes.Buffer{}
		if w.body.Cap() <= maxKeptResponse {
			spare = w.body
			spare.Reset()
		}
	}
}

// answer runs h for the request that head describes.
func answer(w *response, h http.Handler, head string) {
	method, head, _ := strings.Cut(head, "\n")
	whole, head, _ := strings.Cut(head, "\n")
	_, rest, _ := strings.Cut(whole, "://")
	slash := strings.IndexByte(rest, '/') // the platform's URLs always have one
	authority, uri := rest[:slash], rest[slash:]
	u, err := url.ParseRequestURI(uri)
	header := make(http.Header, 8)
	for head != "" {
		var name, value string
		name, head, _ = strings.Cut(head, "\n")
		value, head, _ = strings.Cut(head, "\n")
		header.Add(name, value)
	}
	id := header.Get(requestIDHeader)
	w.header.Set(requestIDHeader, id)
	if err != nil {
		w.fail(contract.Validation, "The URL cannot be read: percent-encode its special characters.")
		return
	}
	r := &http.Request{
		Method: method, URL: u, RequestURI: uri, Host: authority,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, RemoteAddr: header.Get("CF-Connecting-IP"), Body: http.NoBody,
	}
	ctx, end := beginEvent()
	defer end()
	if r.ContentLength = contentLength(r); r.ContentLength != 0 {
		body := &requestBody{}
		defer body.Close()
		r.Body = body
		ctx = context.WithValue(ctx, requestKey{}, body)
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			recovered("handler", "handler_failed", thrown, id)
			w.fail(contract.Internal, failedUnexpectedly)
		}
	}()
	h.ServeHTTP(w, r.WithContext(ctx))
	w.constant = constants[uri] && method == http.MethodGet && w.status == http.StatusOK
	if r.Method == http.MethodHead && w.header.Get("Content-Length") == "" {
		w.header.Set("Content-Length", strconv.Itoa(w.body.Len()))
	}
}

// contentLength is the length that the request declares, -1 where it declares none, and 0 for
// methods without a body.
func contentLength(r *http.Request) int64 {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return 0
	}
	n, err := strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
