//go:build js && wasm

package worker

import "context"

// after is what is to be done when the current request is answered.
var after []func(ctx context.Context)

// After has the current request go on with work when it is answered, so that its client does not wait for it. The
// instance serves no other event until then; work that takes longer than the platform lets an event go on after
// its answer, 30 seconds, is ended. It ends with ctx, too. A panic is logged and counted as a handler's.
func After(work func(ctx context.Context)) { after = append(after, work) }

// goOn does what is to be done after the answer, which is given already.
func goOn(list []func(context.Context), id string) {
	ctx, end := beginEvent()
	defer end()
	for _, work := range list {
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
