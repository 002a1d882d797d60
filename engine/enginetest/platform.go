package enginetest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
)

// errDead is the error of all calls that an event makes after its death. They have no effect.
var errDead = errors.New("the event is dead")

// life is the state of the event that an instance serves.
type life struct {
	world *World

	mu   sync.Mutex
	dead bool
	stop context.CancelFunc

	connections chan struct{} // has one element for each open connection
}

func (l *life) begin(stop context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop, l.connections = stop, make(chan struct{}, fetch.MaxConnections)
}

// connect waits for one of the event's six connections if the world is slow.
func (l *life) connect() (release func()) {
	if l.world.Slow == nil {
		return func() {}
	}
	connections := l.connections
	connections <- struct{}{}
	return func() { <-connections }
}

// wait sleeps for the duration of an operation. Calls of Durable Objects need no connection, and requests have their
// own.
func (l *life) wait(operation string) {
	slow := l.world.Slow
	if slow == nil {
		return
	}
	if operation != "object.call" && operation != "fetch" {
		defer l.connect()()
	}
	time.Sleep(slow(operation))
}

func (l *life) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// call waits for the duration of operation and counts it. It fails if the event is dead or dies with this call.
func (l *life) call(operation string) error {
	l.wait(operation)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errDead
	}
	w := l.world
	w.mu.Lock()
	w.calls++
	l.dead = w.Kill != nil && w.Kill(w.calls)
	w.mu.Unlock()
	if l.dead {
		l.stop()
		return errDead
	}
	return nil
}

type bucket struct {
	*r2.Memory
	life *life
}

func (b bucket) Head(ctx context.Context, key string) (*r2.Object, error) {
	if err := b.life.call("R2.head"); err != nil {
		return nil, r2.Fault("r2.Head", key, err)
	}
	return b.Memory.Head(ctx, key)
}

func (b bucket) Get(ctx context.Context, key string) (*r2.Body, error) {
	if err := b.life.call("R2.get"); err != nil {
		return nil, r2.Fault("r2.Get", key, err)
	}
	return b.Memory.Get(ctx, key)
}

func (b bucket) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	if err := b.life.call("R2.list"); err != nil {
		return nil, r2.Fault("r2.List", o.Prefix, err)
	}
	return b.Memory.List(ctx, o)
}

func (b bucket) Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	if err := b.life.call("R2.put"); err != nil {
		return nil, r2.Fault("r2.Put", key, err)
	}
	return b.Memory.Put(ctx, key, data, o)
}

func (b bucket) Delete(ctx context.Context, keys ...string) error {
	if err := b.life.call("R2.delete"); err != nil {
		return r2.Fault("r2.Delete", keys[0], err)
	}
	return b.Memory.Delete(ctx, keys...)
}

func (b bucket) Create(ctx context.Context, key string, o *r2.PutOptions) (r2.Upload, error) {
	u, err := b.Memory.Create(ctx, key, o)
	return upload{u, b.life}, err
}

// upload counts only what becomes visible.
type upload struct {
	r2.Upload
	life *life
}

func (u upload) Commit() (*r2.Object, error) {
	if err := u.life.call("R2.put"); err != nil {
		u.Abort()
		return nil, r2.Fault("r2.Upload.Commit", "", err)
	}
	return u.Upload.Commit()
}

// Store implements engine.Bucket.
func (b bucket) Store(ctx context.Context, key string, r *http.Request, c r2.Condition) (*r2.Object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return b.Put(ctx, key, body, &r2.PutOptions{If: c, ContentType: "application/json"})
}

// MD5 implements engine.Bucket.
func (b bucket) MD5(_ context.Context, r *http.Request) (string, error) {
	sum := md5.New()
	_, err := io.Copy(sum, r.Body)
	return hex.EncodeToString(sum.Sum(nil)), err
}

type producer struct {
	queues.Producer
	life *life
}

func (p producer) Send(ctx context.Context, b *contract.Batch) error {
	if b.Len() > 0 {
		if err := p.life.call("queue.send"); err != nil {
			return queues.SendFault("queues.Send", err)
		}
	}
	return p.Producer.Send(ctx, b)
}

func (p producer) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := p.life.call("queue.send"); err != nil {
		return queues.SendFault("queues.SendOne", err)
	}
	return p.Producer.SendOne(ctx, body, delay)
}

type database struct {
	*sqlite.DB
	life *life
}

func (d database) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	if err := d.life.call("D1.batch"); err != nil {
		return nil, err
	}
	return d.DB.Batch(ctx, statements)
}

type transport struct {
	*fetchtest.Web
	life *life
}

func (t transport) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	defer t.life.connect()()
	if err := t.life.call("fetch"); err != nil {
		return nil, fetch.Failure(nil, err)
	}
	return t.Web.Do(ctx, r)
}

// Hooks is the receiver of webhooks.
type Hooks struct {
	Refuse int // number of posts still to be refused
	// Answer, if set, decides instead of Refuse: it returns the error of a post, or nil to accept it.
	Answer func(p Post) error

	mu    sync.Mutex
	posts []Post
}

// Post is one request to a webhook.
type Post struct {
	URL    string
	ID     string
	Header http.Header
	Body   []byte
	Taken  bool
	Change contract.AlarmChange // of an alarm
}

// Posts returns all posts so far.
func (h *Hooks) Posts() []Post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Post(nil), h.posts...)
}

// poster is the webhook client of an instance.
type poster struct {
	*Hooks
	life *life
}

// Post implements alarms.Webhook.
func (p poster) Post(_ context.Context, url string, header http.Header, body []byte, _ time.Duration) error {
	if err := p.life.call("webhook.post"); err != nil {
		return contract.Wrap(contract.Network, "webhook.Post", err)
	}
	return p.take(Post{URL: url, ID: header.Get("Idempotency-Key"), Header: header, Body: body})
}

func (h *Hooks) take(p Post) (err error) {
	if err := json.Unmarshal(p.Body, &p.Change); err != nil {
		return err
	}
	h.mu.Lock()
	answer := h.Answer
	h.mu.Unlock()
	if answer != nil {
		err = answer(p) // can block
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if answer == nil && h.Refuse > 0 {
		h.Refuse--
		err = &contract.Error{Kind: contract.Network, Op: "webhook.Post", Message: "the webhook answered 503"}
	}
	p.Taken = err == nil
	h.posts = append(h.posts, p)
	return err
}

// model serves the classifier's model as a static file.
type model struct{ life *life }

func (m model) load(ctx context.Context) (*classify.Model, error) {
	if err := m.life.call("asset.get"); err != nil {
		return nil, err
	}
	return embedded.Load(ctx)
}
