//go:build js && wasm

package bindings

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/worker"
)

// Producer is a queues.Producer bound to the Worker. Messages have the content type text.
type Producer struct{ name string }

var _ queues.Producer = Producer{}

// NewProducer returns the queue bound under name. Every call looks the binding up, because each event
// has its own.
func NewProducer(name string) Producer { return Producer{name} }

// ask calls a helper of worker/helpers.mjs.
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

// Backlogs returns the backlogs of the queues bound under names, or the error for that queue. One
// crossing reads all of them.
func Backlogs(names ...string) (list []contract.Backlog, errs []error) {
	list, errs = make([]contract.Backlog, len(names)), make([]error, len(names))
	answer, _, err := worker.Ask("queueMetrics", nil, names...)
	fields := worker.Fields{Rest: answer}
	for i := range names {
		errs[i] = contract.Wrap(contract.Storage, "queues.Backlogs", err)
		if err == nil {
			list[i], errs[i] = readBacklog(&fields)
		}
	}
	return list, errs
}

// readBacklog reads the four fields of a queue. The last is the reason if its metrics could not be read.
func readBacklog(fields *worker.Fields) (b contract.Backlog, err error) {
	var numbers [3]int64
	for i := range numbers {
		n, unreadable := strconv.ParseInt(fields.Next(), 10, 64)
		numbers[i], err = n, errors.Join(err, unreadable)
	}
	if reason := fields.Next(); reason != "" {
		err = errors.New(reason)
	}
	if err != nil {
		return b, contract.Wrap(contract.Storage, "queues.Backlogs", err)
	}
	oldest := contract.AtMillis(epoch.Millis(numbers[2]))
	return contract.Backlog{Messages: numbers[0], Bytes: numbers[1], Oldest: oldest}, nil
}
