package engine_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/webhook"
)

// refuse makes the receiver answer with a status to deliveries that have an item of which bad reports true.
func (r *receiver) refuse(status int, bad func(url string) bool) {
	r.fail = func(n int) error {
		if slices.ContainsFunc(r.deliveries[n-1].Items, func(i contract.FeedItem) bool { return bad(i.URL) }) {
			return webhook.CheckStatus(status)
		}
		return nil
	}
}

// letters returns the webhook's dead letters, oldest first.
func letters(w *enginetest.World) (all []contract.DeadLetterRecord) {
	for cursor := ""; ; {
		page := enginetest.Data[contract.DeadLetterPage](w, "GET", "/api/v1/dlq?queue=webhook&limit=200"+cursor, "")
		all = append(all, page.DeadLetters...)
		if page.Cursor == nil {
			slices.Reverse(all)
			return all
		}
		cursor = "&cursor=" + *page.Cursor
	}
}

// urls returns the works of dead letters: the URLs of their items.
func urls(letters []contract.DeadLetterRecord) (urls []string) {
	for _, l := range letters {
		urls = append(urls, l.Work)
	}
	return urls
}

func firing(w *enginetest.World) bool {
	return slices.ContainsFunc(w.Status("").Alarms, func(a contract.AlarmState) bool {
		return a.Name == "feed_webhook" && a.State == contract.AlarmFiring
	})
}

// One item that the receiver refuses becomes a dead letter. All others are delivered in order, in the same minute.
// Batches grow to their full size again.
func TestWebhook_RefusedItem(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			r, a := receive(t, w), &articles{T: t, w: w}
			a.write(500, publishers...)
			bad := a.written[137]
			r.refuse(status, func(url string) bool { return url == bad })
			minutes(w, 1)
			a.written = slices.Delete(a.written, 137, 138)
			if a.expect(r, true); t.Failed() {
				return
			}
			if largest := slices.MaxFunc(r.deliveries[10:], func(a, b contract.FeedDelivery) int {
				return len(a.Items) - len(b.Items)
			}); len(largest.Items) != 100 {
				t.Errorf("batches grow to %d items", len(largest.Items))
			}
			all := letters(w)
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			letter := enginetest.Data[contract.DeadLetterDetail](w, "GET", "/api/v1/dlq/"+all[0].ID, "")
			if letter.Work != bad || *letter.Domain != "c.sg" || *letter.Partition != day ||
				letter.QueueName != "newsfork-webhook-development" || letter.ErrorType != contract.Network ||
				!strings.HasPrefix(letter.ErrorMessage, webhook.CheckStatus(status).(*contract.Error).Message) {
				t.Errorf("%+v", letter.DeadLetterRecord)
			}
			if text := string(letter.Letter.OriginalMessage); !strings.Contains(text, `"url":"`+bad+`"`) {
				t.Error(text)
			}
			if lines := w.Events("message_dead_lettered"); len(lines) != 1 || lines[0]["work"] != bad {
				t.Errorf("%v", lines)
			}
			if len(w.Events("feed_webhook_failed")) > 0 || firing(w) {
				t.Error("it counts as failing")
			}
		})
	}
}

// The size of batches is stored: a run that is killed does not make the next one begin with batches that are too
// large.
func TestWebhook_RefusedSize(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		largest := func() int { return len(r.deliveries[len(r.deliveries)-1].Items) }
		r.fail = func(int) error {
			switch {
			case largest() > 30:
				return webhook.CheckStatus(413)
			case len(r.items) == 0:
				return errDown
			}
			return nil
		}
		a.write(200, publishers...)
		minutes(w, 1)
		if largest() != 25 || len(r.deliveries) != 3 {
			t.Fatalf("%d posts, the last of %d items", len(r.deliveries), largest())
		}
		w.Deploy()
		minutes(w, 2)
		if second := r.deliveries[3]; second.ID != r.deliveries[2].ID || len(second.Items) != 25 {
			t.Errorf("after a deploy: %d items", len(second.Items))
		}
		r.items = []string{""}
		minutes(w, 3)
		r.items = r.items[1:]
		a.expect(r, true)
		if all := letters(w); len(all) > 0 {
			t.Errorf("%v", urls(all))
		}
	})
}

// Answers that are not about the content change nothing: the same delivery is repeated.
func TestWebhook_RefusedReceiver(t *testing.T) {
	for _, status := range []int{302, 401, 403, 404, 405, 409, 410, 415, 429, 500, 503} {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			r, a := receive(t, w), &articles{T: t, w: w}
			r.refuse(status, func(string) bool { return true })
			a.write(120, publishers...)
			minutes(w, 10)
			for _, d := range r.deliveries {
				if d.ID != r.deliveries[0].ID || len(d.Items) != 100 {
					t.Fatalf("%d: %d items", status, len(d.Items))
				}
			}
			if len(r.deliveries) != 4 || len(letters(w)) > 0 {
				t.Errorf("%d: %d posts", status, len(r.deliveries))
			}
		})
	}
}

// The attempts of a delivery are counted from 1, although the larger one before it failed.
func TestWebhook_RefusedAttempts(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.fail = func(n int) error {
			switch {
			case n <= 3 || n == 5:
				return errDown
			case n == 4:
				return webhook.CheckStatus(413)
			}
			return nil
		}
		a.write(100, publishers...)
		minutes(w, 8)
		held := enginetest.Data[contract.FeedWebhook](w, "GET", "/api/v1/feed/webhook", "").Held
		if held == nil || held.ID != r.deliveries[4].ID || held.Attempts != 1 || len(held.URLs) != 50 ||
			held.FailingSince.After(time.Now().Add(-6*time.Minute)) {
			t.Errorf("%d posts, held %+v", len(r.deliveries), held)
		}
		minutes(w, 1)
		a.expect(r, true)
	})
}

// A receiver that refuses everything loses ten items, then it counts as failing, with few requests and an alarm. Once
// it is mended, it gets the rest.
func TestWebhook_RefusesEverything(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.refuse(400, func(string) bool { return true })
		a.write(150, publishers...)
		minutes(w, 30)
		if firing(w) {
			t.Error("the alarm fires within an hour")
		}
		minutes(w, 24*60)
		all := letters(w)
		if got, want := urls(all), a.written[:10]; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(
			slices.Values(want))) {
			t.Errorf("dead letters of %v", got)
		}
		if n := len(r.deliveries); n > 7+10+7+25 {
			t.Errorf("%d posts in a day", n)
		}
		if !firing(w) {
			t.Error("the alarm does not fire")
		}
		r.fail = nil
		minutes(w, 75)
		a.written = a.written[10:]
		a.expect(r, true)
		if firing(w) {
			t.Error("the alarm still fires")
		}
	})
}

// A receiver that refuses a large part loses one item for a hundred that it accepts, beside the first ten.
func TestWebhook_RefusesOften(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		w.Variables["ANNOUNCEMENTS_PER_DOMAIN"] = "100000"
		r.refuse(422, func(url string) bool { return strings.HasSuffix(url, "3") || strings.HasSuffix(url, "7") })
		a.write(2000, publishers...)
		minutes(w, 120)
		if n := len(letters(w)); n != 10 {
			t.Errorf("%d items were skipped, %d accepted", n, len(r.items))
		}
		if !firing(w) {
			t.Error("the alarm does not fire")
		}
		r.refuse(422, func(url string) bool { return strings.HasSuffix(url, "50") }) // one in a hundred
		minutes(w, 75)
		if got := len(r.items) + len(letters(w)); got != 2000 {
			t.Errorf("%d items were skipped, %d accepted", len(letters(w)), len(r.items))
		}
	})
}

// Wherever runs are killed, each refused item has one dead letter, and all others are delivered.
func TestWebhook_RefusalIsKilled(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["ANNOUNCEMENTS_PER_DOMAIN"] = "100000"
		r, a := receive(t, w), &articles{T: t, w: w}
		bad := func(url string) bool { return strings.HasSuffix(url, "/7") || strings.HasSuffix(url, "77") }
		r.refuse(400, bad)
		random := rand.New(rand.NewPCG(7, 8))
		deaths := a.writeWhileRunsDie(random, 100)
		minutes(w, 10)
		skipped := slices.Clone(a.written)
		skipped = slices.DeleteFunc(skipped, func(url string) bool { return !bad(url) })
		a.written = slices.DeleteFunc(a.written, bad)
		a.expect(r, true)
		got := urls(letters(w))
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(skipped))) {
			t.Errorf("dead letters of %v, want %v", got, skipped)
		}
		if deaths < 10 || len(skipped) < 10 {
			t.Errorf("%d runs died, %d items were skipped", deaths, len(skipped))
		}
	})
}

// If the bucket fails, nothing is skipped without its dead letter.
func TestWebhook_NoDeadLetter(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		a.write(3, publishers...)
		bad := a.written[1]
		r.refuse(400, func(url string) bool { return url == bad })
		puts := 0
		w.Bucket.Fail = func(operation, key string) error {
			if operation == "put" && strings.HasPrefix(key, "dlq/") {
				puts++
				return errDown
			}
			return nil
		}
		for range 5 {
			time.Sleep(time.Minute)
			w.CronMayDie()
		}
		if puts == 0 || len(r.items) != 1 {
			t.Errorf("%d puts, received %v", puts, r.items)
		}
		w.Bucket.Fail = nil
		minutes(w, 5)
		a.written = slices.Delete(a.written, 1, 2)
		a.expect(r, true)
		if got := urls(letters(w)); !slices.Equal(got, []string{bad}) {
			t.Errorf("%v", got)
		}
	})
}

// Operators see the delivery that is held and skip it, once. Its items become dead letters, the others are delivered.
func TestWebhook_OperatorSkips(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		state := func() contract.FeedWebhook {
			return enginetest.Data[contract.FeedWebhook](w, "GET", "/api/v1/feed/webhook", "")
		}
		if s := state(); !s.Enabled || s.Cursor != nil || s.BatchSize != 100 || s.Held != nil {
			t.Errorf("before the first delivery: %+v", s)
		}
		r.refuse(500, func(url string) bool { return url == a.written[0] })
		a.write(130, publishers...)
		minutes(w, 3)
		s := state()
		if s.Held == nil || s.Held.ID != r.deliveries[0].ID || s.Held.Attempts != 2 ||
			!slices.Equal(s.Held.URLs, a.written[:100]) || !s.Held.NextAttempt.After(time.Now()) {
			t.Fatalf("%+v", s)
		}
		for id, status := range map[string]int{"x": 404, s.Held.ID[:8]: 404} {
			if answer := w.Ask("POST", "/api/v1/feed/webhook/"+id+"/skip", ""); answer.Status != status {
				t.Errorf("%s: %d", id, answer.Status)
			}
		}
		w.Frontier.Freeze(shardOf("a.sg"))
		if answer := w.Ask("POST", "/api/v1/feed/webhook/"+s.Held.ID+"/skip", ""); answer.Status != 503 {
			t.Errorf("with a frozen shard: %d", answer.Status)
		}
		w.Frontier.Thaw(shardOf("a.sg"))
		skipped := enginetest.Data[contract.FeedSkipped](w, "POST", "/api/v1/feed/webhook/"+s.Held.ID+"/skip", "")
		if skipped.Skipped != 100 || skipped.ID != s.Held.ID || skipped.Cursor != r.deliveries[0].Cursor {
			t.Errorf("%+v", skipped)
		}
		if answer := w.Ask("POST", "/api/v1/feed/webhook/"+s.Held.ID+"/skip", ""); answer.Status != 404 {
			t.Errorf("skipped twice: %d", answer.Status)
		}
		minutes(w, 1)
		all := letters(w)
		got := urls(all)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(a.written[:100]))) {
			t.Errorf("dead letters of %d items", len(got))
		}
		if got, want := all[0].ErrorMessage,
			"development skipped the delivery after 2 attempts since "; !strings.HasPrefix(
			got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		a.written = a.written[100:]
		a.expect(r, true)
		if s := state(); s.Held != nil || *s.Cursor != r.deliveries[len(r.deliveries)-1].Cursor {
			t.Errorf("%+v", s)
		}
	})
}

// Wherever an operator's skip is killed, it can be repeated, and each item is delivered or has a dead letter.
func TestWebhook_OperatorIsKilled(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		r, a := receive(t, w), &articles{T: t, w: w}
		r.fail = func(int) error { return errDown }
		a.write(5, publishers...)
		minutes(w, 1)
		id := enginetest.Data[contract.FeedWebhook](w, "GET", "/api/v1/feed/webhook", "").Held.ID
		for nth := 1; ; nth++ {
			died := false
			w.Kill = func(n int) bool { died = died || n == nth; return n == nth }
			answer := w.Ask("POST", "/api/v1/feed/webhook/"+id+"/skip", "")
			if w.Kill = nil; !died {
				if answer.Status != 200 {
					t.Fatalf("%d %+v", answer.Status, answer.Error)
				}
				break
			}
			if s := enginetest.Data[contract.FeedWebhook](w, "GET", "/api/v1/feed/webhook", ""); s.Held == nil {
				t.Fatalf("killed at call %d, it is not held", nth)
			}
		}
		got := urls(letters(w))
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(a.written))) {
			t.Errorf("dead letters of %v", got)
		}
	})
}
