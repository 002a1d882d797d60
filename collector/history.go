package collector

import (
	"context"
	"errors"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// statesOf maps the URLs of entry points to the states that the frontier returned for them.
func statesOf(entries []frontier.NewEntry, states []frontier.EntryState) map[string]frontier.EntryState {
	byURL := map[string]frontier.EntryState{}
	for i := range min(len(entries), len(states)) { // a shard of an older version returns none
		if states[i].Method != "" {
			byURL[entries[i].URL] = states[i]
		}
	}
	return byURL
}

func history(e *frontier.EntryState) discovery.EntryHistory {
	h := discovery.EntryHistory{ChangedAt: contract.AtMillis(e.ChangedAt), NextCheckAt: contract.AtMillis(e.DueAt),
		Checks: []contract.FrontierCheck{}}
	for _, c := range e.Checks {
		check := contract.FrontierCheck{At: *contract.AtMillis(max(c.At, 1).Millis()), Changed: c.Changed}
		if status := c.Status; status != 0 {
			check.Status = &status
		}
		h.Checks, h.CheckedAt = append(h.Checks, check), &check.At
	}
	return h
}

// answer returns the validators in the document's form.
func (v *validators) answer() discovery.EntryAnswer {
	a := discovery.EntryAnswer{ETag: contract.ShortText(v.etag), Charset: contract.Text(v.charset)}
	if t, err := http.ParseTime(v.lastModified); err == nil {
		a.LastModified = contract.At(t)
	}
	return a
}

// answered returns the last answer of an entry point. The frontier does not store its charset.
func answered(e *frontier.EntryState, charset *string) discovery.EntryAnswer {
	v := validators{etag: e.ETag, lastModified: e.LastModified}
	a := v.answer()
	a.Charset = charset
	return a
}

// describeContract writes the contract into a document, with the answers and history of its entry points. They come
// from the responses and the frontier if available, otherwise from the previous document.
func (s *saving) describeContract(old, doc *contract.Document, how *discovery.FetchContract) {
	if how == nil {
		return
	}
	if s.reused != nil {
		old = s.reused.document
	}
	var before []discovery.EntryPoint // for their history
	if old != nil {
		if how := howToFetch(old); how != nil {
			before = how.EntryPoints
		}
	}
	for i := range how.EntryPoints {
		e := &how.EntryPoints[i]
		e.Checks = []contract.FrontierCheck{}
		for _, o := range before {
			if canonical(o.URL) != e.URL {
				continue
			}
			e.EntryAnswer = o.EntryAnswer
			if o.Checks != nil {
				e.EntryHistory = o.EntryHistory
			}
		}
		states := s.states
		if s.found != nil {
			states = s.found.queue.states
		}
		if state, ok := states[e.URL]; ok {
			e.EntryHistory = history(&state)
			e.EntryAnswer = answered(&state, e.Charset)
		}
		if s.found == nil {
			continue
		}
		if v, ok := s.found.queue.validators[e.URL]; ok {
			e.EntryAnswer = v.answer()
		}
	}
	doc.Contract = marshal(how)
}

// describeObserved writes what scrapers saw of the domain's pages into a document: from the frontier's answer,
// otherwise from the previous document.
func (s *saving) describeObserved(old, doc *contract.Document) {
	list := s.observed
	if s.found != nil {
		list = s.found.queue.observed
	}
	switch {
	case s.shown == nil:
		return
	case len(list) > 0:
		s.shown.Observe(frontier.ObservedOf(list))
	case s.found != nil || old == nil || !s.shown.Keep(old.Discovery):
		return
	}
	doc.Discovery = s.shown.AppendJSON(nil)
}

// setRetryDate sets the expiry of an unreachable domain's document to its next collection: from the frontier if
// available, otherwise from the previous document.
func (s *saving) setRetryDate(old, doc *contract.Document) {
	switch {
	case doc.Reachable:
	case s.found == nil && old != nil:
		doc.ValidUntil = old.ValidUntil
	case s.found != nil:
		if state, ok := s.found.queue.states[collectURL(doc)]; ok {
			doc.ValidUntil = *contract.AtMillis(state.DueAt)
		}
	}
}

// rewrite updates the entry points in the newest document if they changed enough for scrapers to know. again is true
// if it was rewritten before, but perhaps not announced.
func (f *refresh) rewrite(ctx context.Context, again bool) error {
	entries, err := f.batch.collector.Frontier.Of(f.message.Domain).Entries(ctx, f.message.Domain)
	if err != nil {
		return err
	}
	s := &saving{batch: f.batch, dir: contract.DomainDir{Partition: f.message.Partition, Domain: f.message.Domain}}
	s.message = &contract.DomainMessage{Domain: f.message.Domain, Partition: f.message.Partition}
	for range maxConflicts {
		doc, etag, err := f.batch.store.document(ctx, s.dir)
		if doc == nil || err != nil {
			return err
		}
		if !f.update(doc, entries) {
			if !again {
				return nil
			}
			f.rewritten = doc
			return s.announce(ctx, doc)
		}
		if err = f.batch.putRevision(ctx, s.dir, doc, etag); err == nil {
			f.rewritten = doc
			return s.announce(ctx, doc)
		}
		if !errors.Is(err, r2.ErrPrecondition) {
			return err
		}
		if err := f.batch.collector.Clock.Sleep(ctx, sameKeyPause); err != nil {
			return err
		}
	}
	return nil // the events that keep changing the document also update its entry points
}

// update writes the state of the entry points into a document. It reports whether scrapers should know: an interval
// halved or doubled, or an entry point started or stopped failing.
func (f *refresh) update(doc *contract.Document, entries []frontier.EntryInfo) (changed bool) {
	how := howToFetch(doc)
	if how == nil {
		return false
	}
	for i := range how.EntryPoints {
		e := &how.EntryPoints[i]
		for k := range entries {
			now := &entries[k]
			if now.URL != canonical(e.URL) {
				continue
			}
			e.EntryAnswer = answered(&now.EntryState, e.Charset)
			minutes := int(max((now.Interval+30)/60, 1))
			if minutes >= 2*e.IntervalMinutes || 2*minutes <= e.IntervalMinutes {
				e.IntervalMinutes, changed = minutes, true
			}
			changed = changed || failing(e.Checks) != (now.Failures >= frontier.FailuresShown)
			e.EntryHistory = history(&now.EntryState)
		}
	}
	if changed {
		doc.Contract = marshal(how)
		doc.ValidUntil = contract.Time{Time: how.ValidUntil(f.batch.collector.Clock.Now())}
	}
	return changed
}

// failing reports whether the last checks in a document failed.
func failing(checks []contract.FrontierCheck) bool {
	if len(checks) < frontier.FailuresShown {
		return false
	}
	for _, c := range checks[len(checks)-frontier.FailuresShown:] {
		if c.Status != nil && (*c.Status == 304 || *c.Status >= 200 && *c.Status < 300) {
			return false
		}
	}
	return true
}
