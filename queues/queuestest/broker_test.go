package queuestest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/queues/producertest"
)

func TestBroker_ProducerConforms(t *testing.T) {
	b := New(Queue{Name: "q", MaxBatchSize: 10})
	p := b.Producer("q")
	received := func(mark string, _ int) []string {
		return slices.DeleteFunc(b.Waiting("q"), func(body string) bool { return !strings.Contains(body, mark) })
	}
	for _, c := range producertest.Cases {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, p, received, c.Name) })
	}
}

func send(t *testing.T, b *Broker, n int, delay time.Duration) {
	t.Helper()
	for i := range n {
		if err := b.Producer("q").SendOne(t.Context(), fmt.Append(nil, i), delay); err != nil {
			t.Fatal(err)
		}
	}
}

// drain delivers everything and lists the batches, each with its time in seconds.
func drain(t *testing.T, b *Broker, settle func(m queues.Message)) (batches []string) {
	t.Helper()
	began := time.Now()
	b.Consume = func(_ context.Context, queue string, messages []queues.Message) {
		line := fmt.Sprintf("%s %d:", queue, int(time.Since(began).Seconds()))
		for _, m := range messages {
			line += fmt.Sprintf(" %s/%d", m.Body(), m.Attempts())
			settle(m)
		}
		batches = append(batches, line)
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	return batches
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBroker_Batches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Queue{Name: "q", MaxBatchSize: 3, MaxBatchTimeout: 10 * time.Second})
		send(t, b, 4, 0)
		send(t, b, 1, 5*time.Second)
		expect(t, drain(t, b, queues.Message.Ack), "q 0: 0/1 1/1 2/1", "q 10: 3/1 0/1")
	})
}

func TestBroker_RetriesAndDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Queue{Name: "q", MaxBatchSize: 2, MaxRetries: 2, DeadLetterQueue: "dead"},
			Queue{Name: "dead", MaxBatchSize: 2, MaxRetries: 1})
		send(t, b, 2, 0)
		got := drain(t, b, func(m queues.Message) {
			if string(m.Body()) == "0" && m.Attempts() == 2 {
				m.Ack()
			}
			m.Retry(time.Minute) // has no effect after Ack
		})
		expect(t, got, "q 0: 0/1 1/1", "q 60: 0/2 1/2", "q 120: 1/3", "dead 120: 1/1", "dead 180: 1/2")
		expect(t, b.Lost(), "1")
	})
}

func TestBroker_UnsettledIsRedelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Queue{Name: "q", MaxBatchSize: 2, MaxRetries: 1})
		send(t, b, 1, 0)
		expect(t, drain(t, b, func(queues.Message) {}), "q 0: 0/1", "q 0: 0/2")
	})
}

func TestBroker_CopiesShuffledAndWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Queue{Name: "q", MaxBatchSize: 4})
		b.Copies, b.Shuffle = 2, rand.New(rand.NewPCG(1, 2))
		b.Withhold = func(_ string, body []byte) bool { return string(body) == "9" }
		send(t, b, 10, 0)
		count := map[string]int{}
		var order []string
		drain(t, b, func(m queues.Message) {
			m.Ack()
			count[string(m.Body())]++
			order = append(order, string(m.Body()))
		})
		if len(count) != 9 || count["0"] != 2 || slices.IsSorted(order) || len(b.Waiting("q")) != 2 {
			t.Errorf("%v, in the order %v, %v wait", count, order, b.Waiting("q"))
		}
	})
}

func TestBroker_ConcurrentEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Queue{Name: "q", MaxBatchSize: 1})
		b.Events = 3
		send(t, b, 6, 0)
		began := time.Now()
		b.Consume = func(_ context.Context, _ string, messages []queues.Message) {
			time.Sleep(time.Second)
			messages[0].Ack()
		}
		if err := b.Drain(t.Context()); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
