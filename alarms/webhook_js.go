//go:build js && wasm

package alarms

import (
	"context"
	"fmt"
	"syscall/js"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/worker"
)

var globalFetch = js.Global().Get("fetch")

// Platform is the Webhook of a Worker: it posts through the service binding EGRESS where there is
// one, else by the global fetch.
type Platform struct{ UserAgent string }

// Post implements Webhook.
func (p Platform) Post(ctx context.Context, url, id string, body []byte, timeout time.Duration) error {
	const op = "alarms.Webhook"
	signal, stop := worker.Signal(ctx, timeout)
	defer stop()
	options := map[string]any{
		"method":   "POST",
		"headers":  map[string]any{"content-type": "application/json", "user-agent": p.UserAgent, "idempotency-key": id},
		"body":     string(body),
		"redirect": "manual",
		"signal":   signal,
	}
	promise, err := worker.Try(func() js.Value {
		if egress := worker.Env("EGRESS"); !egress.IsUndefined() {
			return egress.Call("fetch", url, options)
		}
		return globalFetch.Invoke(url, options)
	})
	var answer js.Value
	if err == nil {
		answer, err = worker.Await(promise)
	}
	if err != nil {
		kind := contract.Network
		if name := worker.ErrorName(err); name == "TimeoutError" || name == "AbortError" {
			kind = contract.Timeout
		}
		return &contract.Error{Kind: kind, Op: op, Message: "the webhook did not answer", Err: err}
	}
	if body := answer.Get("body"); !body.IsNull() {
		worker.Call(body, "cancel") // what it says is of no use, and would keep the connection
	}
	if status := answer.Get("status").Int(); status < 200 || status > 299 {
		return &contract.Error{Kind: contract.Network, Op: op, Message: fmt.Sprintf("the webhook answered %d", status)}
	}
	return nil
}
