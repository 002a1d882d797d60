//go:build js && wasm

package queues

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/worker"
)

// The JavaScript half, worker/helpers.mjs.
var (
	helpers        = js.Global().Get("context").Get("helpers")
	takeBuffer     = helpers.Get("takeBuffer")
	giveBuffer     = helpers.Get("giveBuffer")
	queueSendBatch = helpers.Get("queueSendBatch")
	queueSend      = helpers.Get("queueSend")
	queueMetrics   = helpers.Get("queueMetrics")
)

// Producer sends JSON messages, with the content type text, to a queue behind a binding of the Worker.
type Producer struct{ name string }

// NewProducer gives the queue bound under name. The binding is looked up at every call, since each
// event brings its own.
func NewProducer(name string) Producer { return Producer{name} }

// call runs a helper on the queue and awaits its promise.
func (p Producer) call(ctx context.Context, helper js.Value, args ...any) (js.Value, error) {
	if err := ctx.Err(); err != nil {
		return js.Undefined(), err
	}
	queue := worker.Env(p.name)
	if queue.IsUndefined() {
		return js.Undefined(), fmt.Errorf("there is no queue binding %s", p.name)
	}
	return worker.Await(helper.Invoke(append([]any{queue}, args...)...))
}

// Send sends a batch: all of its messages or, on an error of kind contract.Storage, none. An empty
// batch is nothing to do. The batch crosses into JavaScript with one copy, into a buffer that is
// used again.
func (p Producer) Send(ctx context.Context, b *contract.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	lines := b.Bytes()
	buffer := takeBuffer.Invoke(len(lines))
	js.CopyBytesToJS(buffer, lines)
	_, err := p.call(ctx, queueSendBatch, buffer, len(lines))
	giveBuffer.Invoke(buffer)
	return sendFault("queues.Send", err)
}

// SendOne sends one JSON message that is delivered after delay, in whole seconds and at most
// MaxDelay.
func (p Producer) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := checkOne(body, delay); err != nil {
		return err
	}
	_, err := p.call(ctx, queueSend, string(body), seconds(delay))
	return sendFault("queues.SendOne", err)
}

// Backlog asks the platform what waits in the queue.
func (p Producer) Backlog(ctx context.Context) (Backlog, error) {
	v, err := p.call(ctx, queueMetrics)
	if err != nil {
		return Backlog{}, sendFault("queues.Backlog", err)
	}
	var numbers [3]int64
	for i, field := range strings.Split(v.String(), "\n") {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return Backlog{}, sendFault("queues.Backlog", err)
		}
	}
	b := Backlog{Messages: numbers[0], Bytes: numbers[1]}
	if numbers[2] > 0 {
		b.Oldest = time.UnixMilli(numbers[2]).UTC()
	}
	return b, nil
}
