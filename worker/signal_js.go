//go:build js && wasm

package worker

import (
	"context"
	"syscall/js"
	"time"
)

var (
	abortController = js.Global().Get("AbortController")
	abortSignal     = js.Global().Get("AbortSignal")
)

// TimeoutSignal returns an AbortSignal that fires after d, with the reason TimeoutError.
func TimeoutSignal(d time.Duration) js.Value {
	return abortSignal.Call("timeout", max(0, d.Milliseconds()))
}

// Signal returns an AbortSignal that fires when ctx is done (AbortError) or, for d > 0, after d
// (TimeoutError). Call stop when what it guards is over, a streamed body included.
func Signal(ctx context.Context, d time.Duration) (signal js.Value, stop func()) {
	if ctx.Done() == nil && d > 0 {
		return TimeoutSignal(d), func() {}
	}
	controller := abortController.New()
	signal = controller.Get("signal")
	disarm := context.AfterFunc(ctx, func() { controller.Call("abort") })
	if d > 0 {
		signal = abortSignal.Call("any", []any{signal, TimeoutSignal(d)})
	}
	return signal, func() { disarm() }
}
