package infotest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/store"
)

// follower is a reader that follows the documented steps (docs/info.md, "For readers"): it scrolls, looks for what
// is new, and shows each article once.
type follower struct {
	query            info.Query
	next             info.Cursor // end of the page that was read last
	began, over      bool
	earliest, looked info.Cursor            // in the order of arrival
	arrived          map[string]info.Cursor // articles not shown yet
	shown            map[string]int
}

func (f *follower) show(id string) {
	delete(f.arrived, id)
	f.shown[id]++
}

// more reads the next page.
func (f *follower) more(t T, r *cache.Reader) {
	q := f.query
	if f.began {
		q.From = &f.next
	}
	p := read(t, r, q)
	if !f.began || p.Arrived.At < f.earliest.At { // a cache can be older than the one before
		f.earliest, f.looked = p.Arrived, p.Arrived
	}
	for _, item := range p.Items {
		f.next = item.Cursor
		if f.shown[item.Cursor.ID] == 0 {
			f.show(item.Cursor.ID)
		}
	}
	f.began, f.over = true, !p.More
}

// look reads what has arrived, and shows what does not belong below the end.
func (f *follower) look(t T, r *cache.Reader) {
	q := f.query
	q.Newer = true
	for more := true; more; {
		q.From = &f.looked
		p := read(t, r, q)
		for _, item := range p.Items {
			if f.shown[item.Cursor.ID] == 0 {
				f.arrived[item.Cursor.ID] = item.Cursor
			}
		}
		f.looked, more = p.Arrived, p.More
	}
	for id, at := range f.arrived {
		if f.over || !f.next.Before(at) {
			f.show(id)
		}
	}
}

// LateSources stores n articles of five sources within ten hours, each up to three hours after its publication, while
// readers scroll or keep a page open. Each reader must see every article once. advance sets
// the clock of the cache.
func LateSources(t T, s *store.Store, c cache.Cache, n int, advance func(now time.Time)) {
	const hours = 10
	random := rand.New(rand.NewPCG(5, 6))
	type delivery struct {
		at      time.Duration
		source  int
		article info.Article
	}
	var queue []delivery
	want := map[info.Category]map[string]bool{info.All: {}, info.Energy: {}}
	for i := range n {
		source := i % 5
		published := time.Duration(random.Int64N(int64(hours * time.Hour))).Truncate(time.Minute) // many ties
		lag := time.Duration(random.Int64N(int64(time.Duration(source)*45*time.Minute + time.Minute)))
		a := Article(info.Sources[source%4], i, noon.Add(published))
		if i%3 == 0 {
			a.Category = info.Energy
			want[info.Energy][a.ID] = true
		}
		want[info.All][a.ID] = true
		queue = append(queue, delivery{published + lag, source, a})
	}
	slices.SortFunc(queue, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })

	now := noon
	r := reader(s, c)
	r.Now = func() time.Time { return now }
	fillAt := func() {
		_, err := cache.Fill(ctx, c, s, "test", now)
		must(t, "Fill", err)
	}
	var followers []*follower
	for minute := range (hours+3)*60 + 10 {
		at := time.Duration(minute) * time.Minute
		now = noon.Add(at)
		advance(now)
		batches := map[int][]store.New{}
		for len(queue) > 0 && queue[0].at <= at && minute%5 == 0 {
			batches[queue[0].source] = append(batches[queue[0].source], store.New{Article: queue[0].article})
			queue = queue[1:]
		}
		for _, source := range slices.Sorted(maps.Keys(batches)) {
			_, err := s.Upsert(ctx, batches[source])
			must(t, "Upsert", err)
		}
		if minute%100 == 0 && len(followers) < 6 {
			f := &follower{arrived: map[string]info.Cursor{}, shown: map[string]int{}}
			f.query = info.Query{Category: info.All, Limit: 20}
			if len(followers)%3 == 2 {
				f.query.Category = info.Energy
			}
			followers = append(followers, f)
		}
		for i, f := range followers {
			switch {
			case !f.began, !f.over && random.IntN(2+10*(i%2)) == 0: // every other one scrolls slowly
				f.more(t, r)
			case random.IntN(10) == 0:
				f.look(t, r)
			}
		}
		if minute%5 == 4 { // in between readers get what the cache had
			fillAt()
		}
	}
	for i, f := range followers {
		for !f.over {
			f.more(t, r)
		}
		f.look(t, r)
		for id := range want[f.query.Category] {
			if f.shown[id] != 1 {
				t.Errorf("reader %d: %s was shown %d times", i, id, f.shown[id])
			}
		}
		expect(t, fmt.Sprintf("articles of reader %d", i), len(f.shown), len(want[f.query.Category]))
	}
}
