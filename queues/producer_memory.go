package queues

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Memory is a Producer in memory. It keeps the messages, and rejects what the platform would reject. It is safe for
// concurrent use. Set Fail before the first use.
type Memory struct {
	// Fail is called with the messages before they are sent. If it returns an error, nothing is sent, and the sender
	// gets the error as a fault of the queue. nil never fails.
	Fail func(messages []Sent) error

	mu   sync.Mutex
	sent []Sent
}

// Sent is a message that was sent.
type Sent struct {
	Body  []byte
	Delay time.Duration
}

var _ Producer = (*Memory)(nil)

// NewMemory returns an empty queue.
func NewMemory() *Memory { return &Memory{} }

// Sent returns the messages that were sent, in order.
func (m *Memory) Sent() []Sent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sent)
}

// Send implements Producer.
func (m *Memory) Send(ctx context.Context, b *contract.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	var messages []Sent
	for message := range b.Messages() {
		messages = append(messages, Sent{Body: bytes.Clone(message)})
	}
	return SendFault("queues.Send", m.send(ctx, messages))
}

// SendOne implements Producer.
func (m *Memory) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := Check(body, delay); err != nil {
		return err
	}
	message := Sent{bytes.Clone(body), time.Duration(Seconds(delay)) * time.Second}
	return SendFault("queues.SendOne", m.send(ctx, []Sent{message}))
}

func (m *Memory) send(ctx context.Context, messages []Sent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, message := range messages {
		if !json.Valid(message.Body) {
			return errors.New("SyntaxError: the message is not JSON")
		}
	}
	if m.Fail != nil {
		if err := m.Fail(messages); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, messages...)
	return nil
}
