//go:build js && wasm

package worker

import "context"

// after holds the work that the current request has deferred until its answer.
var after []func(ctx context.Context)

// After runs work once the current request has been answered, so its client does not wait. The instance serves no
// other event meanwhile. The platform ends an event 30 seconds after its answer; ctx ends before that. A panic is
// logged and counted like a handler's.
func After(work func(ctx context.Context)) { after = append(after, work) }

// runAfter runs the work deferred by a request that has been answered. id is the request's.
func runAfter(deferred []func(context.Context), id string) {
	ctx, end := beginEvent()
	defer end()
	for _, work := range deferred {
		func() {
			defer func() {
				if thrown := recover(); thrown != nil {
					recovered("handler", "handler_failed", thrown, id)
				}
			}()
			work(ctx)
		}()
	}
}
