// Package producertest is the conformance suite of queue producers. The tests of queues run it against the in-memory
// producer, test/conformance runs it against the Workers binding.
package producertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/test/cases"
)

// T receives the results of a case.
type T = cases.T

var expectKind = cases.ExpectKind

// Received returns the bodies of the delivered messages that contain mark, once there are n or no more arrive.
type Received func(mark string, n int) []string

// Case tests one property. All its messages contain mark, which must be unique to the run.
type Case struct {
	Name string
	Run  func(t T, p queues.Producer, received Received, mark string)
}

var Cases = []Case{
	{"a batch of messages", batch},
	{"batches packed to the limits", packed},
	{"an empty batch", empty},
	{"one message", one},
	{"any text", anyText},
	{"limits of a message", limits},
	{"a message that is not JSON", notJSON},
	{"a context that is done", contextDone},
}

var ctx = context.Background()

// expect compares messages in any order, because the platform keeps none.
func expect(t T, got, want []string) {
	t.Helper()
	got = slices.Sorted(slices.Values(got))
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("got %d messages, want %d; first: got %.200q, want %.200q", len(got), len(want),
			got[:min(1, len(got))], want[:min(1, len(want))])
	}
}

func message(mark string, i, size int) string {
	text := fmt.Sprintf(`{"mark":%q,"number":%d,"filling":"`, mark, i)
	return text + strings.Repeat("x", max(0, size-len(text)-2)) + `"}`
}

// sendAll packs messages into batches as the pipeline does, and returns the number of batches.
func sendAll(t T, p queues.Producer, messages []string) (batches int) {
	t.Helper()
	var b contract.Batch
	flush := func() {
		if err := p.Send(ctx, &b); err != nil {
			t.Fatalf("Send of %d messages: %v", b.Len(), err)
		}
		b.Reset()
		batches++
	}
	for _, m := range messages {
		if !b.Add([]byte(m)) {
			flush()
			b.Add([]byte(m))
		}
	}
	flush()
	return batches
}

func batch(t T, p queues.Producer, received Received, mark string) {
	var messages []string
	for i := range 100 {
		messages = append(messages, message(mark, i, 1200))
	}
	if n := sendAll(t, p, messages); n != 1 {
		t.Errorf("sent in %d batches, want 1", n)
	}
	expect(t, received(mark, len(messages)), messages)
}

func packed(t T, p queues.Producer, received Received, mark string) {
	var messages []string
	for i := range 130 {
		messages = append(messages, message(mark, i, 100))
	}
	largest := contract.MaxMessageBytes - contract.MessageOverhead
	for i := range 5 {
		messages = append(messages, message(mark, 1000+i, largest))
	}
	if n := sendAll(t, p, messages); n != 4 { // 100, 30 and one large, two large, two large
		t.Errorf("sent in %d batches, want 4", n)
	}
	expect(t, received(mark, len(messages)), messages)
}

func empty(t T, p queues.Producer, received Received, mark string) {
	var b contract.Batch
	if err := p.Send(ctx, &b); err != nil {
		t.Errorf("Send: %v", err)
	}
}

func one(t T, p queues.Producer, received Received, mark string) {
	m := message(mark, 1, 100)
	if err := p.SendOne(ctx, []byte(m), 0); err != nil {
		t.Fatalf("SendOne: %v", err)
	}
	expect(t, received(mark, 1), []string{m})
}

func anyText(t T, p queues.Producer, received Received, mark string) {
	var messages []string
	for _, s := range []string{"line\nfeed\r", "\"quoted\" \\", "한국어 é 𝄞", "\u2028\u2029<&>\x00", ""} {
		m, err := json.Marshal([]any{mark, s, 0.1, 1769601600123, true, nil})
		if err != nil {
			t.Fatalf("%v", err)
		}
		messages = append(messages, string(m))
	}
	// Bytes are kept even if an encoder would write them differently.
	messages = append(messages, fmt.Sprintf("{\r\n\t\"mark\" :%q,\n\n \"text\":"+
		"\"\u2028\u2029<&>\\u0041\\/\\ud834\\udd1e\" , \"number\":1.50E+2 }", mark))
	sendAll(t, p, messages)
	expect(t, received(mark, len(messages)), messages)
	last := messages[len(messages)-1]
	if err := p.SendOne(ctx, []byte(last), 0); err != nil {
		t.Fatalf("SendOne: %v", err)
	}
	expect(t, received(mark, len(messages)+1), append(messages, last))
}

func limits(t T, p queues.Producer, received Received, mark string) {
	largest := message(mark, 1, contract.MaxMessageBytes-contract.MessageOverhead)
	if err := p.SendOne(ctx, []byte(largest), 0); err != nil {
		t.Errorf("the largest message: %v", err)
	}
	expectKind(t, "a larger message", p.SendOne(ctx, []byte(message(mark, 2, len(largest)+1)), 0), contract.Validation)
	small := []byte(message(mark, 3, 0))
	expectKind(t, "a negative delay", p.SendOne(ctx, small, -1), contract.Validation)
	expectKind(t, "a longer delay", p.SendOne(ctx, small, queues.MaxDelay+1), contract.Validation)
	expect(t, received(mark, 1), []string{largest})
}

func notJSON(t T, p queues.Producer, received Received, mark string) {
	expectKind(t, "SendOne", p.SendOne(ctx, []byte(`{"mark":"`+mark), 0), contract.Validation)
	last := message(mark, 2, 0)
	sendAll(t, p, []string{last})
	expect(t, received(mark, 1), []string{last})
}

func contextDone(t T, p queues.Producer, received Received, mark string) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	m := message(mark, 1, 0)
	var b contract.Batch
	b.Add([]byte(m))
	expectKind(t, "Send", p.Send(done, &b), contract.Storage)
	expectKind(t, "SendOne", p.SendOne(done, []byte(m), 0), contract.Storage)
}
