package botauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// A Key is a private Ed25519 key as a JWK (RFC 8037).
type Key struct {
	ID string // the key's thumbprint (RFC 7638), by which verifiers know it
	X  string // the public key, as in the JWK
	D  string // the private key, as in the JWK
}

// testKeyID is the thumbprint of the key of RFC 9421, B.1.4, which everybody has.
const testKeyID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

// keySize is the size of a public key, and of the seed that is the private key, in bytes (RFC 8032, 5.1.5).
const keySize = 32

// maxKeys caps the keys of a set: one that signs, one that replaces it, and some to spare.
const maxKeys = 8

// ParseKeys reads a private JWK or a JWK Set (RFC 7517, 5). The first key signs; the directory publishes all.
// Errors do not quote the text.
func ParseKeys(text string) ([]Key, error) {
	var set struct {
		jwk
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, errors.New("it is not JSON")
	}
	if set.Keys == nil {
		set.Keys = []jwk{set.jwk}
	}
	if n := len(set.Keys); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("it has %d keys; between 1 and %d are accepted", n, maxKeys)
	}
	var keys []Key
	for i, k := range set.Keys {
		key, err := k.key()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		for _, other := range keys {
			if other.ID == key.ID {
				return nil, fmt.Errorf("key %d occurs twice", i+1)
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

type jwk struct {
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	X     string `json:"x"`
	D     string `json:"d"`
}

func (k jwk) key() (Key, error) {
	if k.Type != "OKP" || k.Curve != "Ed25519" {
		return Key{}, errors.New(`its "kty" and "crv" must be "OKP" and "Ed25519"`)
	}
	for name, v := range map[string]string{"x": k.X, "d": k.D} {
		if b, err := base64.RawURLEncoding.Strict().DecodeString(v); err != nil || len(b) != keySize {
			return Key{}, fmt.Errorf("its %q must be 32 bytes in base64url without padding", name)
		}
	}
	return Key{ID: Thumbprint(k.X), X: k.X, D: k.D}, nil
}

// Thumbprint returns the JWK thumbprint of a public key (RFC 7638, 3; RFC 8037, A.3). x is as in the JWK.
func Thumbprint(x string) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Published reports whether everybody has the private key, because it is an example of RFC 9421.
func (k Key) Published() bool { return k.ID == testKeyID }

// JWK returns the private key as JSON, without members beyond those that it needs.
func (k Key) JWK() string {
	return `{"kty":"OKP","crv":"Ed25519","x":"` + k.X + `","d":"` + k.D + `"}`
}

// Public returns the public key as an entry of the directory.
func (k Key) Public() string {
	return `{"kty":"OKP","crv":"Ed25519","kid":"` + k.ID + `","x":"` + k.X + `","use":"sig"}`
}
