package ledgertest

import (
	"fmt"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func deadLetter(name, id string) ledger.DeadLetter {
	return ledger.DeadLetter{
		MessageID: name + id, WorkKey: "raw/x", R2Key: "dlq/queue=q/date=2026-01-28/" + id + ".json",
		DeadLetterError: contract.DeadLetterError{ErrorType: contract.Validation, ErrorMessage: "wrong",
			RetryCount: 3, FailedAt: noon},
		DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-seed-dev", WorkerVersion: "v1",
			ProcessingDurationMS: 12},
	}
}

func deadLetters(t T, db ledger.DB, name string) {
	must(t, "Record", ledger.New(db).Record(ctx,
		ledger.Changes{DeadLetters: []ledger.DeadLetter{deadLetter(name, "1"), deadLetter(name, "2")}}))
	rows := query(t, db, `SELECT * FROM dead_letters WHERE message_id LIKE ?1 ORDER BY message_id`, name+"%")
	expect(t, "rows", len(rows), 2)
	expect(t, "row", rows[0], map[string]any{
		"message_id": name + "1", "queue_name": "newsfork-seed-dev", "work": "raw/x",
		"error_type": "validation_error", "error_message": "wrong",
		"retry_count": 3.0, "failed_at": float64(noon.UnixMilli()), "worker_version": "v1",
		"processing_duration_ms": 12.0,
		"r2_key":                 "dlq/queue=q/date=2026-01-28/1.json", "state": "stored",
		"country": nil, "category": nil, "date": nil, "domain": nil, "resolved_at": nil, "resolved_by": nil,
	})
}

func deadLetterTwice(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	first, second := deadLetter(name, "1"), deadLetter(name, "1")
	second.ErrorMessage = "another"
	must(t, "Record", l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{first}}))
	query(t, db, `UPDATE dead_letters SET state = 'replayed' WHERE message_id = ?1`, first.MessageID)
	must(t, "Record", l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{second, second}}))
	rows := query(t, db, `SELECT error_message, state FROM dead_letters WHERE message_id = ?1`, first.MessageID)
	expect(t, "rows", rows, []map[string]any{{"error_message": "wrong", "state": "replayed"}})
}

func deadLettersResolved(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	var c ledger.Changes
	for i := range 9 {
		d := deadLetter(name, fmt.Sprint(i))
		d.FailedAt = at(i / 2)
		d.Partition, d.Domain = place(name, "2026-01-28"), fmt.Sprintf("d%d.sg", i%3)
		if i%2 == 1 {
			d.QueueName = "newsfork-domain-dev"
		}
		c.DeadLetters = append(c.DeadLetters, d)
	}
	record(t, db, c)
	list := func(q ledger.DeadLetterQuery) (ids []string) {
		t.Helper()
		q.Filter.Category = name
		for {
			page, err := l.DeadLetters(ctx, q)
			must(t, "DeadLetters", err)
			for _, d := range page.DeadLetters {
				ids = append(ids, strings.TrimPrefix(d.ID, name))
			}
			if page.Cursor == nil {
				return ids
			}
			q.Cursor = *page.Cursor
		}
	}
	for _, limit := range []int{2, 50} {
		expect(t, "all", list(ledger.DeadLetterQuery{Limit: limit}),
			[]string{"8", "7", "6", "5", "4", "3", "2", "1", "0"})
		expect(t, "of a queue", list(ledger.DeadLetterQuery{Limit: limit,
			Filter: contract.DeadLetterFilter{Queue: "domain"}}), []string{"7", "5", "3", "1"})
		expect(t, "of a domain", list(ledger.DeadLetterQuery{Limit: limit,
			Filter: contract.DeadLetterFilter{Domain: "d0.sg"}}), []string{"6", "3", "0"})
	}
	choose := func(choice contract.DeadLetterChoice) (ids []string) {
		t.Helper()
		records, err := l.ChooseDeadLetters(ctx, choice)
		must(t, "ChooseDeadLetters", err)
		for _, d := range records {
			ids = append(ids, strings.TrimPrefix(d.ID, name))
		}
		return ids
	}
	inCase := contract.DeadLetterChoice{Filter: &contract.DeadLetterFilter{Category: name}}
	expect(t, "chosen", choose(inCase), []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"})
	_, remaining, err := l.Resolve(ctx, inCase,
		ledger.Resolution{IDs: []string{name + "1", name + "2"}, State: contract.Replayed, By: "API_TOKEN",
			At: at(100),
			Work: ledger.Changes{Domains: []ledger.DomainChange{{Partition: place(name, "2026-01-28"),
				Domain: "d1.sg",
				Queued: at(100)}}}})
	must(t, "Resolve", err)
	expect(t, "remaining", remaining, int64(7))
	expect(t, "pending after a replay", stats(t, db, name).Processing.DomainsPending, int64(1))
	_, _, err = l.Resolve(ctx, inCase, ledger.Resolution{IDs: []string{name + "2", name + "3"},
		State: contract.Discarded, By: "READ", At: at(200)})
	must(t, "Resolve", err)
	expect(t, "stored", choose(inCase), []string{"0", "4", "5", "6", "7", "8"})
	expect(t, "chosen by ids", choose(contract.DeadLetterChoice{IDs: []string{name + "4", name + "1", name +
		"none"}}), []string{"1", "4"})
	expect(t, "replayed", list(ledger.DeadLetterQuery{Limit: 9, State: contract.Replayed}), []string{"2", "1"})
	expect(t, "discarded", list(ledger.DeadLetterQuery{Limit: 9, State: contract.Discarded}), []string{"3"})
	d, err := l.DeadLetter(ctx, name+"2")
	must(t, "DeadLetter", err)
	expect(t, "role of its queue", d.QueueRole, contract.Text(contract.SeedQueue))
	if d == nil || d.State != contract.Replayed || *d.ResolvedBy != "API_TOKEN" ||
		d.ResolvedAt.Unix() != at(100).Unix() {
		t.Errorf("a dead letter that was replayed, then discarded: %+v", d)
	}
}

func deadLetterHistory(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	work := func(id string, seconds int) ledger.DeadLetter {
		d := deadLetter(name, id)
		d.WorkKey, d.QueueName, d.FailedAt = name+"work", "newsfork-seed-"+name, at(seconds)
		return d
	}
	other := deadLetter(name, "other")
	failed := failure(ledger.Work{Queue: "newsfork-seed-" + name, Key: name + "work"}, "again", 2)
	record(t, db, ledger.Changes{DeadLetters: []ledger.DeadLetter{work("first", 1), other}})
	_, _, err := l.Resolve(ctx, contract.DeadLetterChoice{IDs: []string{name + "first"}},
		ledger.Resolution{IDs: []string{name + "first"}, State: contract.Replayed, By: "API_TOKEN", At: at(5)})
	must(t, "Resolve", err)
	record(t, db, ledger.Changes{Failures: []ledger.Failure{failed},
		DeadLetters: []ledger.DeadLetter{work("again", 10)}})
	d, err := l.DeadLetter(ctx, name+"again")
	must(t, "DeadLetter", err)
	if d == nil || len(d.History) != 1 || d.History[0].ID != name+"first" ||
		d.History[0].State != contract.Replayed || *d.History[0].ResolvedBy != "API_TOKEN" {
		t.Errorf("history: %+v", d)
	}
	if d == nil || len(d.Attempts) != 1 || d.Attempts[0].Attempt != 2 ||
		d.Attempts[0].ErrorMessage != failed.ErrorMessage || d.Attempts[0].DurationMS != 3000 {
		t.Errorf("attempts: %+v", d)
	}
	record(t, db, ledger.Changes{DeadLetters: []ledger.DeadLetter{work("last", 20)}})
	ended := []string{name + "again"}
	beside, _, err := l.Resolve(ctx, contract.DeadLetterChoice{IDs: ended},
		ledger.Resolution{IDs: ended, Ended: ended, State: contract.Discarded, By: "API_TOKEN", At: at(30)})
	must(t, "Resolve", err)
	expect(t, "stored letters of the same work beside the one that ended it", beside, int64(1))
	for id, want := range map[string]contract.DeadLetterState{"first": contract.Replayed, "last": contract.Discarded,
		"other": contract.Stored} {
		d, err = l.DeadLetter(ctx, name+id)
		must(t, "DeadLetter", err)
		expect(t, id+", after its work ended", d != nil && d.State == want, true)
	}
	d, err = l.DeadLetter(ctx, name+"none")
	must(t, "DeadLetter", err)
	expect(t, "an unknown dead letter", d == nil, true)
}

func deadLetterPrefix(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	ids := []string{"aa11", "aa112", "aa13", "b"}
	var c ledger.Changes
	for i, id := range ids {
		d := deadLetter(name, id)
		d.WorkKey, d.FailedAt = name+id, at(i)
		c.DeadLetters = append(c.DeadLetters, d)
	}
	record(t, db, c)
	for id, want := range map[string]string{"aa11": "aa11", "aa112": "aa112", "aa13": "aa13", "b": "b",
		"aa": "several", "aa1": "several", "aa14": "", "c": ""} {
		d, err := l.DeadLetter(ctx, name+id)
		got := ""
		switch {
		case err != nil && contract.KindOf(err) == contract.Validation:
			got = "several"
		case err != nil:
			t.Errorf("%s: %v", id, err)
		case d != nil:
			got = strings.TrimPrefix(d.ID, name)
		}
		expect(t, "one that begins with "+id, got, want)
	}
	choose := func(ids ...string) (chosen []string) {
		t.Helper()
		for i := range ids {
			ids[i] = name + ids[i]
		}
		records, err := l.ChooseDeadLetters(ctx, contract.DeadLetterChoice{IDs: ids})
		must(t, "ChooseDeadLetters", err)
		for _, d := range records {
			chosen = append(chosen, strings.TrimPrefix(d.ID, name))
		}
		return chosen
	}
	expect(t, "chosen", choose("aa13", "b"), []string{"aa13", "b"})
	expect(t, "all that begin so", choose("aa1"), []string{"aa11", "aa112", "aa13"})
	d, err := l.DeadLetter(ctx, name[:3])
	must(t, "DeadLetter", err)
	expect(t, "fewer characters than stand for more", d == nil, true)
}
