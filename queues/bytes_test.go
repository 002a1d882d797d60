package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/queues"
)

const largest = contract.MaxMessageBytes - contract.MessageOverhead

// odd returns a message about a domain, with further fields, that changes if it is serialised again: HTML's
// characters, line separators, escapes and odd spacing.
func odd(domain string, size int, fields string) string {
	text := "{\r\n\t" + strings.TrimPrefix(strings.TrimSuffix(domainBody(domain), "}"),
		"{") + fields + " ,\n \"note\" :\t\"\\u0041\\/ 한국어 "
	fill := "&<>\u2028\u2029"
	n := (size - len(text) - len("\" \n}")) / len(fill)
	text += strings.Repeat(fill, n)
	return text + strings.Repeat("&", size-len(text)-len("\" \n}")) + "\" \n}"
}

func (f *fixture) lease(t *testing.T, domain string) {
	t.Helper()
	if !f.shards.acquire(t, domain).Granted {
		t.Fatal(domain, "is busy")
	}
}

// last returns the last message sent to a queue.
func last(t *testing.T, q *queues.Memory) string {
	t.Helper()
	sent := q.Sent()
	if len(sent) == 0 {
		t.Fatal("nothing was sent")
	}
	return string(sent[len(sent)-1].Body)
}

func TestMessage_KeepsItsBytes(t *testing.T) {
	const busy = `,"busy_since":"2026-01-28T09:59:00Z"`
	for _, c := range []struct{ name, body, again string }{
		{"of the largest size", odd("a.sg", largest, ""), ""},
		{"busy, of the largest size", odd("a.sg", largest, busy),
			strings.Replace(odd("a.sg", largest, busy), busy[1:]+" ,", "", 1)},
		{"short", odd("a.sg", 1000, ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.again == "" {
				c.again = c.body
			}
			if len(c.body) > largest || !json.Valid([]byte(c.body)) {
				t.Fatalf("%d bytes", len(c.body))
			}
			same := func(where, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s it has %d bytes, want %d:\n%.300q\n%.300q", where, len(got), len(want), got, want)
				}
			}
			f := newFixture(t)
			f.steps.collect = func(*contract.DomainMessage, bool) error {
				return &contract.Error{Kind: contract.Storage, Message: "R2 is away"}
			}
			f.giveUp(t, "newsfork-domain-dev", "m1", c.body)
			key := "dlq/queue=newsfork-domain-dev/date=2026-01-28/m1.json"
			same("as a dead letter", string(f.letter(t, key).OriginalMessage), c.body)
			r := &deadletters.Replayer{Ledger: ledger.New(f.db), Store: f.DeadLetters, Seeds: f.seeds,
				Domains: f.domains, Exclusions: (&controls.Store{Bucket: f.bucket}).Exclusions, Now: f.Now}
			if l, err := r.Read(t.Context(), key); err != nil {
				t.Error(err)
			} else {
				same("read", string(l.OriginalMessage), c.body)
			}
			if found, _, err := f.DeadLetters.Stored(t.Context(), place, ""); err != nil ||
				len(found.DeadLetters) != 1 || found.DeadLetters[0].Domain != "a.sg" {
				t.Errorf("listed: %+v, %v", found.DeadLetters, err)
			}
			if got, err := r.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
				got.Done != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			same("replayed", last(t, f.domains), c.again)

			f.bucket.Fail = func(op, _ string) error {
				if op == "put" {
					return errors.New("R2 is away")
				}
				return nil
			}
			f.handle(t, "newsfork-dlq-dev", &message{id: "m2", body: c.body, attempts: contract.MaxRetries + 1})
			same("when it cannot be stored", last(t, f.dlq), c.body)
			f.bucket.Fail = nil

			f.change(t, func(c *contract.Controls) { c.Pipeline = contract.Pipeline{Paused: true} })
			before := len(f.domains.Sent())
			m := &message{id: "m3", body: c.body, attempts: 1}
			f.handle(t, "newsfork-domain-dev", m)
			if len(f.domains.Sent()) != before+1 || m.settled != "ack" {
				t.Fatal("not requeued in a pause")
			}
			same("after a pause", last(t, f.domains), c.body)
		})
	}
}

// Requeuing a busy domain's message only adds busy_since, or nothing if the message would become too large.
func TestMessage_BusyKeepsItsBytes(t *testing.T) {
	const busy = `,"busy_since":"2026-01-28T09:59:00Z"`
	for _, c := range []struct {
		name, body string
		marked     bool
	}{
		{"full", odd("a.sg", largest, ""), false},
		{"with room for a byte less than the field", odd("a.sg", largest-39, ""), false},
		{"with room", odd("a.sg", largest-40, ""), true},
		{"short", odd("a.sg", 1000, ""), true},
		{"busy before", odd("a.sg", largest, strings.Replace(busy, "2026-01-28T09:59:00Z",
			time.Now().UTC().Format(time.RFC3339), 1)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.lease(t, "a.sg")
			m := &message{id: "1", body: c.body, attempts: 1}
			f.handle(t, "newsfork-domain-dev", m)
			if m.settled != "ack" {
				t.Fatal(m.settled)
			}
			got := last(t, f.domains)
			again, err := contract.ParseDomain([]byte(got))
			if err != nil {
				t.Fatal(err)
			}
			if c.marked {
				if again.BusySince.IsZero() {
					t.Error("it does not say since when the domain is busy")
				}
				got = string(contract.WithoutBusySince([]byte(got)))
			}
			if got != c.body {
				t.Errorf("%d bytes, want %d:\n%.300q\n%.300q", len(got), len(c.body), got, c.body)
			}
		})
	}
}

// A message that is not JSON is requeued as a JSON string with as few escapes as possible.
func TestMessage_NotJSON(t *testing.T) {
	f := newFixture(t)
	f.change(t, func(c *contract.Controls) { c.Pipeline = contract.Pipeline{Paused: true} })
	text := strings.Repeat("<&>", 40_000)
	m := &message{id: "1", body: text, attempts: 1}
	f.handle(t, "newsfork-seed-dev", m)
	if m.settled != "ack" || last(t, f.seeds) != `"`+text+`"` {
		t.Errorf("%s, sent %d", m.settled, len(f.seeds.Sent()))
	}
	if fmt.Sprint(f.stats(t).Processing) != fmt.Sprint(contract.ProcessingStats{}) {
		t.Error("it left traces")
	}
}
