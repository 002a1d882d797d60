//go:build js && wasm

package bindings

import (
	"context"
	"errors"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/worker"
)

// Sign is a botauth.Sign by the platform's WebCrypto, which is faster than Go's and adds nothing to the module.
func Sign(_ context.Context, key botauth.Key, text string) ([]byte, error) {
	signature, ok, err := worker.AskBytes("sign", []byte(text), key.JWK())
	if err == nil && !ok {
		err = errors.New("there is no signature")
	}
	return signature, err
}
