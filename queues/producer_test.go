package queues_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/queues/producertest"
)

func TestMemory_Conforms(t *testing.T) {
	m := queues.NewMemory()
	received := func(mark string, _ int) (bodies []string) {
		for _, s := range m.Sent() {
			if strings.Contains(string(s.Body), mark) {
				bodies = append(bodies, string(s.Body))
			}
		}
		return bodies
	}
	for _, c := range producertest.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, m, received, c.Name)
		})
	}
}

func TestMemory_Delay(t *testing.T) {
	m := queues.NewMemory()
	for _, delay := range []time.Duration{0, 1, time.Second, 1500 * time.Millisecond, queues.MaxDelay} {
		if err := m.SendOne(context.Background(), []byte(`1`), delay); err != nil {
			t.Fatal(err)
		}
	}
	var got []time.Duration
	for _, s := range m.Sent() {
		got = append(got, s.Delay)
	}
	want := []time.Duration{0, time.Second, time.Second, 2 * time.Second, queues.MaxDelay}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMemory_Fail(t *testing.T) {
	broken := errors.New("broken")
	m := queues.NewMemory()
	m.Fail = func(messages []queues.Sent) error {
		if len(messages) == 2 {
			return broken
		}
		return nil
	}
	ctx := context.Background()
	var b contract.Batch
	b.Add([]byte(`1`))
	b.Add([]byte(`2`))
	err := m.Send(ctx, &b)
	if !errors.Is(err, broken) || contract.KindOf(err) != contract.Storage {
		t.Errorf("got error %v", err)
	}
	if err := m.SendOne(ctx, []byte(`3`), 0); err != nil {
		t.Error(err)
	}
	if sent := m.Sent(); len(sent) != 1 || string(sent[0].Body) != "3" {
		t.Errorf("sent %v", sent)
	}
}
