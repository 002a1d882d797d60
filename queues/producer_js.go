//go:build js && wasm

package queues

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/worker"
)

// Producer sends JSON messages, with the content type text, to a queue behind a binding of the Worker.
type Producer struct{ name string }

// NewProducer gives the queue bound under name. The binding is looked up at every call, since each
// event brings its own.
func NewProducer(name string) Producer { return Producer{name} }

// ask has a helper of worker/helpers.mjs do its part.
func (p Producer) ask(ctx context.Context, helper string, data []byte, args ...string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	answer, _, err := worker.Ask(helper, data, append([]string{p.name}, args...)...)
	return answer, err
}

// Send sends a batch: all of its messages or, on an error of kind contract.Storage, none. An empty
// batch is nothing to do.
func (p Producer) Send(ctx context.Context, b *contract.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	_, err := p.ask(ctx, "queueSendBatch", b.Bytes())
	return sendFault("queues.Send", err)
}

// SendOne sends one JSON message that is delivered after delay, in whole seconds and at most
// MaxDelay.
func (p Producer) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := checkOne(body, delay); err != nil {
		return err
	}
	_, err := p.ask(ctx, "queueSend", body, strconv.FormatInt(seconds(delay), 10))
	return sendFault("queues.SendOne", err)
}

// Backlog asks the platform what waits in the queue.
func (p Producer) Backlog(ctx context.Context) (Backlog, error) {
	answer, err := p.ask(ctx, "queueMetrics", nil)
	if err != nil {
		return Backlog{}, sendFault("queues.Backlog", err)
	}
	var numbers [3]int64
	for i, field := range strings.Split(answer, "\n") {
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
