//go:build !js

package botauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// member matches one signature's parameters in Signature-Input, as Directory writes them.
var member = regexp.MustCompile(`(\w+)=(\([^)]*\)[^,]*)`)

// CheckDirectory verifies a directory as a registrar does: its media type, its digest, and for each key the proof for
// host. It returns the ids of the keys.
func CheckDirectory(host string, header http.Header, body []byte, now time.Time) ([]string, error) {
	if t := header.Get("Content-Type"); t != DirectoryType {
		return nil, fmt.Errorf("Content-Type is %q; it must be %q", t, DirectoryType)
	}
	sum := sha256.Sum256(body)
	digest := "sha-256=" + binary(sum[:])
	if d := header.Get("Content-Digest"); d != digest {
		return nil, fmt.Errorf("Content-Digest is %q; the body's is %q", d, digest)
	}
	var set struct {
		Keys []struct {
			jwk
			ID string `json:"kid"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	var ids []string
	for i, k := range set.Keys {
		if k.D != "" {
			return nil, fmt.Errorf("key %d is private", i+1)
		}
		if id := Thumbprint(k.X); k.ID != id {
			return nil, fmt.Errorf("key %d has the kid %q; its thumbprint is %q", i+1, k.ID, id)
		}
		if err := checkProof(host, header, digest, k.X, k.ID, now); err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		ids = append(ids, k.ID)
	}
	return ids, nil
}

func checkProof(host string, header http.Header, digest, x, id string, now time.Time) error {
	public, err := base64.RawURLEncoding.DecodeString(x)
	if err != nil || len(public) != ed25519.PublicKeySize {
		return errors.New(`its "x" is not a public key`)
	}
	for _, m := range member.FindAllStringSubmatch(header.Get("Signature-Input"), -1) {
		name, params := m[1], m[2]
		if !strings.Contains(params, `;keyid="`+id+`"`) {
			continue
		}
		if expires, err := strconv.ParseInt(parameter(params, "expires"), 10, 64); err != nil || expires <= now.Unix() {
			return errors.New("its proof has expired")
		}
		_, rest, _ := strings.Cut(header.Get("Signature"), name+"=:")
		text, _, _ := strings.Cut(rest, ":")
		signature, err := base64.StdEncoding.DecodeString(text)
		base := `"@authority";req: ` + host + "\n" +
			`"content-digest": ` + digest + "\n" +
			`"@signature-params": ` + params
		if err != nil || !ed25519.Verify(public, []byte(base), signature) {
			return fmt.Errorf("its proof is not valid for %s", host)
		}
		return nil
	}
	return errors.New("it has no proof")
}

// parameter returns the value of an integer parameter, or "".
func parameter(params, name string) string {
	_, rest, _ := strings.Cut(params, ";"+name+"=")
	value, _, _ := strings.Cut(rest, ";")
	return value
}
