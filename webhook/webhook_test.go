package webhook_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/webhook"
)

// The wanted signature was computed with openssl.
func TestSign(t *testing.T) {
	const want = "t=1769592000,v1=64c56e7c869f30eada302ec34fad911b908b426e0cbe0e4e0df3d3d3a2d81f30"
	if got := contract.SignWebhook("0123456789abcdef", time.Unix(1769592000, 999), []byte(`{"id":"1"}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCheckStatus(t *testing.T) {
	for _, status := range []int{200, 204, 299} {
		if err := webhook.CheckStatus(status); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
	for _, status := range []int{199, 300, 302, 400, 401, 413, 503} {
		err := webhook.CheckStatus(status)
		var answer *webhook.StatusError
		if !errors.As(err, &answer) || answer.Status != status {
			t.Errorf("%d: %v", status, err)
		}
		if got, want := contract.MessageOf(err), fmt.Sprintf("the webhook answered %d", status); got != want ||
			contract.KindOf(err) != contract.Network {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}
