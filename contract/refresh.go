package contract

import (
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
)

// RefreshMessage requests another check of an entry point (DOMAIN_QUEUE).
type RefreshMessage struct {
	Refresh Refresh `json:"refresh"`
}

// Refresh is an entry point that is due. The method "collect" stands for the whole domain, and "refill" for the next of
// its pages that are stored.
type Refresh struct {
	Domain       string       `json:"domain"` // the registrable domain
	URL          string       `json:"url"`
	Method       string       `json:"method"`
	ETag         string       `json:"etag,omitempty"`
	LastModified string       `json:"last_modified,omitempty"`
	SHA256       string       `json:"sha256,omitempty"` // of the last body read: the first 32 digits
	From         string       `json:"from,omitempty"`   // of a refill: where the next pages begin
	Want         int          `json:"want,omitempty"`   // of a refill: how many
	Partition    Partition    `json:"partition_info"`   // the entry point's newest partition
	QueuedAt     epoch.Millis `json:"queued_at"`
}

// ParseRefresh decodes a DOMAIN_QUEUE message that is a refresh; ok is false for any other.
func ParseRefresh(body []byte) (r *Refresh, ok bool, err error) {
	if !gjson.GetBytes(body, "refresh").Exists() { // other messages can have 100 KB: not decoded twice
		return nil, false, nil
	}
	var m struct {
		Refresh *Refresh `json:"refresh"`
	}
	if err := decode(body, &m); err != nil || m.Refresh == nil {
		return nil, false, nil // ParseDomain judges it
	}
	return m.Refresh, true, m.Refresh.Validate()
}

// Validate reports the first malformed field.
func (r *Refresh) Validate() error {
	if err := CheckDomain("refresh.domain", r.Domain); err != nil {
		return err
	}
	if !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://") {
		return Invalid("refresh.url", "%q is not an absolute http or https URL", clip(r.URL))
	}
	return r.Partition.Validate("refresh.partition_info.")
}

// Again returns the message that collects the document's domain once more, in one of its partitions. It carries no
// URLs: the document has them.
func (d *Document) Again(p Partition, at time.Time) *DomainMessage {
	m := &DomainMessage{
		Domain: d.Domain, DomainID: d.DomainID, DomainURL: "https://" + d.Domain + "/", RegistrableDomain: d.Domain,
		URLs: []URL{}, Partition: p, SourceFilePath: d.Source.RawFilePath, Force: true, RequestedAt: at,
	}
	if d.Authority != nil {
		m.Authority = *d.Authority
	}
	// DomainURL names the host to try if the bare domain does not answer: the one that answered last time, else
	// that of any URL.
	if host := d.Technical.ServerInfo.EffectiveHost; host != nil {
		m.DomainURL = "https://" + *host + "/"
		return m
	}
	for i := range d.URLs {
		if u, err := url.Parse(d.URLs[i].URL); err == nil && u.Hostname() != d.Domain {
			m.DomainURL = d.URLs[i].URL
			break
		}
	}
	return m
}
