package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// collect has one domain asked anew. Its URLs stand in its document, which the collection keeps, so
// the message carries none. Asked for twice before it is done, it is done once.
func (a *API) collect(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Country  string `json:"country"`
		Category string `json:"category"`
		Date     string `json:"date"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	f := contract.Filter{Country: strings.ToLower(body.Country), Category: body.Category, Date: body.Date}
	if err := f.Validate(""); err != nil {
		return err
	}
	found, err := a.domain(r, f)
	if err != nil {
		return err
	}
	switch _, exclusions, err := a.Controls.Read(r.Context()); {
	case err != nil:
		return err
	case exclusions.Domain(found.Domain):
		return &failure{http.StatusConflict, "excluded", found.Domain + " is excluded; DELETE /api/v1/exclusions/domain/" + found.Domain + " takes it back"}
	case found.Document == nil:
		return &failure{http.StatusNotFound, "not_found", found.Domain + " has no document there yet; replay its dead letter, or orchestrate its partition with force"}
	}
	var doc contract.Document
	if err := json.Unmarshal(found.Document, &doc); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.collect", Field: found.Key, Message: "the stored document cannot be read; delete it and orchestrate its partition with force", Err: err}
	}
	message := again(found, &doc, a.Now().UTC())
	if err := message.Validate(); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.collect", Field: found.Key, Message: "the stored document is not whole; orchestrate its partition with force", Err: err}
	}
	var b contract.Batch
	b.Add(contract.Encode(message))
	if err := a.Domains.Send(r.Context(), &b); err != nil {
		return contract.Wrap(contract.Storage, "handlers.collect", err)
	}
	a.record(r.Context(), ledger.Changes{Domains: []ledger.DomainChange{
		{Partition: found.Partition, Domain: found.Domain, Queued: message.RequestedAt, Needed: message.RequestedAt},
	}})
	a.Log.Info("domain_queued", "registrable_domain", found.Domain, "partition_info", found.Partition, "by", actor(r))
	succeed(w, http.StatusAccepted, contract.DomainQueued{Domain: found.Domain, Partition: found.Partition, RequestedAt: contract.Time{Time: message.RequestedAt}})
	return nil
}

// again is the message that has a collected domain collected once more.
func again(found *contract.DomainDetail, doc *contract.Document, at time.Time) *contract.DomainMessage {
	m := &contract.DomainMessage{
		Domain: found.Domain, DomainID: doc.DomainID, DomainURL: "https://" + found.Domain + "/", RegistrableDomain: found.Domain,
		URLs: []contract.URL{}, Partition: found.Partition, SourceFilePath: doc.Source.RawFilePath, Force: true, RequestedAt: at,
	}
	if doc.Authority != nil {
		m.Authority = *doc.Authority
	}
	// The host to try when the bare domain does not answer: what answered last time, else any of the URLs'.
	if host := doc.Technical.ServerInfo.EffectiveHost; host != nil {
		m.DomainURL = "https://" + *host + "/"
		return m
	}
	for i := range doc.URLs {
		if u, err := url.Parse(doc.URLs[i].URL); err == nil && u.Hostname() != found.Domain {
			m.DomainURL = doc.URLs[i].URL
			break
		}
	}
	return m
}
