package deadletters_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
)

func TestReplay(t *testing.T) {
	f := newFixture(t)
	f.giveUpTwo(t)
	r := f.replayer
	all := contract.DeadLetterChoice{All: true}
	f.now = f.now.Add(time.Hour)
	got, err := r.Replay(t.Context(), all, "API_TOKEN")
	if err != nil || !reflect.DeepEqual(got, contract.Resolved{Done: 2, Failed: []contract.Unresolved{}}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if s := f.processing(t); s.FilesPending != 1 || s.DomainsPending != 1 {
		t.Errorf("replayed work is not pending: %+v", s)
	}
	if sent := f.seeds.Sent(); len(sent) != 1 || string(sent[0].Body) != seedBody() {
		t.Errorf("sent to the seed queue: %s", sent)
	}
	sent := f.domains.Sent()
	if len(sent) != 1 || strings.Contains(string(sent[0].Body), "busy_since") {
		t.Fatalf("sent to the domain queue: %s", sent)
	}
	if m, err := contract.ParseDomain(sent[0].Body); err != nil || m.Domain != "a.sg" || len(m.URLs) != 1 {
		t.Errorf("the message sent is %+v, %v", m, err)
	}
	for _, choice := range []contract.DeadLetterChoice{all, {IDs: []string{"seed", "domain"}},
		{Filter: &contract.DeadLetterFilter{Queue: "seed"}}} {
		again, err := r.Replay(t.Context(), choice, "API_TOKEN")
		if err != nil || again.Done != 0 || again.Skipped != int64(len(choice.IDs)) || len(again.Failed) != 0 {
			t.Errorf("once more: %+v, %v", again, err)
		}
	}
	if len(f.seeds.Sent())+len(f.domains.Sent()) != 2 {
		t.Error("replayed twice it was sent twice")
	}

	f.now = f.now.Add(time.Hour)
	// If the message fails again, its new dead letter refers to the earlier one.
	f.giveUp(t, "newsfork-seed-dev", "seed2", seedBody(), contract.Parse)
	d, err := f.ledger.DeadLetter(t.Context(), "seed2")
	if err != nil || d == nil || d.State != contract.Stored || len(d.History) != 1 || d.History[0].ID != "seed" ||
		d.History[0].State != contract.Replayed || *d.History[0].ResolvedBy != "API_TOKEN" || len(d.Attempts) != 8 {
		t.Errorf("history: %+v, %v", d, err)
	}
	if s := f.processing(t); s.FilesFailed != 1 {
		t.Errorf("it failed again: %+v", s)
	}

	// If it succeeds, the reasons are deleted and the dead letter stays unchanged.
	if err := f.ledger.Record(t.Context(),
		ledger.Changes{Finished: []ledger.Work{deadletters.WorkOf("newsfork-seed-dev",
			[]byte(seedBody()))}}); err != nil {
		t.Fatal(err)
	}
	if d, err := f.ledger.DeadLetter(t.Context(), "seed"); err != nil || len(d.Attempts) != 0 ||
		d.State != contract.Replayed {
		t.Errorf("after success: %+v, %v", d, err)
	}
}

// Dead letters of an excluded domain stay until the exclusion is removed or they are discarded.
func TestReplay_ExcludedDomains(t *testing.T) {
	f := newFixture(t)
	f.giveUpTwo(t)
	f.excluded = []contract.Exclusion{{Kind: contract.ExcludeDomain, Value: "a.sg"}}
	got, err := f.replayer.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN")
	if err != nil || got.Done != 1 || got.Remaining != 1 || len(got.Failed) != 1 || got.Failed[0].ID != "domain" ||
		got.Failed[0].Code != "excluded" || len(f.domains.Sent()) != 0 {
		t.Errorf("%+v, %v, sent %d", got, err, len(f.domains.Sent()))
	}
	f.excluded = nil
	if got, err := f.replayer.Replay(t.Context(), contract.DeadLetterChoice{IDs: []string{"domain"}},
		"API_TOKEN"); err != nil || got.Done != 1 || len(f.domains.Sent()) != 1 {
		t.Errorf("taken back: %+v, %v", got, err)
	}
	f.giveUp(t, "newsfork-domain-dev", "again", domainBody("a.sg"), contract.Network)
	f.excluded = []contract.Exclusion{{Kind: contract.ExcludeDomain, Value: "a.sg"}}
	if got, err := f.replayer.Discard(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 1 {
		t.Errorf("discarded: %+v, %v", got, err)
	}
}

// Forcing a malformed file leaves a second dead letter. Discarding one must settle both; otherwise a replay would
// queue the discarded file.
func TestDiscard_AllLettersOfAFile(t *testing.T) {
	f := newFixture(t)
	if _, err := f.bucket.Put(t.Context(), rawKey, []byte("broken"), nil); err != nil {
		t.Fatal(err)
	}
	f.giveUpTwo(t)
	f.now = f.now.Add(time.Hour)
	f.giveUp(t, "newsfork-seed-dev", "seed2", seedBody(), contract.Parse)
	f.giveUp(t, "newsfork-domain-dev", "domain2", domainBody("a.sg"), contract.Storage)
	f.now = f.now.Add(time.Hour)
	for i, id := range []string{"seed2", "domain2"} {
		got, err := f.replayer.Discard(t.Context(), contract.DeadLetterChoice{IDs: []string{id}}, "API_TOKEN")
		if err != nil || got.Done != int64(2-i) || len(got.Failed) != 0 {
			t.Fatalf("discard %s: %+v, %v", id, got, err)
		}
	}
	if d, err := f.ledger.DeadLetter(t.Context(), "seed"); err != nil || d.State != contract.Discarded ||
		*d.ResolvedBy != "API_TOKEN" {
		t.Errorf("the older letter of the file: %+v, %v", d, err)
	}
	if d, err := f.ledger.DeadLetter(t.Context(), "domain"); err != nil || d.State != contract.Stored {
		t.Errorf("the older letter of the domain, which nothing ended: %+v, %v", d, err)
	}
	if got, err := f.replayer.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 1 || len(f.seeds.Sent()) != 0 {
		t.Errorf("replay of all: %+v, %v, %d files queued", got, err, len(f.seeds.Sent()))
	}
	if s := f.processing(t); s.FilesPending != 0 {
		t.Errorf("the discarded file is pending again: %+v", s)
	}
}

// Discarding the dead letter of a file that was replaced settles no other dead letter.
func TestDiscard_ReplacedFile(t *testing.T) {
	f := newFixture(t)
	f.giveUp(t, "newsfork-seed-dev", "seed", seedBody(), contract.Parse)
	f.giveUp(t, "newsfork-seed-dev", "seed2", seedBody(), contract.Parse)
	f.now = f.now.Add(time.Hour)
	if _, err := f.bucket.Put(t.Context(), rawKey, []byte("[]"), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := f.replayer.Discard(t.Context(), contract.DeadLetterChoice{IDs: []string{"seed"}},
		"API_TOKEN"); err != nil || got.Done != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if d, err := f.ledger.DeadLetter(t.Context(), "seed2"); err != nil || d.State != contract.Stored {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestReplay_Fails(t *testing.T) {
	f := newFixture(t)
	f.giveUpTwo(t)
	r := f.replayer
	f.seeds.Fail = func([]queues.Sent) error { return errors.New("the queue is away") }
	got, err := r.Replay(t.Context(), contract.DeadLetterChoice{IDs: []string{"seed", "domain", "none"}}, "API_TOKEN")
	if err != nil || got.Done != 1 || got.Remaining != 1 || len(got.Failed) != 2 ||
		got.Failed[0].Code != "not_found" || got.Failed[1].Code != "storage_error" {
		t.Errorf("%+v, %v", got, err)
	}
	f.seeds.Fail = nil
	page, err := f.bucket.List(t.Context(), r2.ListOptions{Prefix: "dlq/queue=newsfork-seed-dev/"})
	if err != nil || len(page.Objects) != 1 {
		t.Fatal(err)
	}
	key := page.Objects[0].Key
	if _, err := f.bucket.Put(t.Context(), key, []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 0 || len(got.Failed) != 1 || got.Failed[0].Code != "internal_error" {
		t.Errorf("a letter that cannot be read: %+v, %v", got, err)
	}
	if err := f.bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 0 || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Message, "gone") {
		t.Errorf("a letter that is gone: %+v, %v", got, err)
	}
	if l, err := r.Read(t.Context(), key); l != nil || err != nil {
		t.Errorf("read: %+v, %v", l, err)
	}
	if got, err := r.Discard(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 1 || got.Remaining != 0 {
		t.Errorf("discarded: %+v, %v", got, err)
	}
}

func TestReplay_ManyLetters(t *testing.T) {
	f := newFixture(t)
	const n = 620
	var letters []deadletters.Message
	for i := range n {
		letters = append(letters, deadletters.Message{ID: fmt.Sprintf("m%03d", i),
			Body: []byte(domainBody(fmt.Sprintf("d%d.sg", i))), Sent: sentAt})
	}
	for some := range slices.Chunk(letters, 10) {
		if err := errors.Join(f.store.Put(t.Context(), "newsfork-dlq-dev", some)...); err != nil {
			t.Fatal(err)
		}
	}
	r := f.replayer
	var done []int64
	for range 3 {
		got, err := r.Replay(t.Context(),
			contract.DeadLetterChoice{Filter: &contract.DeadLetterFilter{Queue: "domain"}}, "API_TOKEN")
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, got.Done, got.Remaining)
	}
	if fmt.Sprint(done) != "[500 120 120 0 0 0]" {
		t.Errorf("done and remaining: %v", done)
	}
	if len(f.domains.Sent()) != n {
		t.Errorf("%d messages were sent", len(f.domains.Sent()))
	}
}

// Earlier versions stored dead letters indented and with HTML escapes, so some exceed the size of a message.
func TestReplay_EarlierVersions(t *testing.T) {
	f := newFixture(t)
	f.giveUpTwo(t)
	r := f.replayer
	body := strings.TrimSuffix(domainBody("a.sg"), "}") + `,"note":"` + strings.Repeat("&<>",
		30_000) + `\\u0026","n":12345678901234567890}`
	for id, original := range map[string]string{"seed": seedBody(), "domain": body} {
		key := "dlq/queue=newsfork-" + id + "-dev/date=2026-01-28/" + id + ".json"
		letter := f.letter(t, key)
		letter.OriginalMessage = json.RawMessage(original)
		stored, err := json.MarshalIndent(letter, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.bucket.Put(t.Context(), key, stored, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN"); err != nil ||
		got.Done != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for want, q := range map[string]*queues.Memory{seedBody(): f.seeds, body: f.domains} {
		sent := last(t, q)
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(sent), &a), json.Unmarshal([]byte(want), &b)); err != nil ||
			!reflect.DeepEqual(a, b) || strings.Contains(want, "12345678901234567890") != strings.Contains(sent,
			"12345678901234567890") {
			t.Errorf("sent %d bytes %.200s, want the same as %.200s", len(sent), sent, want)
		}
	}
}

// Letters of the feed's webhook are not replayed, and do not keep others from being replayed.
func TestReplay_Webhook(t *testing.T) {
	f := newFixture(t)
	body := contract.Encode(contract.FeedDelivery{ID: "1", Items: []contract.FeedItem{
		{URL: "https://www.b.sg/news/1", Domain: "b.sg", Partition: place, FoundAt: *contract.At(sentAt)},
	}})
	messages := make([]deadletters.Message, contract.MaxResolved)
	for i := range messages {
		messages[i] = deadletters.Message{ID: fmt.Sprintf("item%d", i), Body: body, Sent: sentAt,
			Failure: &ledger.Failure{
				Work: deadletters.WorkOf("newsfork-webhook-dev", body), Attempt: 1, ErrorType: contract.Network,
				ErrorMessage: "the webhook answered 400", FailedAt: sentAt,
			}}
	}
	if err := errors.Join(f.store.Put(t.Context(), "newsfork-dlq-dev", messages)...); err != nil {
		t.Fatal(err)
	}
	f.giveUpTwo(t)
	got, err := f.replayer.Replay(t.Context(), contract.DeadLetterChoice{All: true}, "API_TOKEN")
	if err != nil || got.Done != 2 || got.Remaining != 0 || len(got.Failed) != 0 {
		t.Errorf("replay of all: %+v, %v", got, err)
	}
	got, err = f.replayer.Replay(t.Context(), contract.DeadLetterChoice{IDs: []string{"item7"}}, "API_TOKEN")
	if err != nil || got.Done != 0 || len(got.Failed) != 1 || got.Failed[0].Code != "validation_error" {
		t.Errorf("replay of one: %+v, %v", got, err)
	}
	d, err := f.ledger.DeadLetter(t.Context(), "item7")
	if err != nil || d.Work != "https://www.b.sg/news/1" || *d.Domain != "b.sg" || *d.Partition != place ||
		*d.QueueRole != contract.WebhookQueue || d.State != contract.Stored {
		t.Fatalf("%+v, %v", d, err)
	}
	got, err = f.replayer.Discard(t.Context(), contract.DeadLetterChoice{
		Filter: &contract.DeadLetterFilter{Queue: contract.WebhookQueue}}, "API_TOKEN")
	if err != nil || got.Done != contract.MaxResolved {
		t.Errorf("discard: %d, %v", got.Done, err)
	}
	stored, _, err := f.store.Stored(t.Context(), place, "")
	if i := len(stored.DeadLetters) - 1; err != nil || i < 0 || stored.DeadLetters[i].WorkKey != d.Work ||
		stored.DeadLetters[i].Domain != "b.sg" {
		t.Errorf("%+v, %v", stored, err)
	}
}
