//go:build js && wasm

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"syscall/js"
	"time"

	"github.com/syumai/workers"
	"github.com/syumai/workers/cloudflare/cron"
	"github.com/syumai/workers/cloudflare/queues"

	"github.com/newsfork/seed-engine/contract"
)

// Consumer works on a batch of queue messages and acknowledges or retries each of them. Messages
// that it leaves unsettled are delivered again. With an error it refuses the batch: what is unsettled
// is sent again as new messages, which costs no attempt.
type Consumer func(ctx context.Context, batch *queues.MessageBatch) error

// Task is what a cron event starts. An error marks the run as failed in the platform's list.
type Task func(ctx context.Context, event *cron.Event) error

// Run serves events with this program and does not return. A Worker without queues or without
// crons gives nil for them. A panic in any of the three is logged and counted, and fails only its
// event; goroutines that they start must recover for themselves, and must be over when the event
// is: an instance with goroutines left is not used again. The context of an HTTP request ends with
// the request, and when the client goes away.
//
// GET requests for the paths in constant are answered as h answered the first of them in this isolate, provided the
// status was 200; only the request id differs. The program does not see the others.
func Run(h http.Handler, consumer Consumer, task Task, constant ...string) {
	for _, path := range constant {
		constants[path] = true
	}
	go serve(h)
	if consumer != nil {
		queues.ConsumeNonBlock(func(batch *queues.MessageBatch) error {
			ctx, end := beginEvent()
			defer end()
			defer func() {
				if thrown := recover(); thrown != nil {
					recovered("consumer", "consumer_failed", thrown, "")
				}
			}()
			if err := consumer(ctx, batch); err != nil {
				host.Call("refuse", err.Error())
			}
			return nil
		})
	}
	if task != nil {
		// The library panics when a task returns an error, so the failure goes to the pool instead.
		cron.ScheduleTaskNonBlock(func(ctx context.Context) error {
			if err := runTask(ctx, task); err != nil {
				host.Call("fail", err.Error())
			}
			return nil
		})
	}
	workers.Ready()
	select {}
}

func runTask(trigger context.Context, task Task) (err error) {
	ctx, end := beginEvent()
	defer end()
	defer func() {
		if thrown := recover(); thrown != nil {
			recovered("cron", "cron_failed", thrown, "")
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	event, err := cron.NewEvent(trigger)
	if err == nil {
		err = task(ctx, event)
	}
	if err != nil {
		logFailure("cron_failed", err, nil, "")
	}
	return err
}

// goroutines returns how many there are.
//
//go:wasmexport worker_goroutines
func goroutines() int32 { return int32(runtime.NumGoroutine()) }

// cancelEvent ends the context of the event that holds this instance.
var cancelEvent context.CancelFunc = func() {}

//go:wasmexport worker_cancel
func cancel() { cancelEvent() }

func beginEvent() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancelEvent = cancel
	return ctx, cancel
}

// ExtendDeadline gives the current event d from now before the pool gives it up. Requests have a
// minute otherwise, from the last byte of an upload (RawBody), batches and cron events 13.
func ExtendDeadline(d time.Duration) { host.Call("extend", d.Milliseconds()) }

// Stats is what the instance pool of this isolate did since it started, and what it holds.
type Stats struct {
	Created   int            `json:"created"`   // instances started
	Reused    int            `json:"reused"`    // events that found an idle instance
	Waited    int            `json:"waited"`    // events that had to wait for one
	Refused   int            `json:"refused"`   // events that waited in vain
	Dropped   map[string]int `json:"dropped"`   // instances not used again, by reason
	Recovered map[string]int `json:"recovered"` // panics recovered in handler, consumer and cron
	Live      int            `json:"live"`      // instances that an event holds now
	Idle      int            `json:"idle"`      // instances that wait for an event
	Waiting   int            `json:"waiting"`   // events that wait for an instance
	Memory    []int          `json:"memory"`    // linear memory of each instance, bytes
	Largest   int            `json:"largest"`   // linear memory that any instance had after an event, bytes
}

// PoolStats returns the statistics of the pool. There is one pool an isolate, and the platform runs
// many isolates.
func PoolStats() (Stats, error) {
	var s Stats
	err := json.Unmarshal([]byte(host.Call("stats").String()), &s)
	return s, err
}

// recovered logs and counts a panic.
func recovered(where, event string, thrown any, requestID string) {
	host.Call("recovered", where)
	logFailure(event, thrown, debug.Stack(), requestID)
}

func logFailure(event string, cause any, stack []byte, requestID string) {
	kind := contract.Internal
	if err, ok := cause.(error); ok {
		kind = contract.KindOf(err)
	}
	line, _ := json.Marshal(struct {
		Event     string        `json:"event"`
		Level     string        `json:"level"`
		TS        string        `json:"ts"`
		ErrorType contract.Kind `json:"error_type"`
		Message   string        `json:"message"`
		Stack     string        `json:"stack,omitempty"`
		RequestID string        `json:"request_id,omitempty"`
	}{event, "error", time.Now().UTC().Format(time.RFC3339Nano), kind, fmt.Sprint(cause), string(stack), requestID})
	js.Global().Get("console").Call("error", string(line))
}
