package contract

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// SeedMessage asks step 2 to process one raw file (SEED_QUEUE).
type SeedMessage struct {
	FilePath  string    `json:"file_path"`
	Partition Partition `json:"partition_info"`
	Force     bool      `json:"force,omitempty"`
	// RequestedAt is the time of the orchestration; if zero, Force counts from when the message was sent.
	RequestedAt time.Time `json:"requested_at,omitzero"`
	// ETag is that of the file, if known: a checkpoint might belong to a file that was replaced.
	ETag string `json:"etag,omitempty"`
}

// Validate reports the first malformed field.
func (m *SeedMessage) Validate() error {
	if err := m.Partition.Validate("partition_info."); err != nil {
		return err
	}
	return checkRawKey("file_path", m.FilePath, m.Partition)
}

// RawFile returns the file that a valid message names.
func (m *SeedMessage) RawFile() RawFile {
	f, _, _ := ParseRawKey(m.FilePath)
	return f
}

// Filter selects raw files by partition; empty parts match everything. It is the body of
// POST /api/v1/seeds/orchestrate and, with a cursor, the continuation of step 1.
type Filter struct {
	Country  string `json:"country,omitempty"`
	Category string `json:"category,omitempty"`
	Date     string `json:"date,omitempty"`
	Force    bool   `json:"force,omitempty"`
}

// Whole reports whether the filter selects a single partition.
func (f Filter) Whole() bool { return f.Country != "" && f.Category != "" && f.Date != "" }

// Validate returns the first malformed field, with prefix before its name.
func (f Filter) Validate(prefix string) error {
	if f.Country != "" {
		if err := CheckCountry(prefix+"country", f.Country); err != nil {
			return err
		}
	}
	if f.Category != "" {
		if err := CheckCategory(prefix+"category", f.Category); err != nil {
			return err
		}
	}
	if f.Date != "" {
		return CheckDate(prefix+"date", f.Date)
	}
	return nil
}

// Continuation continues an orchestration that was too large for one event.
type Continuation struct {
	Filter
	Cursor      string    `json:"cursor"` // opaque, from step 1
	RequestedAt time.Time `json:"requested_at,omitzero"`
}

// SeedWork is the request in a SEED_QUEUE message. Exactly one field is set, or none if the message is an event
// notification about an object that is not a raw file.
type SeedWork struct {
	File     *SeedMessage
	Continue *Continuation
}

// ParseSeed decodes a SEED_QUEUE message: a file, a continuation, or an R2 event notification
// (developers.cloudflare.com/r2/buckets/event-notifications/).
func ParseSeed(body []byte) (SeedWork, error) {
	var m struct {
		SeedMessage
		Orchestrate *Continuation `json:"orchestrate"`
		Action      string        `json:"action"`
		Object      *struct {
			Key  string `json:"key"`
			ETag string `json:"eTag"`
		} `json:"object"`
	}
	if err := decode(body, &m); err != nil {
		return SeedWork{}, err
	}
	switch {
	case m.Orchestrate != nil:
		return SeedWork{Continue: m.Orchestrate}, m.Orchestrate.Validate("orchestrate.")
	case m.Object != nil && m.Action != "":
		f, checkpoint, ok := ParseRawKey(m.Object.Key)
		if !ok || checkpoint || !createsObject(m.Action) {
			return SeedWork{}, nil
		}
		return SeedWork{File: &SeedMessage{FilePath: m.Object.Key, Partition: f.Partition, ETag: m.Object.ETag}}, nil
	case m.FilePath == "":
		return SeedWork{}, Invalid("file_path",
			"is missing; send the key of a raw file, \"orchestrate\" or an R2 event notification")
	}
	return SeedWork{File: &m.SeedMessage}, m.Validate()
}

func createsObject(action string) bool {
	return action == "PutObject" || action == "CompleteMultipartUpload" || action == "CopyObject"
}

// URL is one discovered URL of a domain. Only URL and Path are always set.
type URL struct {
	URL             string   `json:"url"`
	Title           *string  `json:"title"`
	Path            string   `json:"path"` // escaped path of URL, without query
	DiscoveryMethod *string  `json:"discovery_method,omitempty"`
	Language        *string  `json:"language,omitempty"`
	DiscoveredAt    *string  `json:"discovered_at,omitempty"`
	Confidence      *float64 `json:"confidence,omitempty"`
}

// complete sets the optional members that u lacks to those of common.
func (u *URL) complete(common *URL) {
	u.DiscoveryMethod = cmp.Or(u.DiscoveryMethod, common.DiscoveryMethod)
	u.Language = cmp.Or(u.Language, common.Language)
	u.DiscoveredAt = cmp.Or(u.DiscoveredAt, common.DiscoveredAt)
	u.Confidence = cmp.Or(u.Confidence, common.Confidence)
}

// DomainMessage asks step 3 to collect one domain, or to merge more URLs into it (DOMAIN_QUEUE).
type DomainMessage struct {
	Domain   string `json:"domain"` // the registrable domain, lower-case A-labels
	DomainID string `json:"domain_id"`
	// DomainURL is the first URL seen. Its host is tried if the bare domain does not answer.
	DomainURL         string    `json:"domain_url"`
	RegistrableDomain string    `json:"registrable_domain"`
	Authority         string    `json:"authority"` // source type such as gov; "" when unknown
	URLs              []URL     `json:"urls"`
	Partition         Partition `json:"partition_info"`
	SourceFilePath    string    `json:"source_file_path"`
	// Part numbers the messages if a file's URLs of the domain need several.
	Part int `json:"part,omitempty"`
	// URLsCommon names optional members once for all URLs of the message that lack them, which keeps it small.
	// ParseDomain moves them there; it ignores the other members.
	URLsCommon *URL `json:"urls_common,omitempty"`
	// URLsPath is the key of the URL list if that is too large for a message.
	URLsPath    string    `json:"urls_path,omitempty"`
	URLsCount   int       `json:"urls_count,omitempty"` // length of that list
	Force       bool      `json:"force,omitempty"`
	RequestedAt time.Time `json:"requested_at,omitzero"` // see SeedMessage
	// BusySince is the first time another event was found working on the domain.
	BusySince time.Time `json:"busy_since,omitzero"`
	// Scheduled is set on messages that the frontier sends, and repeats until the domain was collected.
	Scheduled bool `json:"scheduled,omitempty"`
}

// Dir returns the directory of the contract of the domain.
func (m *DomainMessage) Dir() DomainDir { return DomainDir{m.Partition, m.Domain} }

// SourceFile returns the raw file that a valid message comes from.
func (m *DomainMessage) SourceFile() RawFile {
	f, _, _ := ParseRawKey(m.SourceFilePath)
	return f
}

// ParseDomain decodes a DOMAIN_QUEUE message and fills in what can be derived: registrable_domain and domain from
// each other, domain_url as the domain's home page, and what URLs lack from urls_common.
func ParseDomain(body []byte) (*DomainMessage, error) {
	m := &DomainMessage{}
	if err := decode(body, m); err != nil {
		return nil, err
	}
	if m.Domain == "" {
		m.Domain = m.RegistrableDomain
	}
	if m.RegistrableDomain == "" {
		m.RegistrableDomain = m.Domain
	}
	if m.DomainURL == "" {
		m.DomainURL = "https://" + m.Domain + "/"
	}
	if m.URLsCommon != nil {
		for i := range m.URLs {
			m.URLs[i].complete(m.URLsCommon)
		}
		m.URLsCommon = nil
	}
	return m, m.Validate()
}

// Validate reports the first malformed field.
func (m *DomainMessage) Validate() error {
	if m.Domain == "" {
		return Invalid("domain", "is missing; send the registrable domain in lower case, such as %q", "mom.gov.sg")
	}
	if err := CheckDomain("domain", m.Domain); err != nil {
		return err
	}
	if m.RegistrableDomain != m.Domain {
		return Invalid("registrable_domain", "%q differs from domain %q; send the registrable domain in both",
			clip(m.RegistrableDomain), m.Domain)
	}
	if err := m.Partition.Validate("partition_info."); err != nil {
		return err
	}
	if err := checkRawKey("source_file_path", m.SourceFilePath, m.Partition); err != nil {
		return err
	}
	if lists := m.Dir().URLListPrefix(); m.URLsPath != "" && !strings.HasPrefix(m.URLsPath, lists) {
		return Invalid("urls_path", "%q is not a URL list of this domain; use a key under %q", clip(m.URLsPath),
			lists)
	}
	for i := range m.URLs {
		if m.URLs[i].URL == "" {
			return Invalid(fmt.Sprintf("urls[%d].url", i), "is missing; send an absolute http or https URL")
		}
	}
	return nil
}

// CheckDomain accepts host names of lower-case ASCII labels (IDNA A-labels) with at least one dot.
func CheckDomain(field, v string) error {
	ok := len(v) <= 253 && strings.Contains(v, ".")
	for label := range strings.SplitSeq(v, ".") {
		ok = ok && label != "" && len(label) <= 63 && label[0] != '-' && label[len(label)-1] != '-'
	}
	for i := range len(v) {
		c := v[i]
		ok = ok && (isLower(c) || c >= '0' && c <= '9' || c == '.' || c == '-')
	}
	if !ok {
		return Invalid(field, "%q is not a domain name; use lower-case A-labels such as %q",
			clip(v), "mom.gov.sg")
	}
	return nil
}
