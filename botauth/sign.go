package botauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Sign returns the Ed25519 signature of a text by a key.
type Sign func(ctx context.Context, key Key, text string) ([]byte, error)

// A Form is how the header field Signature-Agent is written. Verifiers accept one or the other.
type Form string

// The forms.
const (
	String     Form = "string"     // a quoted string: drafts before 2026, Cloudflare
	Dictionary Form = "dictionary" // a dictionary whose member is named like the signature: draft -01, 5.2.1
)

// DirectoryPath is the path of a host's key set (draft -01, 5.5).
const DirectoryPath = "/.well-known/http-message-signatures-directory"

// DirectoryType is the media type of a key set.
const DirectoryType = "application/http-message-signatures-directory+json"

// Lifetimes of signatures. A request is verified when it arrives. A copy of the directory may be used as long as its
// proof is valid, so the proof outlives caches (draft -01, C.8).
const (
	requestLifetime   = 2 * time.Minute
	directoryLifetime = 7 * 24 * time.Hour
)

// label names the signature within its header fields.
const label = "sig1"

// A Signer signs for one bot. It is safe for concurrent use.
type Signer struct {
	Keys  []Key // the first one signs
	Agent string
	Form  Form // of requests
	Sign  Sign
	Now   func() time.Time
}

// Request returns the header fields that sign a request to an authority, the lower-case host of an https URL without
// its default port (RFC 9421, 2.2.3). Signatures cover no more than that: the requests have no body and are valid for
// two minutes, whereas a path that an intermediary normalises would make them invalid.
func (s *Signer) Request(ctx context.Context, authority string) (http.Header, error) {
	agent, component, field := s.agent()
	created := s.Now().Unix()
	params := `("@authority" ` + component + `)` + lifetime(created, requestLifetime) +
		`;keyid="` + s.Keys[0].ID + `";alg="ed25519";tag="web-bot-auth"`
	signature, err := s.Sign(ctx, s.Keys[0], `"@authority": `+authority+"\n"+
		component+`: "`+agent+`"`+"\n"+
		`"@signature-params": `+params)
	if err != nil {
		return nil, err
	}
	return http.Header{
		"Signature-Agent": {field},
		"Signature-Input": {label + "=" + params},
		"Signature":       {label + "=" + binary(signature)},
	}, nil
}

// agent returns the value of Signature-Agent, its name as a component of the signature, and the header field.
func (s *Signer) agent() (value, component, field string) {
	if s.Form != Dictionary {
		return s.Agent, `"signature-agent"`, `"` + s.Agent + `"`
	}
	value = s.Agent
	// The value is the address of the key set itself.
	if u, err := url.Parse(value); err == nil && strings.Trim(u.Path, "/") == "" {
		value = strings.TrimRight(value, "/") + DirectoryPath
	}
	return value, `"signature-agent";key="` + label + `"`, label + `="` + value + `"`
}

// Directory returns the key set, and the header fields that prove for host that it has each key, so that nobody can
// register a copy as his own (draft -01, B.1). It is the same for an hour.
func (s *Signer) Directory(ctx context.Context, host string) (body string, header http.Header, err error) {
	keys := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = k.Public()
	}
	body = `{"keys":[` + strings.Join(keys, ",") + `]}`
	sum := sha256.Sum256([]byte(body))
	digest := "sha-256=" + binary(sum[:])
	created := s.Now().Truncate(time.Hour).Unix()
	var inputs, signatures []string
	for i, k := range s.Keys {
		params := `("@authority";req "content-digest")` + lifetime(created, directoryLifetime) +
			`;keyid="` + k.ID + `";alg="ed25519";tag="http-message-signatures-directory"`
		signature, err := s.Sign(ctx, k, `"@authority";req: `+host+"\n"+
			`"content-digest": `+digest+"\n"+
			`"@signature-params": `+params)
		if err != nil {
			return "", nil, err
		}
		name := "binding" + strconv.Itoa(i)
		inputs = append(inputs, name+"="+params)
		signatures = append(signatures, name+"="+binary(signature))
	}
	return body, http.Header{
		"Content-Digest": {digest},
		// Several lines of one field would be read by their first (Cloudflare's validator).
		"Signature-Input": {strings.Join(inputs, ", ")},
		"Signature":       {strings.Join(signatures, ", ")},
	}, nil
}

func lifetime(created int64, d time.Duration) string {
	return ";created=" + strconv.FormatInt(created, 10) +
		";expires=" + strconv.FormatInt(created+int64(d/time.Second), 10)
}

// binary writes bytes as structured fields do (RFC 8941, 3.3.5).
func binary(b []byte) string { return ":" + base64.StdEncoding.EncodeToString(b) + ":" }
