package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/markup"
)

// maxPut caps the URLs of a request, so that those of one domain fit into one call of a shard.
const maxPut = frontier.MaxPut

// putURLs queues pages. It classifies those without a type and scores those without a priority.
func (a frontierRoutes) putURLs(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	if err := a.reserve(w, r, maxURLsBytes, listMemory); err != nil {
		return err
	}
	pages, partition, err := readPut(r, a.assessor(r.Context(), discovery.FromResearch))
	if err != nil {
		return err
	}
	controls, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	if err := refusePaused(w, &controls); err != nil {
		return err
	}
	answer := contract.FrontierPut{Rejected: []contract.RejectedURL{}}
	allowed := pages[:0:0]
	for _, p := range pages {
		canonical, ok := markup.AppendCanonical(nil, []byte(p.URL))
		if ok && exclusions.URL(string(canonical)) {
			answer.Rejected = append(answer.Rejected,
				contract.RejectedURL{URL: p.URL, Reason: string(frontier.Excluded)})
			continue
		}
		allowed = append(allowed, p)
	}
	put, err := a.Frontier.Put(r.Context(), partition, allowed)
	for i, verdict := range put.Pages {
		url := allowed[i].URL
		switch verdict {
		case frontier.Accepted:
			answer.Accepted++
		case frontier.Duplicate:
			answer.Duplicates++
		case frontier.Unavailable:
			answer.NotTaken = append(answer.NotTaken, url)
		default:
			answer.Rejected = append(answer.Rejected, contract.RejectedURL{URL: url, Reason: string(verdict)})
		}
	}
	if err != nil {
		a.server().Fail(w, r, shardAway(w, err), answer)
		return nil
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

// removeURLs takes pages out of the frontier.
func (a frontierRoutes) removeURLs(w http.ResponseWriter, r *http.Request) error {
	if err := firstError(httpapi.NoScraper(r), onlyQuery(r)); err != nil {
		return err
	}
	if err := a.reserve(w, r, maxURLsBytes, listMemory); err != nil {
		return err
	}
	pages, partition, err := readPut(r, func(string, string, time.Time) (string, float64, error) { return "", 0, nil })
	if err != nil {
		return err
	}
	answer := contract.FrontierRemoved{Rejected: []contract.RejectedURL{}}
	removed, err := a.Frontier.Remove(r.Context(), partition, pages)
	for i, verdict := range removed.Pages {
		switch verdict {
		case frontier.Removed:
			answer.Removed++
		case frontier.Unavailable:
			answer.NotTaken = append(answer.NotTaken, pages[i].URL)
		default:
			answer.Rejected = append(answer.Rejected, contract.RejectedURL{URL: pages[i].URL, Reason: string(verdict)})
		}
	}
	a.Log.Warn("urls_removed", "count", answer.Removed, "by", httpapi.Actor(r))
	if err != nil {
		a.server().Fail(w, r, shardAway(w, err), answer)
		return nil
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

func readPut(r *http.Request, assess assessor) ([]frontier.NewPage, contract.Partition, error) {
	var body struct {
		URLs      json.RawMessage    `json:"urls"`
		Partition contract.Partition `json:"partition_info"`
	}
	if err := httpapi.ReadJSONUpTo(r, maxURLsBytes, &body); err != nil {
		return nil, body.Partition, err
	}
	urls, more, err := httpapi.Elements(body.URLs, "urls", maxPut)
	n := len(urls) + more
	if err := firstError(err, within("urls", &n, 1, maxPut), body.Partition.Validate("partition_info.")); err != nil {
		return nil, body.Partition, err
	}
	list, err := httpapi.DecodeList[putURL](urls, "urls")
	if err != nil {
		return nil, body.Partition, err
	}
	for i := range list {
		if list[i].Refetch {
			if err := httpapi.NoScraper(r); err != nil {
				return nil, body.Partition, err
			}
			break
		}
	}
	pages := make([]frontier.NewPage, n)
	for i := range list {
		if pages[i], err = list[i].page(httpapi.Element("urls", i), assess); err != nil {
			return nil, body.Partition, err
		}
	}
	return pages, body.Partition, nil
}

// putURL is a page in a request.
type putURL struct {
	URL      string   `json:"url"`
	Title    string   `json:"title"`
	Type     string   `json:"type"`
	Priority *float64 `json:"priority"`
	LastMod  string   `json:"lastmod"`
	Refetch  bool     `json:"refetch"` // bring it back, before others
}

func (p *putURL) page(field string, assess assessor) (page frontier.NewPage, err error) {
	if p.URL == "" {
		return page, contract.Invalid(field+".url", "is missing; send an http or https URL")
	}
	if p.Type != "" {
		if err := checkType(field+".type", p.Type); err != nil {
			return page, err
		}
	}
	if p.Priority != nil {
		if err := within(field+".priority", p.Priority, 0, 1); err != nil {
			return page, err
		}
	}
	page = frontier.NewPage{URL: p.URL, Title: p.Title, Type: p.Type, Refetch: p.Refetch}
	var lastmod time.Time
	if p.LastMod != "" {
		t, ok := markup.ParseDate([]byte(p.LastMod))
		if !ok {
			return page, contract.Invalid(field+".lastmod", "%.80q is not a date; use a form such as %q", p.LastMod,
				"2026-01-28T09:00:00Z")
		}
		lastmod, page.LastMod = t, max(epoch.SecondsOf(t), 0)
	}
	if p.Type == "" || p.Priority == nil {
		if page.Type, page.Priority, err = assess(p.URL, p.Type, lastmod); err != nil {
			return page, err
		}
	}
	if p.Priority != nil {
		page.Priority = *p.Priority
	}
	return page, nil
}

// assessor returns the type and priority of a URL. knownType is "" if the type is unknown.
type assessor func(url, knownType string, lastmod time.Time) (contentType string, priority float64, err error)

func (a frontierRoutes) assessor(ctx context.Context, found discovery.Method) assessor {
	var analyser *discovery.Analyser // loaded with the first URL to assess
	return func(url, knownType string, lastmod time.Time) (string, float64, error) {
		if analyser == nil {
			model, err := a.Model(ctx)
			if err != nil {
				return "", 0, contract.Wrap(contract.Storage, "handlers.assessor", err)
			}
			analyser = discovery.NewAnalyser(discovery.Options{Model: model, Now: a.Now()})
		}
		t, priority := analyser.Assess(url, found, lastmod, classify.Type(knownType))
		return string(t), priority, nil
	}
}
