package cache

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a KV namespace in memory, with KV's limits.
type Memory struct {
	// Fail, if set, is called before every call, which fails with the error it returns.
	Fail func() error
	// Now is the clock by which values expire; nil means time.Now.
	Now func() time.Time

	// Lag delays writes for readers, who see the previous value meanwhile.
	Lag time.Duration

	mu     sync.Mutex
	values map[string][]memoryValue // by key, oldest first
	Puts   int                      // number of writes
}

type memoryValue struct {
	value            []byte
	written, expires time.Time
}

var _ Namespace = (*Memory)(nil)

func (m *Memory) begin() (time.Time, error) {
	if m.Fail != nil {
		if err := m.Fail(); err != nil {
			return time.Time{}, err
		}
	}
	if m.Now != nil {
		return m.Now(), nil
	}
	return time.Now(), nil
}

// Get implements Namespace.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	now, err := m.begin()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range slices.Backward(m.values[key]) {
		if now.Before(v.written.Add(m.Lag)) {
			continue
		}
		if now.Before(v.expires) {
			return bytes.Clone(v.value), nil
		}
		break
	}
	return nil, nil
}

// Limits of KV (developers.cloudflare.com/kv/platform/limits/).
const (
	minTTL   = time.Minute
	maxKey   = 512
	maxValue = 25 << 20
)

// Put implements Namespace.
func (m *Memory) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	now, err := m.begin()
	switch {
	case err != nil:
		return err
	case ttl < minTTL:
		return fmt.Errorf("KV PUT failed: 400 Invalid expiration_ttl of %v", ttl)
	case len(key) > maxKey:
		return fmt.Errorf("KV PUT failed: 414 UTF-8 encoded length of %d exceeds key length limit of 512", len(key))
	case len(value) > maxValue:
		return fmt.Errorf("KV PUT failed: 413 Value length of %d exceeds limit of 26214400", len(value))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string][]memoryValue{}
	}
	m.values[key] = append(m.values[key], memoryValue{bytes.Clone(value), now, now.Add(ttl)})
	m.Puts++
	return nil
}
