package controls_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/r2"
)

// fastClock advances two seconds with every reading, so that one key takes one write after the other.
func fastClock() func() time.Time {
	var seconds atomic.Int64
	return func() time.Time { return time.Unix(1769601600+2*seconds.Add(1), 0).UTC() }
}

func TestChange_ManyWriters(t *testing.T) {
	bucket := r2.NewMemory()
	bucket.Now = fastClock()
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			c := &controls.Store{Bucket: bucket, Sleep: func(context.Context,
				time.Duration) error {
				time.Sleep(time.Millisecond)
				return nil
			}}
			for j := range 3 {
				for { // a writer may lose too often in a row
					_, err := c.Change(t.Context(), func(c *contract.Controls) error {
						c.Exclusions = append(c.Exclusions, contract.Exclusion{Kind: "host",
							Value: fmt.Sprint(i, "-", j)})
						return nil
					})
					if err == nil {
						break
					}
					if contract.KindOf(err) != contract.Storage {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	c := &controls.Store{Bucket: bucket}
	got, _, err := c.Read(t.Context())
	if err != nil || len(got.Exclusions) != 15 {
		t.Errorf("%d exclusions, %v", len(got.Exclusions), err)
	}
	if _, err := bucket.Put(t.Context(), "control/pipeline.json", []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); contract.KindOf(err) != contract.Storage {
		t.Errorf("an object that cannot be read: %v", err)
	}
	if err := bucket.Delete(t.Context(), "control/pipeline.json"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Read(t.Context()); err != nil || len(got.Exclusions) != 0 {
		t.Errorf("deleted: %+v, %v", got, err)
	}
}
