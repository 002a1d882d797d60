package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/webhook"
)

// feed is the feed of two shards, one of which is away at times.
type feed struct {
	items  [2][]frontier.FeedItem
	random *rand.Rand
}

func (f *feed) Call(_ context.Context, shard, _ string, request []byte) ([]byte, error) {
	n := int(shard[len(shard)-1] - '0')
	if f.random.IntN(8) == 0 {
		return nil, errors.New("the shard does not answer")
	}
	var r frontier.FeedRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	page := frontier.FeedPage{Next: r.After}
	for _, item := range f.items[n] {
		if item.Sequence <= r.After {
			continue
		}
		if page.More = len(page.Items) == r.Limit; page.More {
			break
		}
		page.Items, page.Next = append(page.Items, item), item.Sequence
	}
	return json.Marshal(frontier.Envelope{Answer: page})
}

// receiver takes at most seven items at once, refuses bad ones, and is out of order at times.
type receiver struct {
	*testing.T
	random   *rand.Rand
	got      map[string]int
	last     map[string]int // of a shard
	attempts map[string]string
}

func (r *receiver) Post(_ context.Context, _ string, header http.Header, body []byte, _ time.Duration) error {
	var d contract.FeedDelivery
	if err := json.Unmarshal(body, &d); err != nil {
		r.Error(err)
	}
	id := header.Get("Idempotency-Key")
	var urls []string
	bad := false
	for _, i := range d.Items {
		urls = append(urls, i.URL)
		bad = bad || strings.Contains(i.URL, "bad")
	}
	text := strings.Join(urls, " ")
	if before, ok := r.attempts[id]; ok && before != text {
		r.Errorf("delivery %s had %q, and has %q", id, before, text)
	}
	r.attempts[id] = text
	switch {
	case r.random.IntN(5) == 0:
		return webhook.CheckStatus([]int{500, 429, 503, 302, 404, 401}[r.random.IntN(6)])
	case len(d.Items) > 7:
		return webhook.CheckStatus(413)
	case bad:
		return webhook.CheckStatus([]int{400, 422}[r.random.IntN(2)])
	}
	for _, u := range urls {
		r.got[u]++
		var shard, n int
		fmt.Sscanf(u[strings.LastIndex(u, "/")+1:], "%d-%d", &shard, &n)
		key := fmt.Sprint(shard)
		if n < r.last[key] && r.got[u] == 1 {
			r.Errorf("%s comes after %d", u, r.last[key])
		}
		r.last[key] = max(n, r.last[key])
	}
	if r.random.IntN(10) == 0 {
		return errors.New("the answer was lost")
	}
	return nil
}

type letters map[string]bool

func (l letters) Put(_ context.Context, _ string, messages []deadletters.Message) []error {
	for _, m := range messages {
		l[m.Failure.Key] = true
	}
	return make([]error, len(messages))
}

// TestSender_Anything: whatever the receiver, the shards and the ledger do, each item is delivered in its order, or a
// dead letter if the receiver refuses its content.
func TestSender_Anything(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			db, err := sqlite.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			f := &feed{random: random}
			to := &receiver{T: t, random: random, got: map[string]int{}, last: map[string]int{},
				attempts: map[string]string{}}
			dead := letters{}
			now := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
			s := &webhook.Sender{Frontier: client.Frontier{Caller: f, Shards: 2}, Shards: 2, Ledger: ledger.New(db),
				Exclusions: func(context.Context) (*contract.Exclusions, error) {
					return contract.NewExclusions(nil), nil
				},
				DeadLetters: dead, Poster: to, URL: "https://receiver.example/", Secret: "0123456789abcdef",
				Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
			var good, bad []string
			n := [2]int{}
			for range 400 {
				for range random.IntN(8) {
					if len(good)+len(bad) > 400 {
						break
					}
					shard := random.IntN(2)
					n[shard]++
					u := fmt.Sprintf("https://a.example/good/%d-%d", shard, n[shard])
					if random.IntN(40) == 0 && len(bad) < 9 { // more mean that the receiver is at fault
						u = strings.Replace(u, "good", "bad", 1)
						bad = append(bad, u)
					} else {
						good = append(good, u)
					}
					f.items[shard] = append(f.items[shard], frontier.FeedItem{URL: u, Sequence: int64(n[shard]),
						FoundAt: 1})
				}
				db.Fail = nil
				if random.IntN(6) == 0 {
					calls := random.IntN(6)
					db.Fail = func() error {
						if calls--; calls < 0 {
							return errors.New("killed")
						}
						return nil
					}
				}
				s.Run(t.Context())
				db.Fail = nil
				now = now.Add(time.Duration(1+random.IntN(30)) * time.Minute)
			}
			for _, u := range good {
				if to.got[u] == 0 {
					t.Errorf("%s was never delivered; a dead letter: %v", u, dead[u])
				}
			}
			for _, u := range bad {
				if !dead[u] {
					t.Errorf("%s is no dead letter", u)
				}
			}
			for u := range dead {
				if !slices.Contains(bad, u) {
					t.Errorf("%s is a dead letter", u)
				}
			}
		})
	}
}
