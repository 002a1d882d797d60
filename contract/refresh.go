package contract

import (
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
)

// MaxRefreshes is the number of refreshes that one message may request: three operations of the queue cost as much for
// ten as for one.
const MaxRefreshes = 10

// RefreshMessage requests other checks of entry points (DOMAIN_QUEUE).
type RefreshMessage struct {
	Refreshes []Refresh `json:"refreshes"`
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

// ParseRefreshes decodes a DOMAIN_QUEUE message that requests refreshes; ok is false for any other. Messages of earlier
// versions have one, in the field "refresh".
func ParseRefreshes(body []byte) (list []Refresh, ok bool, err error) {
	// Other messages can have 100 KB: not decoded twice.
	if !gjson.GetBytes(body, "refreshes").Exists() && !gjson.GetBytes(body, "refresh").Exists() {
		return nil, false, nil
	}
	var m struct {
		Refreshes []Refresh `json:"refreshes"`
		Refresh   *Refresh  `json:"refresh"`
	}
	if err := decode(body, &m); err != nil || m.Refresh == nil && m.Refreshes == nil {
		return nil, false, nil // ParseDomain judges it
	}
	if m.Refresh != nil {
		m.Refreshes = append(m.Refreshes, *m.Refresh)
	}
	if n := len(m.Refreshes); n < 1 || n > MaxRefreshes {
		return nil, true, Invalid("refreshes", "a message has 1 to %d refreshes, got %d", MaxRefreshes, n)
	}
	for i := range m.Refreshes {
		if err := m.Refreshes[i].Validate(); err != nil {
			return nil, true, err
		}
	}
	return m.Refreshes, true, nil
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
