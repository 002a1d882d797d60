//go:build !js

package botauth

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
)

// Native is the Sign of programs that are not Workers.
func Native(_ context.Context, k Key, text string) ([]byte, error) {
	seed, err := base64.RawURLEncoding.DecodeString(k.D)
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	if base64.RawURLEncoding.EncodeToString(private.Public().(ed25519.PublicKey)) != k.X {
		return nil, errors.New(`the key's "x" is not the public key of its "d"`)
	}
	return ed25519.Sign(private, []byte(text)), nil
}

// NewKey returns a new key.
func NewKey() (Key, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Key{}, err
	}
	x := base64.RawURLEncoding.EncodeToString(public)
	return Key{ID: Thumbprint(x), X: x, D: base64.RawURLEncoding.EncodeToString(private.Seed())}, nil
}
