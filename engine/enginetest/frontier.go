package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	rules "github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

// Shards is the frontier, with a database for each shard that was called. The engine itself serves the calls, one at a
// time for each shard, as on the platform. World counts them among its calls to the platform.
type Shards struct {
	// Fail, if set, runs before every call. If it returns an error, the call has no effect and fails with that error.
	Fail func(shard, operation string) error
	// Lose, if set, reports whether the response of a completed call is lost, so that its caller times out.
	Lose func(shard, operation string) bool

	world  *World
	mu     sync.Mutex
	shards map[string]*shard
	frozen map[string]bool
}

// shard is a Durable Object.
type shard struct {
	name string
	mu   sync.Mutex
	db   *sqlite.DB
}

// Freeze makes all calls of a shard time out until Thaw.
func (s *Shards) Freeze(name string) { s.set(name, true) }

// Thaw ends the freeze of a shard.
func (s *Shards) Thaw(name string) { s.set(name, false) }

func (s *Shards) set(name string, frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil {
		s.frozen = map[string]bool{}
	}
	s.frozen[name] = frozen
}

// Wipe deletes a shard's database.
func (s *Shards) Wipe(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.shards[name]; o != nil {
		o.db.Close()
		delete(s.shards, name)
	}
}

// Names lists the shards that were called.
func (s *Shards) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.shards))
}

// Remotes returns a client of all shards for tests. Its calls are not counted.
func (s *Shards) Remotes() client.Frontier {
	set, err := settings.Read(s.world.variable)
	if err != nil {
		s.world.t.Fatal(err)
	}
	return client.Frontier{Caller: s, Shards: set.FrontierShards}
}

// Written returns the number of rows that the shards wrote, as the platform charges them.
func (s *Shards) Written() (rows int) {
	for _, name := range s.Names() {
		rows += s.shard(name).written()
	}
	return rows
}

// Call implements client.Caller.
func (s *Shards) Call(ctx context.Context, name, operation string, request []byte) ([]byte, error) {
	s.mu.Lock()
	frozen := s.frozen[name]
	s.mu.Unlock()
	if frozen {
		return nil, s.inVain(ctx)
	}
	if s.Fail != nil {
		if err := s.Fail(name, operation); err != nil {
			return nil, err
		}
	}
	answer, err := s.shard(name).call(s.world, operation, request)
	if err == nil && s.Lose != nil && s.Lose(name, operation) {
		return nil, s.inVain(ctx)
	}
	return answer, err
}

// inVain waits until a caller's timeout, and returns its error.
func (s *Shards) inVain(ctx context.Context) error {
	select {
	case <-time.After(client.CallTimeout):
		return &contract.Error{Kind: contract.Timeout, Op: "frontier.Call", Message: "no answer"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Shards) shard(name string) *shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shards == nil {
		s.shards = map[string]*shard{}
	}
	o := s.shards[name]
	if o == nil {
		db, err := sqlite.Open()
		if err != nil {
			panic(err)
		}
		o = &shard{name: name, db: db}
		s.shards[name] = o
	}
	return o
}

func (s *Shards) close() {
	for _, o := range s.shards {
		o.db.Close()
	}
}

// errRefused rolls back a call whose response is an error.
var errRefused = errors.New("refused")

// call runs an operation as worker/frontier.mjs does.
func (o *shard) call(w *World, operation string, request []byte) (answer []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := w.lend()
	defer w.giveBack(i)
	err = o.db.Transaction(func() error {
		a := i.CallShard(o.db, o.name, epoch.Now(), operation, request)
		if answer = a.Text; !a.OK {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return answer, err
}

func (o *shard) written() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.db.Written
}

// Alarm runs the alarm of a shard, as worker/frontier.mjs does, and returns the time of the next one. The event may
// die with any of its calls to the platform.
func (w *World) Alarm(name string) (next time.Time, err error) {
	w.t.Helper()
	o := w.Frontier.shard(name)
	died := w.event(w.t.Context(), func(ctx context.Context, i *instance) {
		var paused bool
		if paused, err = isPaused(ctx, bucket{w.Bucket, &i.life}); err != nil {
			return
		}
		var tick rules.Tick
		request := rules.TickRequest{Shard: name, Paused: paused}
		if oldest := w.Broker.Backlog(Domains).Oldest; oldest != nil {
			request.Oldest = epoch.MillisOf(oldest.Time)
		}
		if tick, err = ask[rules.Tick](o, w, "tick", request); err != nil {
			return
		}
		next = tick.AlarmAt.Time()
		err = send(ctx, producer{w.Broker.Producer(Domains), &i.life}, tick.Messages)
		if err == nil && tick.Snapshot != nil {
			var complete bool
			complete, err = o.store(ctx, w, bucket{w.Bucket, &i.life}, tick.Snapshot)
			if again := tick.Snapshot.Again.Time(); !complete && again.Before(next) {
				next = again
			}
		}
	})
	if died {
		err = errDead
	}
	return next, err
}

func isPaused(ctx context.Context, b bucket) (bool, error) {
	body, err := b.Get(ctx, contract.ControlsKey)
	if errors.Is(err, r2.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer body.Close()
	var c contract.Controls
	err = json.NewDecoder(body).Decode(&c)
	return c.Pipeline.Paused, err
}

func send(ctx context.Context, to queues.Producer, messages []json.RawMessage) error {
	var batch contract.Batch
	for _, m := range messages {
		if batch.Add(m) {
			continue
		}
		if err := to.Send(ctx, &batch); err != nil {
			return err
		}
		if batch.Reset(); !batch.Add(m) {
			return errors.New("a message is too large")
		}
	}
	return to.Send(ctx, &batch)
}

// store stores the next pages of a snapshot, at most World.SnapshotPages, and reports whether it is complete.
func (o *shard) store(ctx context.Context, w *World, b bucket, order *rules.SnapshotOrder) (complete bool, err error) {
	stored := frontier.StoredRequest{Date: order.Date, Taken: order.Taken, Page: order.Page - 1, Next: order.From}
	for n := 0; n == 0 || stored.Next > 0 && n != w.SnapshotPages; n++ {
		page, err := ask[frontier.Snapshot](o, w, "export",
			frontier.ExportRequest{From: stored.Next, Taken: order.Taken})
		if err != nil {
			return false, err
		}
		stored.Page++
		if _, err := b.Put(ctx, fmt.Sprintf("%s%04d.json", order.Prefix, stored.Page), contract.Encode(page),
			nil); err != nil {
			return false, err
		}
		stored.Next = page.Next
	}
	if _, err := ask[struct{}](o, w, "stored", stored); err != nil || stored.Next > 0 {
		return false, err
	}
	for prefix, end := range map[string]string{order.Dir: order.Keep, order.Replaced: order.Prefix} {
		for _, key := range w.Keys(prefix, "") {
			if key < end {
				if err := b.Delete(ctx, key); err != nil {
					return true, err
				}
			}
		}
	}
	return true, nil
}

// ask runs an internal operation of a shard.
func ask[A any](o *shard, w *World, operation string, request any) (answer A, err error) {
	text, err := o.call(w, operation, contract.Encode(request))
	if err != nil {
		return answer, err
	}
	var e struct {
		Answer A
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return answer, err
	}
	if e.Error != nil {
		return answer, errors.New(e.Error.Message)
	}
	return e.Answer, nil
}

// caller is the frontier as an instance sees it.
type caller struct {
	*Shards
	life *life
}

// Call implements client.Caller.
func (c caller) Call(ctx context.Context, shard, operation string, request []byte) ([]byte, error) {
	if err := c.life.call("object.call"); err != nil {
		return nil, contract.Wrap(contract.Storage, "frontier.Call", err)
	}
	return c.Shards.Call(ctx, shard, operation, request)
}
