//go:build js && wasm

package bindings

import (
	"syscall/js"
	"time"

	library "github.com/syumai/workers/cloudflare/queues"

	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/worker"
)

// Messages returns the messages of a batch.
func Messages(batch *library.MessageBatch) []queues.Message {
	messages := make([]queues.Message, len(batch.Messages))
	for i, m := range batch.Messages {
		messages[i] = &delivery{m, body(m.Body)}
	}
	return messages
}

type delivery struct {
	message *library.Message
	body    []byte
}

func (d *delivery) ID() string      { return d.message.ID }
func (d *delivery) Body() []byte    { return d.body }
func (d *delivery) Attempts() int   { return d.message.Attempts }
func (d *delivery) Sent() time.Time { return d.message.Timestamp }
func (d *delivery) Ack()            { d.message.Ack() }

func (d *delivery) Retry(delay time.Duration) {
	d.message.Retry(library.WithRetryDelay(delay))
}

var (
	arrayBuffer = js.Global().Get("ArrayBuffer")
	uint8Array  = js.Global().Get("Uint8Array")
	stringify   = js.Global().Get("JSON").Get("stringify")
)

// body returns a message's content: text and bytes as they were sent, anything else as JSON.
func body(v js.Value) []byte {
	switch {
	case v.Type() == js.TypeString:
		return []byte(v.String())
	case v.InstanceOf(uint8Array):
		return worker.Bytes(v)
	case v.InstanceOf(arrayBuffer):
		return worker.Bytes(uint8Array.New(v))
	}
	if text := stringify.Invoke(v); text.Type() == js.TypeString {
		return []byte(text.String())
	}
	return nil
}
