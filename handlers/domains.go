package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// timed reports whether domains in a state, or in any if it is empty, have durations.
func timed(state contract.DomainState) bool {
	return state == "" || state == contract.Processed || state == contract.Failed
}

// listDomains shows one page of the ledger's domains.
func (a domainRoutes) listDomains(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "country", "category", "date", "state", "robots", "sitemap", "barrier", "error_type",
		"slower_than_ms", "changed_since", "sort", "limit", "cursor")
	if err != nil {
		return err
	}
	want := ledger.DomainQuery{
		Filter: q.filter(), State: contract.DomainState(q.oneOf("state", "pending", "processed", "failed",
			"excluded")),
		Barrier: contract.Barrier(q.oneOf("barrier", "forbidden", "refuses", "nothing")),
		Robots:  q.flag("robots"), Sitemap: q.flag("sitemap"), ErrorType: q.errorType(),
		SlowerThanMS: q.number("slower_than_ms", 0, 1<<40), ChangedSince: q.time("changed_since"),
		Limit: q.limit(), Cursor: q.text("cursor"),
	}
	switch q.oneOf("sort", "domain", "duration") {
	case "duration":
		want.SlowestFirst = true
	case "": // a filter by duration implies the order of the index
		want.SlowestFirst = want.SlowerThanMS != nil && timed(want.State)
	}
	if want.ErrorType != "" && want.State != "" && want.State != contract.Failed {
		q.fail(contract.Invalid("error_type", "applies to failed domains only; use state=failed or no state"))
	}
	if want.SlowestFirst && !timed(want.State) {
		q.fail(contract.Invalid("sort", "by duration applies to domains that were collected; use state=processed, "+
			"state=failed or no state"))
	}
	if q.err != nil {
		return q.err
	}
	x := a.excluded(r.Context())
	if x != nil && want.State == contract.Excluded {
		want.Also = excludedNames(x)
	}
	page, err := a.Ledger.Domains(r.Context(), want)
	if err == nil {
		err = a.Ledger.AddRetries(r.Context(), page.Domains, a.Settings.RetryDelay)
	}
	if err != nil {
		return err
	}
	if x != nil {
		for i := range page.Domains {
			markExcluded(&page.Domains[i], x.Domain(page.Domains[i].Domain))
		}
		// The ledger selects by name; not all of these are excluded.
		page.Domains = slices.DeleteFunc(page.Domains, func(d contract.DomainRecord) bool {
			return want.State == contract.Excluded && d.State != contract.Excluded && !*d.Excluded
		})
	}
	httpapi.Succeed(w, http.StatusOK, page)
	return nil
}

// excluded returns the exclusions, or nil if they cannot be read. Lists are complete without them.
func (a *API) excluded(ctx context.Context) *contract.Exclusions {
	_, x, err := a.Controls.Read(ctx)
	if err != nil {
		a.Log.Warn("controls_failed", "error_type", contract.KindOf(err), "error", err.Error())
		return nil
	}
	return x
}

func markExcluded(d *contract.DomainRecord, excluded bool) { d.Excluded = &excluded }

// excludedNames returns the domain names that operators might have excluded. A registrable domain never ends in a
// dot and another registrable domain.
func excludedNames(x *contract.Exclusions) *ledger.Named {
	names, ends := x.Reach()
	ends = slices.DeleteFunc(ends, func(end string) bool {
		above, whole := strings.CutPrefix(end, ".")
		_, ok := contract.RegistrableDomain(above)
		return whole && ok
	})
	return &ledger.Named{Names: names, Ends: ends}
}

// showDomain shows one domain of one partition: the one that the query names, else the newest one.
func (a domainRoutes) showDomain(w http.ResponseWriter, r *http.Request) error {
	q, f, err := readPartition(r)
	if err != nil {
		return err
	}
	if q.err != nil {
		return q.err
	}
	detail, exclusions, err := a.domain(r, f)
	if err != nil {
		return err
	}
	if detail.Record != nil {
		records := []contract.DomainRecord{*detail.Record}
		if err := a.Ledger.AddRetries(r.Context(), records, a.Settings.RetryDelay); err != nil {
			a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
		}
		detail.Record = &records[0]
	}
	detail.EntryPoints = []contract.EntryHistory{}
	if !detail.Excluded {
		detail.EntryPoints = a.entryPoints(r.Context(), detail.Domain, exclusions)
	}
	return sendTagged(w, r, "application/json; charset=utf-8",
		encodeJSON(httpapi.Envelope{Success: true, Data: detail}))
}

// domain returns the record and document of the path's domain, and the exclusions. The partition is the one that f
// names, or the newest that f selects.
func (a domainRoutes) domain(r *http.Request, f contract.Filter) (*contract.DomainDetail, *contract.Exclusions,
	error) {
	detail, err := a.locate(r, f)
	if err != nil {
		return nil, nil, err
	}
	if detail.Document, err = a.document(r.Context(), detail.Key); err != nil {
		return nil, nil, err
	}
	if detail.Document == nil && detail.Record == nil {
		return nil, nil, unknownDomain(detail.Domain)
	}
	controls, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return nil, nil, err
	}
	detail.Excluded = exclusions.Domain(detail.Domain)
	if detail.Document != nil && (!exclusions.None() || gjson.GetBytes(detail.Document, "excluded").Bool()) {
		detail.Document = collector.Strike(detail.Document, exclusions.URL)
		detail.Excluded = detail.Excluded || gjson.GetBytes(detail.Document, "excluded").Bool()
	}
	if detail.Record != nil {
		markExcluded(detail.Record, detail.Excluded)
	}
	detail.ExcludedBy = []contract.Exclusion{}
	if detail.Excluded {
		effective := gjson.GetBytes(detail.Document, "technical_metadata.server_info.effective_host").String()
		detail.ExcludedBy = controls.ExcludingDomain(detail.Domain, effective)
	}
	return detail, exclusions, nil
}

func unknownDomain(domain string) error {
	return httpapi.NotFound("no domain %s found; GET /api/v1/seeds/domains lists the domains", domain)
}

// locate is domain without the document. If f names a partition, the domain might not exist in it.
func (a domainRoutes) locate(r *http.Request, f contract.Filter) (*contract.DomainDetail, error) {
	domain, err := sanitizeDomain(r.PathValue("domain"))
	if err != nil {
		return nil, err
	}
	if registrable, ok := contract.RegistrableDomain(domain); ok { // www.example.sg finds example.sg
		domain = registrable
	}
	detail := &contract.DomainDetail{Domain: domain, Partitions: []contract.Partition{}}
	records, err := a.Ledger.Domain(r.Context(), domain, f)
	whole := f.Whole()
	switch {
	case whole: // the ledger is not needed to find the document
		detail.Partition = contract.Partition{Country: f.Country, Category: f.Category, Date: f.Date}
		if err != nil {
			a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
		}
	case err != nil:
		return nil, err
	case len(records) > 0:
		detail.Partition = records[0].Partition
	}
	if len(records) == 0 && !whole {
		return nil, unknownDomain(domain)
	}
	for i := range records {
		detail.Partitions = append(detail.Partitions, records[i].Partition)
		if records[i].Partition == detail.Partition {
			detail.Record = &records[i]
		}
	}
	detail.Key = contract.DomainDir{Partition: detail.Partition, Domain: domain}.Document()
	return detail, nil
}

// document reads a stored JSON document, nil if missing.
func (a domainRoutes) document(ctx context.Context, key string) (json.RawMessage, error) {
	body, err := a.Bucket.Get(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "handlers.document", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err == nil && !json.Valid(data) {
		err = errors.New("the stored document is not JSON")
	}
	return data, contract.Wrap(contract.Storage, "handlers.document", err)
}

// collect queues one domain for another collection. The message carries no URLs: the document has them. Two
// requests before the collection has run cause one collection.
func (a domainRoutes) collect(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Country  string `json:"country"`
		Category string `json:"category"`
		Date     string `json:"date"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	f := contract.Filter{Country: country(body.Country), Category: body.Category, Date: body.Date}
	if err := f.Validate(""); err != nil {
		return err
	}
	found, _, err := a.domain(r, f)
	if err != nil {
		return err
	}
	switch {
	case found.Excluded:
		return httpapi.Errorf(http.StatusConflict, "excluded",
			"%s is excluded; GET /api/v1/exclusions lists the exclusions: delete the one that covers it first",
			found.Domain)
	case found.Document == nil:
		return httpapi.NotFound(
			"%s has no document in this partition yet; replay its dead letter, or orchestrate the partition with force",
			found.Domain)
	}
	var doc contract.Document
	if err := json.Unmarshal(found.Document, &doc); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.collect", Field: found.Key,
			Message: "the stored document cannot be read; delete it and orchestrate its partition with force",
			Err:     err}
	}
	message := doc.Again(found.Partition, a.Now().UTC())
	if err := message.Validate(); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.collect", Field: found.Key,
			Message: "the stored document is truncated; orchestrate its partition with force", Err: err}
	}
	var b contract.Batch
	b.Add(contract.Encode(message))
	if err := a.Domains.Send(r.Context(), &b); err != nil {
		return contract.Wrap(contract.Storage, "handlers.collect", err)
	}
	a.record(r.Context(), ledger.Changes{Domains: []ledger.DomainChange{
		{Partition: found.Partition, Domain: found.Domain, Queued: message.RequestedAt,
			RequiredSince: message.RequestedAt},
	}})
	a.Log.Info("domain_queued", "registrable_domain", found.Domain, "partition_info", found.Partition, "by",
		httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusAccepted,
		contract.DomainQueued{Domain: found.Domain, Partition: found.Partition,
			RequestedAt: contract.Time{Time: message.RequestedAt}})
	return nil
}
