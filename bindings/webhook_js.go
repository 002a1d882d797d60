//go:build js && wasm

package bindings

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/webhook"
	"github.com/newsfork/seed-engine/worker"
)

// Webhook posts to the webhooks of alarms and feed, through the service binding EGRESS if it is
// bound, else by the global fetch.
type Webhook struct{ UserAgent string }

var _ alarms.Webhook = Webhook{}

// Post implements alarms.Webhook.
func (w Webhook) Post(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) error {
	const op = "bindings.Webhook"
	header = header.Clone()
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", w.UserAgent)
	answer, err := worker.Fetch(ctx, &worker.Request{
		Method:  http.MethodPost,
		URL:     url,
		Header:  header,
		Body:    body,
		Timeout: timeout,
	})
	if err != nil {
		name := worker.ErrorName(err)
		kind, message := contract.Network, "no connection: its address does not resolve, or it refuses or drops them"
		if name == "TimeoutError" || name == "AbortError" {
			kind, message = contract.Timeout, fmt.Sprintf("the webhook did not answer within %s", timeout)
		}
		return &contract.Error{Kind: kind, Op: op, Message: message, Err: err}
	}
	answer.Body.Close() // unread: only the status matters, and the connection becomes free
	return webhook.CheckStatus(answer.Status)
}
