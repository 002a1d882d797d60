//go:build js && wasm

package worker

import (
	"context"
	"errors"
	"fmt"
	"syscall/js"
	"time"
)

// host is the context object that the pool made for this Go instance. It outlives events; its env
// and ctx properties belong to the event that holds the instance now.
var host = js.Global().Get("context")

var (
	uint8Array = js.Global().Get("Uint8Array")
	waitFn     = host.Get("wait")
	takeFn     = host.Get("take")
	waits      = map[int32]chan settlement{}
	lastWait   int32
)

// pool.mjs calls the functions with a wasmexport directive. They only record an occurrence and make
// a goroutine ready: the pool then resumes the program, which runs until all goroutines wait. A
// js.Func would do both in one call, but costs ten times as much.

// A settlement is the outcome of a promise. length is the size of its value in bytes, if the value
// is bytes.
type settlement struct{ status, length int32 }

// Statuses of a settlement.
const (
	rejected  = 0
	fulfilled = 1
	nothing   = 2 // fulfilled, without a value
	last      = 2 // for reads: this chunk is the last
)

// settle is called when a promise was settled.
//
//go:wasmexport worker_settle
func settle(id, status, length int32) {
	waits[id] <- settlement{status, length}
	delete(waits, id)
}

// Env returns a binding or variable of the current event, or undefined if it is not configured.
func Env(name string) js.Value { return host.Get("env").Get(name) }

// Await waits for a promise. A rejection is returned as a *JSError. If a promise is still pending
// when its event ends, the pool drops the instance: the settlement would touch another event's I/O.
func Await(promise js.Value) (js.Value, error) {
	return begin(promise).result()
}

// A pending is a promise that JavaScript will settle.
type pending struct {
	id      int32
	settled <-chan settlement
}

func promised() pending {
	settled := make(chan settlement, 1)
	lastWait++
	waits[lastWait] = settled
	return pending{lastWait, settled}
}

func begin(promise js.Value) pending {
	p := promised()
	waitFn.Invoke(p.id, promise)
	return p
}

// settlement waits for the promise. Call it once.
func (p pending) settlement() (settlement, error) {
	s := <-p.settled
	if s.status == rejected {
		return s, newJSError(takeFn.Invoke(p.id))
	}
	return s, nil
}

// result waits for the value of a promise that begin returned.
func (p pending) result() (js.Value, error) {
	if _, err := p.settlement(); err != nil {
		return js.Undefined(), err
	}
	return takeFn.Invoke(p.id), nil
}

// Call calls a method and awaits its promise. Exceptions and rejections are returned as errors.
func Call(object js.Value, method string, args ...any) (js.Value, error) {
	p, err := Try(func() js.Value { return object.Call(method, args...) })
	if err != nil {
		return js.Undefined(), err
	}
	return Await(p)
}

// Try calls f and returns a JavaScript exception as an error. Other panics pass through.
func Try(f func() js.Value) (v js.Value, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case js.Error:
			err = newJSError(r.Value)
		case *js.ValueError: // a method of undefined: the binding is not there
			err = r
		default:
			panic(r)
		}
	}()
	return f(), nil
}

// JSError is a JavaScript exception or rejection.
type JSError struct {
	Name    string // such as TypeError, TimeoutError, AbortError
	Message string
}

func (e *JSError) Error() string { return e.Name + ": " + e.Message }

func newJSError(v js.Value) error {
	if v.Type() == js.TypeObject {
		return &JSError{Name: text(v.Get("name"), "Error"), Message: text(v.Get("message"), "")}
	}
	return &JSError{Name: "Error", Message: fmt.Sprint(v)}
}

func text(v js.Value, otherwise string) string {
	if v.Type() == js.TypeString {
		return v.String()
	}
	return otherwise
}

// ErrorName returns the JavaScript name of err, or "".
func ErrorName(err error) string {
	var e *JSError
	if errors.As(err, &e) {
		return e.Name
	}
	return ""
}

//go:wasmimport worker sleep
func sleep(id int32, ms float64)

//go:wasmimport worker wake
func wake(id int32) int32

// Sleep waits for d on the platform's clock, or until ctx is done. Use it instead of Go's timers,
// which the platform cancels when the event that set them ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	p := promised()
	sleep(p.id, float64(d.Milliseconds()))
	select {
	case <-p.settled:
	case <-ctx.Done():
		if wake(p.id) != 0 { // else it has just ended
			delete(waits, p.id)
		}
	}
	return ctx.Err()
}

// Bytes copies a Uint8Array into Go.
func Bytes(array js.Value) []byte {
	b := make([]byte, array.Get("byteLength").Int())
	js.CopyBytesToGo(b, array)
	return b
}

// Array copies b into a new Uint8Array. For large or many buffers, reuse one array: Go keeps
// JavaScript objects alive until its next garbage collection.
func Array(b []byte) js.Value {
	a := uint8Array.New(len(b))
	js.CopyBytesToJS(a, b)
	return a
}
