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

// Consumer acknowledges or retries each message of a batch. Messages left unsettled are redelivered.
// If it returns an error, unsettled messages are sent again as new ones, which costs no attempt.
type Consumer func(ctx context.Context, batch *queues.MessageBatch) error

// Task handles a cron event. An error marks the run as failed in the platform's list.
type Task func(ctx context.Context, event *cron.Event) error

// Run serves events with this program and does not return. consumer and task may be nil.
//
// A panic in h, consumer or task is logged and counted, and fails only its event. Goroutines that
// they start must recover from panics themselves and end before the event: the pool drops an
// instance with goroutines left. The context of an HTTP request ends with the request or when the
// client disconnects.
//
// For the paths in constant, h answers only the first GET request of an isolate. If the status is
// 200, later requests get the same response with their own request id.
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
		// The library panics if a task returns an error, so the error goes to the pool instead.
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

// goroutines returns the number of goroutines.
//
//go:wasmexport worker_goroutines
func goroutines() int32 { return int32(runtime.NumGoroutine()) }

// cancelEvent cancels the context of the event that holds this instance.
var cancelEvent context.CancelFunc = func() {}

//go:wasmexport worker_cancel
func cancel() { cancelEvent() }

func beginEvent() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancelEvent = cancel
	return ctx, cancel
}

// ExtendDeadline moves the deadline of the current event to d from now. By default requests have a
// minute, counted from the last byte of an upload (RawBody); batches and cron events have 13 minutes.
func ExtendDeadline(d time.Duration) { host.Call("extend", d.Milliseconds()) }

// Reserve takes bytes of memory out of the pool until the current event ends, beyond what each event has. It returns
// false if the other events leave too little.
func Reserve(bytes int64) bool { return host.Call("reserve", bytes).Bool() }

// Stats are the counters and the state of the instance pool of this isolate.
type Stats struct {
	Created   int            `json:"created"`   // instances started
	Reused    int            `json:"reused"`    // events that got an idle instance at once
	Waited    int            `json:"waited"`    // events that waited for an instance
	Refused   map[string]int `json:"refused"`   // events refused after waiting, and large bodies, by reason
	Dropped   map[string]int `json:"dropped"`   // instances dropped, by reason
	Recovered map[string]int `json:"recovered"` // panics recovered in handler, consumer and cron
	Live      int            `json:"live"`      // instances held by an event
	Idle      int            `json:"idle"`      // instances free for an event
	Waiting   int            `json:"waiting"`   // events waiting for an instance
	Reserved  int            `json:"reserved"`  // memory that events have or may come to need, bytes
	Memory    []int          `json:"memory"`    // linear memory of each instance, bytes
	Largest   int            `json:"largest"`   // largest linear memory of an instance after an event, bytes
	Peak      int            `json:"peak"`      // largest linear memory of all instances after an event, bytes
	Timed     int            `json:"timed"`     // pieces of work of which AddTimes was told

	Seconds map[string]float64 `json:"seconds"` // that they took, by stage
}

// PoolStats returns the statistics of this isolate's pool. The platform runs many isolates.
func PoolStats() (Stats, error) {
	var s Stats
	err := json.Unmarshal([]byte(host.Call("stats").String()), &s)
	return s, err
}

// AddTimes adds the times of a piece of work, by stage, to the statistics of this isolate's pool.
func AddTimes(stages map[string]time.Duration) {
	seconds := make(map[string]any, len(stages))
	for stage, spent := range stages {
		seconds[stage] = spent.Seconds()
	}
	text, err := json.Marshal(seconds)
	if err != nil {
		panic(err) // plain data
	}
	host.Call("timed", string(text))
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
