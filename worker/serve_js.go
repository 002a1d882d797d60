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

const maxKeptResponse = 1 << 20 // bytes; larger response buffers are not reused

type requestKey struct{}

// RawBody returns a request's body as a ReadableStream, or null if it has none, so that it can be
// stored without passing through Go. The stream has the length that the request declares. r.Body
// must not be read afterwards. The deadline of the request moves while bytes arrive. RawBody returns
// ErrTooManyUploads if half of all instances hold uploads: slow clients must not take the rest.
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

// ErrTooManyUploads is returned when half of all instances hold uploads.
var ErrTooManyUploads = errors.New("too many uploads are under way")

// requestBody opens the body of the current request on the first Read.
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

// response is an http.ResponseWriter that records the response.
type response struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	constant bool // answers all further requests for this URL
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	switch {
	case status < 100 || status > 599:
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	case status >= 200 && w.status == 0: // informational responses are dropped
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

// fail replaces the response by an error.
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

// respond passes a response to JavaScript, which copies it at once. The head consists of header
// names and values, one per line.
//
//go:wasmimport worker respond
func respond(status int32, head unsafe.Pointer, headLength int32, body unsafe.Pointer, bodyLength int32,
	constant int32)

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

// writeHeader writes names and values, one per line, without a final line break.
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

// failedUnexpectedly is the message to clients after a panic.
const failedUnexpectedly = "The request failed unexpectedly."

const requestIDHeader = "X-Request-Id"

// headerNewlines replaces line breaks as net/http does: they must not start another header.
var headerNewlines = strings.NewReplacer("\n", " ", "\r", " ")

var (
	// inbox receives the head of a request, one field per line: method, URL, then header names and values.
	inbox    []byte
	requests = make(chan int, 1) // lengths of the data in inbox
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

// request accepts a request of the given length in the inbox.
//
//go:wasmexport worker_request
func request(length int32) { requests <- int(length) }

// constants holds the paths whose response never changes. The entry module keeps those responses.
var constants = map[string]bool{}

// serve answers requests with h, one after another. All share one goroutine: a new one would have to
// grow its stack each time.
func serve(h http.Handler) {
	var spare bytes.Buffer // of the previous response
	for length := range requests {
		w := &response{header: http.Header{}, body: spare}
		answer(w, h, string(inbox[:length]))
		deferred := after
		if after = nil; deferred == nil {
			w.send()
		} else {
			host.Call("continueAfterAnswer")
			w.send()
			runAfter(deferred, w.header.Get(requestIDHeader))
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

// contentLength returns the length that the request declares: -1 if it declares none, 0 for methods
// without a body.
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
