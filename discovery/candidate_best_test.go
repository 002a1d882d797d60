package discovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// orders offers candidates of the given orders, named by their places.
func orders(list *best[int], of ...int) {
	for i, order := range of {
		if note, _ := list.offer(&candidate{url: fmt.Sprint("https://a.example/", i), order: order}); note != nil {
			*note = i
		}
	}
}

func TestBest_Offer(t *testing.T) {
	list := newBest[int](2)
	orders(&list, 1, 3)
	note, dropped := list.offer(&candidate{url: "https://a.example/new", order: 2})
	if note == nil || *note != 0 || dropped == nil || dropped.url != "https://a.example/0" || dropped.note != 0 {
		t.Errorf("a better one: note %v, dropped %+v", note, dropped)
	}
	note, dropped = list.offer(&candidate{url: "https://a.example/worse", order: 1})
	if note != nil || dropped != nil {
		t.Errorf("a worse one: note %v, dropped %+v", note, dropped)
	}
	note, dropped = list.offer(&candidate{url: "https://a.example/1", order: 9})
	if note == nil || *note != 1 || dropped != nil {
		t.Errorf("a candidate again: note %v, dropped %+v; want its own note", note, dropped)
	}
	if got := list.ordered(); len(got) != 2 || got[0].order != 9 || got[1].order != 2 {
		t.Errorf("%+v", got)
	}
	if list.note("https://a.example/0") != nil {
		t.Error("a note of a dropped candidate")
	}
	none := newBest[int](0)
	if note, _ := none.offer(&candidate{url: "https://a.example/", order: 1}); note != nil {
		t.Error("a list without room takes a candidate")
	}
}

func TestBest_Remove(t *testing.T) {
	list := newBest[int](5)
	orders(&list, 3, 1, 4, 2, 5)
	list.remove("https://a.example/0")
	list.remove("https://a.example/0")
	list.remove("https://a.example/4")
	var left []int
	for _, c := range list.ordered() {
		left = append(left, c.order)
	}
	if !slices.Equal(left, []int{4, 2, 1}) {
		t.Errorf("left are %v", left)
	}
}

// In whatever order candidates are offered, the list has the best of what was offered, each with its own note.
func TestBest_LikeSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list, limit := newBest[int](0), 1+r.IntN(12)
		list.limit = limit
		highest := map[string]candidate{}
		for range 60 {
			n := r.IntN(30)
			c := candidate{url: fmt.Sprint("https://a.example/", n), order: r.IntN(20)}
			if old, found := highest[c.url]; found && old.order > c.order {
				continue // a place only rises
			}
			highest[c.url] = c
			if note, _ := list.offer(&c); note != nil {
				*note = n
			}
		}
		var want []candidate
		for _, c := range highest {
			want = append(want, c)
		}
		slices.SortFunc(want, func(a, b candidate) int { return better(&a, &b) })
		want = want[:min(limit, len(want))]
		same := func(a, b candidate) bool { return a.url == b.url && a.order == b.order }
		if got := list.ordered(); !slices.EqualFunc(got, want, same) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		for _, c := range want {
			if note := list.note(c.url); note == nil || fmt.Sprint("https://a.example/", *note) != c.url {
				t.Fatalf("%s has the note %v", c.url, note)
			}
		}
	}
}

// At most maxAlike candidates of a section are kept, the best.
func TestBestBySection_MaxAlike(t *testing.T) {
	list := newBestBySection()
	offer := func(url string, order int) {
		p := parsePage(url)
		list.offer(&p, &candidate{url: url, order: order})
	}
	for i := range 3 * maxAlike {
		offer(fmt.Sprint("https://a.example/news/", i), i)
	}
	offer("https://a.example/sport/1", 0)
	got := list.candidates()
	if len(got) != maxAlike+1 || got[0].order != 3*maxAlike-1 || got[len(got)-1].url != "https://a.example/sport/1" {
		t.Errorf("%d candidates, the first %+v, the last %+v", len(got), got[0], got[len(got)-1])
	}
	if got := list.candidates(got[:1]); len(got) != maxAlike {
		t.Errorf("%d candidates beside one in another list", len(got))
	}
}
