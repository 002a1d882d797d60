package deadletters_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
)

func TestStored_FindsLetters(t *testing.T) {
	f := newFixture(t)
	f.giveUpTwo(t)
	f.giveUp(t, "newsfork-seed-dev", "odd", `{"wrong":"shape"}`, contract.Validation)
	elsewhere := strings.ReplaceAll(domainBody("b.sg"), "2026-01-28", "2026-01-29")
	f.giveUp(t, "newsfork-domain-dev", "elsewhere", elsewhere, contract.Storage)
	// A dead letter of an earlier version, without metadata.
	old := f.letter(t, "dlq/queue=newsfork-domain-dev/date=2026-01-28/domain.json")
	body, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	for key, content := range map[string]string{
		"dlq/queue=newsfork-domain-dev/date=2026-01-28/domain.json": string(body),
		"dlq/queue=newsfork-domain-dev/date=2026-01-28/broken.json": "{", "dlq/readme.txt": "x"} {
		if _, err := f.bucket.Put(t.Context(), key, []byte(content), nil); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := f.ledger.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	work := map[string]string{}
	for _, l := range listed.DeadLetters {
		work[l.ID] = l.Work
	}
	c, next, err := f.store.Stored(t.Context(), place, "")
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	var ids []string
	for _, l := range c.DeadLetters {
		ids = append(ids, l.MessageID)
		if l.WorkKey != work[l.MessageID] {
			t.Errorf("%s: work %s, want %s", l.MessageID, l.WorkKey, work[l.MessageID])
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"domain", "odd", "seed"}) {
		t.Errorf("found %v", ids)
	}
	if len(c.Files) != 1 || c.Files[0].Name != "raw_0001" || c.Files[0].ErrorType != contract.Parse ||
		len(c.Domains) != 1 || c.Domains[0].Domain != "a.sg" {
		t.Errorf("given up: %+v %+v", c.Files, c.Domains)
	}
}

// Put returns an error for exactly the messages that it could not store.
func TestPut_ReportsEachMessage(t *testing.T) {
	f := newFixture(t)
	f.bucket.Fail = func(op, key string) error {
		if op == "put" && strings.Contains(key, "/m2.json") {
			return errors.New("R2 is away")
		}
		return nil
	}
	errs := f.store.Put(t.Context(), "newsfork-dlq-dev", []deadletters.Message{
		{ID: "m1", Body: []byte(seedBody()), Sent: sentAt}, {ID: "m2", Body: []byte(domainBody("a.sg")), Sent: sentAt},
		{ID: "m3", Body: []byte(domainBody("b.sg")), Sent: sentAt},
	})
	if len(errs) != 3 || errs[0] != nil || contract.KindOf(errs[1]) != contract.Storage || errs[2] != nil {
		t.Errorf("got %v", errs)
	}
	page, err := f.ledger.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, l := range page.DeadLetters {
		ids = append(ids, l.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"m1", "m3"}) {
		t.Errorf("the ledger lists %v", ids)
	}
}

// A message does not name the queue in which it failed, but its failure reasons do.
func TestPut_QueueOfTheReason(t *testing.T) {
	for _, queue := range []string{"newsfork-seed-prod", "newsfork-domain-prod"} {
		f := newFixture(t)
		f.giveUp(t, queue, "m1", `not JSON`, contract.Validation)
		l := f.letter(t, "dlq/queue="+queue+"/date=2026-01-28/m1.json")
		if l.Context.QueueName != queue || l.ErrorInfo.ErrorType != contract.Validation ||
			string(l.OriginalMessage) != `"not JSON"` {
			t.Errorf("got %+v", l)
		}
	}
}
