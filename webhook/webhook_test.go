package webhook_test

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/webhook"
)

// The wanted signature was computed with openssl.
func TestSign(t *testing.T) {
	const want = "t=1769592000,v1=64c56e7c869f30eada302ec34fad911b908b426e0cbe0e4e0df3d3d3a2d81f30"
	if got := webhook.Sign("0123456789abcdef", time.Unix(1769592000, 999), []byte(`{"id":"1"}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
