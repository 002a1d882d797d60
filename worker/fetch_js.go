//go:build js && wasm

package worker

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

//go:wasmimport worker open
func openExchange() int32

//go:wasmimport worker abort
func abortExchange(handle int32)

// Request is a request to send. Only the first value of each header is sent.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	Timeout     time.Duration // until the end of the response body; 0 means none
	Service     string        // name of a service binding; "" means EGRESS if bound, else the Internet
}

// Response is a response. The caller closes Body. Header names are canonical; Set-Cookie is left out.
type Response struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
}

// Fetch sends r. It follows no redirects and uses no cache. When ctx ends, the request and the
// response body are aborted with a *JSError named AbortError; after the timeout it is TimeoutError.
func Fetch(ctx context.Context, r *Request) (*Response, error) {
	args := make([]string, 0, 5+2*len(r.Header))
	exchange := Handle(openExchange())
	args = append(args, exchange.String(), r.Method, r.URL, strconv.FormatInt(r.Timeout.Milliseconds(), 10), r.Service)
	for name, values := range r.Header {
		args = append(args, name, values[0])
	}
	stop := context.AfterFunc(ctx, func() { abortExchange(int32(exchange)) })
	answer, _, err := Ask("fetchStart", r.Body, args...)
	if err != nil {
		stop()
		return nil, err
	}
	fields := Fields{answer}
	status, _ := strconv.Atoi(fields.Next())
	resp := &Response{Status: status, Header: http.Header{}, Body: http.NoBody}
	if hasBody := fields.Next() == "1"; hasBody {
		resp.Body = &fetchedBody{exchange.Reader(), stop}
	} else {
		stop()
	}
	for fields.Rest != "" {
		name := fields.Next()
		resp.Header.Add(name, fields.Next())
	}
	return resp, nil
}

// fetchedBody is a response body that is aborted when the request's context ends.
type fetchedBody struct {
	io.ReadCloser
	stop func() bool
}

func (b *fetchedBody) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}
