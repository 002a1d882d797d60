package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/frontier"
)

const (
	receiverURL    = "https://receiver.example/new"
	receiverSecret = "a secret of the receiver"
)

// receiver is the server behind the feed's webhook. It ignores deliveries whose id it has seen.
type receiver struct {
	*testing.T
	deliveries []contract.FeedDelivery // all posts
	taken      map[string]string       // accepted deliveries: their items by id
	items      []string                // of accepted deliveries, in order
	fail       func(n int) error       // the error of the nth post, from 1; errLate is returned after accepting it
}

// errLate is the error for a response that is lost after the receiver handled the delivery.
var errLate = &contract.Error{Kind: contract.Timeout, Message: "the webhook did not answer: TimeoutError"}

var errDown = &contract.Error{Kind: contract.Network, Message: "the webhook answered 500"}

// receive starts a receiver for the feed of w.
func receive(t *testing.T, w *enginetest.World) *receiver {
	r := &receiver{T: t, taken: map[string]string{}}
	w.Variables["FEED_WEBHOOK_URL"], w.Variables["FEED_WEBHOOK_SECRET"] = receiverURL, receiverSecret
	w.Hooks.Answer = func(p enginetest.Post) error {
		if p.URL != receiverURL {
			return nil
		}
		var d contract.FeedDelivery
		if err := json.Unmarshal(p.Body, &d); err != nil || d.ID != p.ID || d.Environment != "development" {
			t.Errorf("%s: %v", p.Body, err)
		}
		got, want := p.Header.Get("X-Newsfork-Signature"), contract.SignWebhook(receiverSecret, time.Now(), p.Body)
		if got != want {
			t.Errorf("signed %s", got)
		}
		r.deliveries = append(r.deliveries, d)
		var err error
		if r.fail != nil {
			err = r.fail(len(r.deliveries))
		}
		if err == nil || errors.Is(err, errLate) {
			r.note(&d)
		}
		return err
	}
	return r
}

func (r *receiver) note(d *contract.FeedDelivery) {
	content := string(contract.Encode(d.Items))
	if before, again := r.taken[d.ID]; again {
		if before != content {
			r.Errorf("%s had %s, then %s", d.ID, before, content)
		}
		return
	}
	r.taken[d.ID] = content
	for _, i := range d.Items {
		r.items = append(r.items, i.URL)
	}
}

// articles puts new pages into the frontier, and returns their URLs.
type articles struct {
	*testing.T
	w       *enginetest.World
	written []string
}

func (a *articles) write(n int, domains ...string) {
	a.Helper()
	for range n {
		domain := domains[len(a.written)%len(domains)]
		url := fmt.Sprintf("https://%s/news/%d", domain, len(a.written))
		_, err := a.w.Frontier.Remotes().Of(domain).Put(a.Context(),
			frontier.Put{Domain: domain, Partition: day, Pages: []frontier.NewPage{{URL: url, Fresh: true}}})
		if err != nil {
			a.Fatal(err)
		}
		a.written = append(a.written, url)
		time.Sleep(time.Millisecond)
	}
}

func (a *articles) expect(r *receiver, inOrder bool) {
	a.Helper()
	got, want := slices.Clone(r.items), slices.Clone(a.written)
	if !inOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		a.Errorf("%d were received, %d written: %.300v", len(got), len(want), got)
	}
}

// minutes runs the cron for n minutes.
func minutes(w *enginetest.World, n int) {
	for range n {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		w.Cron()
	}
}

var publishers = []string{"a.sg", "b.sg", "c.sg", "d.sg", "e.sg"}

// New items are delivered within a minute, in batches, once and in order. Without new items nothing is posted or
// written.
func TestWebhook_Delivers(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		a.write(250, publishers...)
		minutes(w, 1)
		a.expect(r, true)
		if sizes := fmt.Sprint(len(r.deliveries[0].Items), len(r.deliveries[1].Items),
			len(r.deliveries[2].Items)); sizes != "100 100 50" {
			t.Errorf("batches of %s", sizes)
		}
		if d := r.deliveries; !d[0].HasMore || d[2].HasMore || d[0].Expired || d[0].Items[0].Domain != "a.sg" {
			t.Errorf("%+v", d[0])
		}
		posts := len(w.Hooks.Posts())
		minutes(w, 5)
		if n := len(w.Hooks.Posts()) - posts; n > 0 {
			t.Errorf("%d posts without news", n)
		}
		a.write(3, publishers...)
		minutes(w, 1)
		a.expect(r, true)
		// A delivery's cursor continues after its last item.
		page := enginetest.Data[contract.FeedPage](w, "GET", "/api/v1/feed?cursor="+r.deliveries[1].Cursor, "")
		if len(page.Items) != 50 || page.Items[0].URL != a.written[200] {
			t.Errorf("%+v", page)
		}
	})
}

// A receiver that is down gets few requests, always with the same batch, and an alarm fires after an hour. Once it is
// back, it gets everything in order.
func TestWebhook_DeadReceiver(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.fail = func(int) error { return errDown }
		a.write(150, publishers...)
		minutes(w, 60)
		if n := len(r.deliveries); n < 5 || n > 7 {
			t.Errorf("%d posts in the first hour", n)
		}
		firing := func() bool {
			for _, alarm := range w.Status("").Alarms {
				if alarm.Name == "feed_webhook" {
					return alarm.State == contract.AlarmFiring
				}
			}
			return false
		}
		if firing() {
			t.Error("the alarm fires within an hour")
		}
		a.write(150, publishers...)
		minutes(w, 24*60)
		if n := len(r.deliveries); n > 7+25 {
			t.Errorf("%d posts in a day", n)
		}
		for _, d := range r.deliveries {
			if d.ID != r.deliveries[0].ID || len(d.Items) != 100 {
				t.Errorf("%s with %d items", d.ID, len(d.Items))
			}
		}
		if !firing() {
			t.Error("the alarm does not fire")
		}
		if lines := w.Events("feed_webhook_failed"); len(lines) != len(r.deliveries) ||
			lines[0]["error"] != "the webhook answered 500" || lines[1]["tries"] != 2.0 {
			t.Errorf("%v", lines[:2])
		}
		r.fail = nil
		minutes(w, 61)
		a.expect(r, true)
		if firing() {
			t.Error("the alarm still fires")
		}
	})
}

// Deliveries whose response is lost are repeated unchanged, even if new items were found meanwhile.
func TestWebhook_ResponseIsLost(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		random := rand.New(rand.NewPCG(1, 2))
		r.fail = func(int) error { return []error{nil, errLate, errDown}[random.IntN(3)] }
		for range 40 {
			a.write(random.IntN(60), publishers...)
			minutes(w, random.IntN(4))
		}
		r.fail = nil
		minutes(w, 61)
		a.expect(r, true)
		if len(r.deliveries) < len(r.taken)+10 {
			t.Errorf("%d deliveries in %d posts", len(r.taken), len(r.deliveries))
		}
	})
}

// Whichever call kills the event, deliveries are repeated with the same items, and two concurrent runs deliver
// nothing twice.
func TestWebhook_RunIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("delivers 7,500 articles")
	}
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["ANNOUNCEMENTS_PER_DOMAIN"] = "100000"
		r, a := receive(t, w), &articles{T: t, w: w}
		random := rand.New(rand.NewPCG(5, 6))
		deaths := a.writeWhileRunsDie(random, 250)
		minutes(w, 5)
		a.expect(r, true)
		if deaths < 10 {
			t.Errorf("%d runs died", deaths)
		}
		t.Logf("%d runs died, %d deliveries were posted %d times", deaths, len(r.taken), len(r.deliveries))
	})
}

// writeWhileRunsDie writes up to most articles a minute for an hour, while a call in 25 kills its run, and returns
// how many runs died.
func (a *articles) writeWhileRunsDie(random *rand.Rand, most int) (deaths int) {
	a.w.Kill = func(int) bool {
		dies := random.IntN(25) == 0
		if dies {
			deaths++
		}
		return dies
	}
	defer func() { a.w.Kill = nil }()
	for range 60 {
		a.write(random.IntN(most), publishers...)
		time.Sleep(time.Minute)
		a.w.CronMayDie()
	}
	return deaths
}

// Two concurrent runs deliver nothing twice, even if the receiver is slow.
func TestWebhook_ConcurrentRuns(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.fail = func(int) error { time.Sleep(9 * time.Second); return nil }
		a.write(900, publishers...)
		var group sync.WaitGroup
		for range 4 {
			for range 2 {
				group.Go(w.Cron)
			}
			time.Sleep(time.Minute)
		}
		group.Wait()
		a.expect(r, true)
		if len(r.deliveries) != 9 {
			t.Errorf("%d posts of 9 deliveries", len(r.deliveries))
		}
	})
}

// Items of a shard that is down are delivered later; a pending delivery is repeated without them under another id.
// Excluded items are not delivered, and expired items are reported.
func TestWebhook_ShardIsDown(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		a.write(10, publishers...)
		w.Frontier.Freeze(shardOf("a.sg"))
		minutes(w, 1)
		if n := len(r.items); n == 0 || n == 10 {
			t.Errorf("with a frozen shard: %v", r.items)
		}
		w.Frontier.Thaw(shardOf("a.sg"))
		minutes(w, 1)
		a.expect(r, false)

		r.fail = func(int) error { return errDown }
		a.write(10, publishers...)
		minutes(w, 1)
		w.Frontier.Freeze(shardOf("b.sg"))
		r.fail = nil
		minutes(w, 2)
		if n := len(r.items); n <= 10 || n == 20 {
			t.Errorf("with a frozen shard: %v", r.items)
		}
		w.Frontier.Thaw(shardOf("b.sg"))
		minutes(w, 1)
		a.expect(r, false)

		a.write(5, publishers...)
		if e := w.Ask("PUT", "/api/v1/exclusions/domain/c.sg", "{}"); !e.Success {
			t.Fatalf("%+v", e)
		}
		a.written = slices.Delete(a.written, 22, 23) // the item of c.sg
		minutes(w, 1)
		a.expect(r, false)

		r.fail = func(int) error { return errDown }
		a.write(20, "a.sg", "b.sg")
		for range 20 {
			minutes(w, 1)
			time.Sleep(24*time.Hour - time.Minute)
			a.write(2, "a.sg", "b.sg")
			for _, shard := range w.Frontier.Names() {
				if _, err := w.Alarm(shard); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.fail = nil
		before, tries := len(r.items), len(r.deliveries)
		minutes(w, 61)
		first := r.deliveries[tries]
		if n := len(r.items) - before; n == 0 || n >= 60 || !first.Expired ||
			!slices.Contains(r.items, a.written[len(a.written)-1]) {
			t.Errorf("after 20 days %d items, expired: %t", n, first.Expired)
		}
		a.write(1, "a.sg", "b.sg")
		minutes(w, 1)
		if last := r.deliveries[len(r.deliveries)-1]; last.Expired || len(last.Items) != 1 {
			t.Errorf("%+v", last)
		}
	})
}

// If items expire before the first delivery is accepted, deliveries say so.
func TestWebhook_ItemsExpire(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.fail = func(int) error { return errDown }
		for range 20 {
			a.write(2, "a.sg", "b.sg")
			minutes(w, 1)
			time.Sleep(24*time.Hour - time.Minute)
			for _, shard := range w.Frontier.Names() {
				if _, err := w.Alarm(shard); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.fail = nil
		tries := len(r.deliveries)
		minutes(w, 61)
		if len(r.items) == 0 || len(r.items) >= 40 || !r.deliveries[tries].Expired {
			t.Errorf("after 20 days %d items, expired: %t", len(r.items), r.deliveries[tries].Expired)
		}
	})
}
