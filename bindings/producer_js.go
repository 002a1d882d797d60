//go:build js && wasm

package bindings

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/worker"
)

// Producer is a queues.Producer behind a binding of the Worker. Messages have the content type text.
type Producer struct{ name string }

var _ queues.Producer = Producer{}

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

// Send implements queues.Producer.
func (p Producer) Send(ctx context.Context, b *contract.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	_, err := p.ask(ctx, "queueSendBatch", b.Bytes())
	return queues.SendFault("queues.Send", err)
}

// SendOne implements queues.Producer.
func (p Producer) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := queues.Check(body, delay); err != nil {
		return err
	}
	_, err := p.ask(ctx, "queueSend", body, strconv.FormatInt(queues.Seconds(delay), 10))
	return queues.SendFault("queues.SendOne", err)
}

// Backlog implements queues.Producer: it asks the platform.
func (p Producer) Backlog(ctx context.Context) (queues.Backlog, error) {
	answer, err := p.ask(ctx, "queueMetrics", nil)
	if err != nil {
		return queues.Backlog{}, queues.SendFault("queues.Backlog", err)
	}
	var numbers [3]int64
	for i, field := range strings.Split(answer, "\n") {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return queues.Backlog{}, queues.SendFault("queues.Backlog", err)
		}
	}
	return queues.Backlog{Messages: numbers[0], Bytes: numbers[1], Oldest: contract.FromMillis(numbers[2])}, nil
}
