package r2_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/r2/r2test"
)

var ctx = context.Background()

// stepping is a clock that advances a second with each reading.
func stepping() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func TestMemory(t *testing.T) {
	for _, c := range r2test.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			m := r2.NewMemory()
			m.Now = stepping()
			c.Run(t, m, "conformance/"+c.Name+"/")
			if n := m.OpenUploads(); n != 0 {
				t.Errorf("%d uploads were left open", n)
			}
		})
	}
}

func kind(t *testing.T, what string, err error, want contract.Kind) {
	t.Helper()
	if err == nil || contract.KindOf(err) != want {
		t.Errorf("%s: got error %v, want one of kind %s", what, err, want)
	}
}

func TestMemory_OneWriteASecond(t *testing.T) {
	now := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	m := r2.NewMemory()
	m.Now = func() time.Time { return now }
	put := func(key string) error {
		_, err := m.Put(ctx, key, nil, nil)
		return err
	}
	if err := put("a"); err != nil {
		t.Fatal(err)
	}
	if err := put("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	now = now.Add(999 * time.Millisecond)
	kind(t, "second put within a second", put("a"), contract.Storage)
	if err := m.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	kind(t, "put after a delete within a second", put("a"), contract.Storage)
	u, err := m.Create(ctx, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.Commit()
	kind(t, "upload within a second", err, contract.Storage)
	now = now.Add(time.Millisecond)
	if err := put("a"); err != nil {
		t.Errorf("a second later: %v", err)
	}

	m = r2.NewMemory() // with the real clock
	if err := put("a"); err != nil {
		t.Fatal(err)
	}
	kind(t, "second put at once", put("a"), contract.Storage)
}

func TestMemory_Fail(t *testing.T) {
	broken := errors.New("broken")
	var failing string
	m := r2.NewMemory()
	m.Now = stepping()
	m.Fail = func(op, key string) error {
		if op+" "+key == failing {
			return broken
		}
		return nil
	}
	if _, err := m.Put(ctx, "a", []byte("content"), nil); err != nil {
		t.Fatal(err)
	}
	body, err := m.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	newUpload := func() r2.Upload {
		u, err := m.Create(ctx, "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	writing, committing, aborting := newUpload(), newUpload(), newUpload()
	for _, c := range []struct {
		failing string
		do      func() error
	}{
		{"head a", func() error { _, err := m.Head(ctx, "a"); return err }},
		{"get a", func() error { _, err := m.Get(ctx, "a"); return err }},
		{"read a", func() error { _, err := io.ReadAll(body); return err }},
		{"list p", func() error { _, err := m.List(ctx, r2.ListOptions{Prefix: "p"}); return err }},
		{"put a", func() error { _, err := m.Put(ctx, "a", nil, nil); return err }},
		{"create u", func() error { _, err := m.Create(ctx, "u", nil); return err }},
		{"write u", func() error { _, err := writing.Write([]byte("x")); return err }},
		{"commit u", func() error { _, err := committing.Commit(); return err }},
		{"abort u", aborting.Abort},
		{"delete a", func() error { return m.Delete(ctx, "a", "b") }},
	} {
		failing = c.failing
		err := c.do()
		kind(t, c.failing, err, contract.Storage)
		if !errors.Is(err, broken) {
			t.Errorf("%s: the cause is lost in %v", c.failing, err)
		}
	}
	failing = ""
	if err := writing.Abort(); err != nil {
		t.Error(err)
	}
	if n := m.OpenUploads(); n != 0 {
		t.Errorf("%d uploads were left open", n)
	}
	if _, err := m.Head(ctx, "u"); !errors.Is(err, r2.ErrNotFound) {
		t.Errorf("a failed commit left something: %v", err)
	}
}

// As on the platform, pages with metadata end before their limit, so callers must check Truncated.
func TestMemory_ShortPages(t *testing.T) {
	m := r2.NewMemory()
	for i := range 101 {
		if _, err := m.Put(ctx, fmt.Sprint(i), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	page, err := m.List(ctx, r2.ListOptions{Metadata: true, Limit: 101})
	if err != nil || len(page.Objects) != 100 || !page.Truncated {
		t.Errorf("with metadata: %d objects, truncated %v, %v", len(page.Objects), page.Truncated, err)
	}
}

func TestMemory_ContentType(t *testing.T) {
	m := r2.NewMemory()
	o := &r2.PutOptions{ContentType: "application/json"}
	if _, err := m.Put(ctx, "put", nil, o); err != nil {
		t.Fatal(err)
	}
	u, err := m.Create(ctx, "uploaded", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"put": "application/json", "uploaded": "application/json", "none": ""} {
		if got := m.ContentType(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
