package sources

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
)

const (
	queriesAtOnce = 4 // the platform has six connections per event, for all sources
	// patience is the time that the next query waits for the answer to the one before. A source that refuses is not
	// called again, but a silent call delays no other.
	patience = time.Second
	maxPages = 10 // per query and collection
)

// queries are the searches of a provider.
type queries struct {
	names []string
	// page reads a page of a query, newest articles first, and returns the position of the next one, "" behind the
	// last. The position of the first one is "".
	page func(query, position string) (b info.Batch, next string, err error)
}

// seen maps each query to the publication of its newest article.
type seen map[string]epoch.Millis

// collect asks all queries, each back to what the previous collection saw, and merges their answers in their order.
// state is that of the previous batch. err is set if no query succeeded.
func (q queries) collect(c info.Client, state []byte) (b info.Batch, err error) {
	before, after := seen{}, seen{}
	_ = json.Unmarshal(state, &before) // without a state, or with an unreadable one, everything is new
	batches := make([]info.Batch, len(q.names))
	newest := make([]epoch.Millis, len(q.names))
	errs := sideBySide(len(q.names), func(i int) (err error) {
		batches[i], newest[i], err = q.pages(c, q.names[i], before[q.names[i]])
		return err
	})
	answered := false
	for i, name := range q.names {
		after[name] = before[name]
		if i >= len(errs) {
			continue
		}
		b.Add(batches[i])
		if errs[i] == nil {
			after[name], answered = newest[i], true
			continue
		}
		b.Failures = append(b.Failures, info.Failure{Request: name, Err: errs[i]})
		if err == nil || !info.ClassOf(err).StopsSource() {
			err = errs[i]
		}
	}
	if !answered && len(b.Articles) == 0 {
		return b, err
	}
	b.State, _ = json.Marshal(after) // maps of strings always marshal
	return b, nil
}

// pages reads the pages of a query until one has articles from before seen, as far as the limits allow. What it read
// before an error is returned with it; the next collection then begins at the same place.
func (q queries) pages(c info.Client, query string, seen epoch.Millis) (b info.Batch, newest epoch.Millis, err error) {
	known := map[string]bool{}
	for n, position := 1, ""; ; n++ {
		p, next, err := q.page(query, position)
		if err != nil {
			return b, seen, err
		}
		reached, more := false, false
		for _, a := range p.Articles {
			at := epoch.MillisOf(a.PublishedAt)
			reached, newest = reached || at < seen, max(newest, at)
			more, known[a.Key] = more || !known[a.Key], true
		}
		b.Add(p)
		switch {
		case next == "", reached, !more: // a provider might repeat its last page
			return b, max(newest, seen), nil
		case n == maxPages, slices.Contains(p.Left, 0), !c.Spare(len(q.names)):
			if seen > 0 { // else it is the past that is not taken
				b.Gaps++
			}
			return b, max(newest, seen), nil
		}
		position = next
	}
}

// sideBySide calls do for 0, 1, … n-1. Each waits until the one before has ended or taken longer than patience. After
// an error that stops the source no more are begun. It returns the errors of those that were.
func sideBySide(n int, do func(i int) error) []error {
	var mu sync.Mutex
	errs := make([]error, n)
	stopped, begun := false, 0
	turns := make(chan struct{}, queriesAtOnce)
	var running sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		mu.Lock()
		stop := stopped
		mu.Unlock()
		if stop {
			break
		}
		begun++
		ended := make(chan struct{})
		running.Go(func() {
			defer func() { close(ended); <-turns }()
			defer func() { // a panic in this goroutine would end the program
				if thrown := recover(); thrown != nil {
					errs[i] = info.Recovered(thrown)
				}
			}()
			if errs[i] = do(i); errs[i] != nil && info.ClassOf(errs[i]).StopsSource() {
				mu.Lock()
				stopped = true
				mu.Unlock()
			}
		})
		wait(ended, patience)
	}
	running.Wait()
	return errs[:begun]
}

// wait waits for a channel to close, for d at most.
func wait(ended <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}
