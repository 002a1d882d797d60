package contract

import (
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// RefreshMessage asks for one entry point of a domain to be looked at again (DOMAIN_QUEUE).
type RefreshMessage struct {
	Refresh Refresh `json:"refresh"`
}

// Refresh is an entry point that is due. Of method "collect" it stands for the whole domain.
type Refresh struct {
	Domain       string    `json:"domain"` // the registrable domain
	URL          string    `json:"url"`
	Method       string    `json:"method"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	SHA256       string    `json:"sha256,omitempty"` // of the body when it was last read: the first 32 digits
	Partition    Partition `json:"partition_info"`   // the newest that the entry point belongs to
	QueuedAt     int64     `json:"queued_at"`        // ms since 1970
}

// ParseRefresh decodes a DOMAIN_QUEUE message that is a refresh; ok is false for any other.
func ParseRefresh(body []byte) (r *Refresh, ok bool, err error) {
	if !gjson.GetBytes(body, "refresh").Exists() { // others may have 100 KB, which are not worth decoding twice
		return nil, false, nil
	}
	var m struct {
		Refresh *Refresh `json:"refresh"`
	}
	if err := decode(body, &m); err != nil || m.Refresh == nil {
		return nil, false, nil // as what it is read is for ParseDomain to say
	}
	return m.Refresh, true, m.Refresh.Validate()
}

// Validate reports the first malformed field.
func (r *Refresh) Validate() error {
	if err := CheckDomain("refresh.domain", r.Domain); err != nil {
		return err
	}
	if !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://") {
		return Invalid("refresh.url", "%q is not an absolute URL; send one of http or https", clip(r.URL))
	}
	return r.Partition.Validate("refresh.partition_info.")
}

// Again is the message that has the domain of a document collected once more, in one of its partitions. Its URLs
// stand in the document, which the collection keeps, so the message carries none.
func (d *Document) Again(p Partition, at time.Time) *DomainMessage {
	m := &DomainMessage{
		Domain: d.Domain, DomainID: d.DomainID, DomainURL: "https://" + d.Domain + "/", RegistrableDomain: d.Domain,
		URLs: []URL{}, Partition: p, SourceFilePath: d.Source.RawFilePath, Force: true, RequestedAt: at,
	}
	if d.Authority != nil {
		m.Authority = *d.Authority
	}
	// The host to try when the bare domain does not answer: what answered last time, else any of the URLs'.
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
