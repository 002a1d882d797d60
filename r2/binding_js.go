//go:build js && wasm

package r2

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/newsfork/seed-engine/worker"
)

// The JavaScript half of this file, worker/helpers.mjs.
var (
	helpers     = js.Global().Get("context").Get("helpers")
	takeBuffer  = helpers.Get("takeBuffer")
	giveBuffer  = helpers.Get("giveBuffer")
	r2Head      = helpers.Get("r2Head")
	r2Get       = helpers.Get("r2Get")
	r2List      = helpers.Get("r2List")
	r2Put       = helpers.Get("r2Put")
	r2PutStream = helpers.Get("r2PutStream")
	r2Delete    = helpers.Get("r2Delete")
	r2Begin     = helpers.Get("r2Begin")
	r2Part      = helpers.Get("r2Part")
	r2Complete  = helpers.Get("r2Complete")
	r2Abort     = helpers.Get("r2Abort")
)

// Binding is a Bucket behind a binding of the Worker.
type Binding struct{ name string }

var _ Bucket = Binding{}

// NewBinding gives the bucket bound under name. The binding is looked up at every call, since each
// event brings its own; one that is not configured is a fault of the store.
func NewBinding(name string) Binding { return Binding{name} }

// call runs a helper on the bucket and awaits its promise.
func (b Binding) call(ctx context.Context, helper js.Value, args ...any) (js.Value, error) {
	if err := ctx.Err(); err != nil {
		return js.Undefined(), err
	}
	bucket := worker.Env(b.name)
	if bucket.IsUndefined() {
		return js.Undefined(), fmt.Errorf("there is no R2 binding %s", b.name)
	}
	return worker.Await(helper.Invoke(append([]any{bucket}, args...)...))
}

// Head implements Bucket.
func (b Binding) Head(ctx context.Context, key string) (*Object, error) {
	const op = "r2.Head"
	if err := checkKey(key); err != nil {
		return nil, fault(op, key, err)
	}
	v, err := b.call(ctx, r2Head, key)
	return described(op, key, v, err, ErrNotFound)
}

// Get implements Bucket.
func (b Binding) Get(ctx context.Context, key string) (*Body, error) {
	const op = "r2.Get"
	if err := checkKey(key); err != nil {
		return nil, fault(op, key, err)
	}
	v, err := b.call(ctx, r2Get, key)
	if err == nil && v.IsNull() {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fault(op, key, err)
	}
	object := readObject(&lines{rest: v.Index(0).String()})
	return &Body{object, bodyOf{worker.BodyReader(v.Index(1)), key}}, nil
}

// List implements Bucket.
func (b Binding) List(ctx context.Context, o ListOptions) (*Page, error) {
	const op = "r2.List"
	if err := checkList(o); err != nil {
		return nil, fault(op, o.Prefix, err)
	}
	v, err := b.call(ctx, r2List, listOptions(o))
	if err != nil {
		return nil, fault(op, o.Prefix, err)
	}
	l := &lines{rest: v.String()}
	page := &Page{Cursor: l.next()}
	page.Truncated = page.Cursor != ""
	page.Prefixes = make([]string, l.int())
	page.Objects = make([]Object, l.int())
	for i := range page.Prefixes {
		page.Prefixes[i] = l.next()
	}
	for i := range page.Objects {
		page.Objects[i] = readObject(l)
	}
	return page, nil
}

// Put implements Bucket.
func (b Binding) Put(ctx context.Context, key string, data []byte, o *PutOptions) (*Object, error) {
	const op = "r2.Put"
	if err := checkPut(key, o); err != nil {
		return nil, fault(op, key, err)
	}
	buffer := takeBuffer.Invoke(len(data))
	js.CopyBytesToJS(buffer, data)
	v, err := b.call(ctx, r2Put, key, buffer, len(data), putOptions(o))
	giveBuffer.Invoke(buffer)
	return described(op, key, v, err, ErrPrecondition)
}

// PutStream stores the body of a request or response that has a Content-Length, as one put. It never
// passes through Go. When the stream breaks off before that length, nothing is stored. A null
// stream is an empty body.
func (b Binding) PutStream(ctx context.Context, key string, stream js.Value, o *PutOptions) (*Object, error) {
	const op = "r2.PutStream"
	if err := checkPut(key, o); err != nil {
		return nil, fault(op, key, err)
	}
	v, err := b.call(ctx, r2PutStream, key, stream, putOptions(o))
	return described(op, key, v, err, ErrPrecondition)
}

// Delete implements Bucket.
func (b Binding) Delete(ctx context.Context, keys ...string) error {
	const op = "r2.Delete"
	if len(keys) == 0 {
		return nil
	}
	err := checkDelete(keys)
	if err == nil {
		list := make([]any, len(keys))
		for i, key := range keys {
			list[i] = key
		}
		_, err = b.call(ctx, r2Delete, list)
	}
	return fault(op, keys[0], err)
}

// Create implements Bucket.
func (b Binding) Create(ctx context.Context, key string, o *PutOptions) (Upload, error) {
	const op = "r2.Create"
	err := checkCreate(key, o)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fault(op, key, err)
	}
	return &upload{binding: b, ctx: ctx, key: key, options: putOptions(o)}, nil
}

// upload collects one part after the other in a buffer on the JavaScript side. Only when a second
// part begins does it become a multipart upload.
type upload struct {
	binding   Binding
	ctx       context.Context
	key       string
	options   string
	part      js.Value // a Uint8Array of size bytes, undefined while nothing was written
	size      int
	used      int
	multipart js.Value // of r2Begin, undefined before
	ended     bool
}

// Write copies p into the part. Every call crosses into JavaScript, so large pieces are best.
func (u *upload) Write(p []byte) (int, error) {
	const op = "r2.Upload.Write"
	if u.ended {
		return 0, fault(op, u.key, errUploadEnded)
	}
	written := 0
	for written < len(p) {
		if u.used == PartSize {
			if err := u.flush(); err != nil {
				return written, fault(op, u.key, err)
			}
		}
		n := min(len(p)-written, PartSize-u.used)
		u.reserve(u.used + n)
		n = js.CopyBytesToJS(u.part.Call("subarray", u.used), p[written:written+n])
		u.used += n
		written += n
	}
	return written, nil
}

// reserve makes the part's buffer hold n bytes, so that small objects cost no whole part.
func (u *upload) reserve(n int) {
	if n <= u.size {
		return
	}
	larger := takeBuffer.Invoke(n)
	if u.size > 0 {
		larger.Call("set", u.part.Call("subarray", 0, u.used))
		giveBuffer.Invoke(u.part)
	}
	u.part, u.size = larger, larger.Length()
}

// flush uploads the part.
func (u *upload) flush() error {
	if u.multipart.IsUndefined() {
		m, err := u.binding.call(u.ctx, r2Begin, u.key, u.options)
		if err != nil {
			return err
		}
		u.multipart = m
	}
	if err := u.ctx.Err(); err != nil {
		return err
	}
	_, err := worker.Await(r2Part.Invoke(u.multipart, u.part, u.used))
	if err == nil {
		u.used = 0
	}
	return err
}

func (u *upload) Commit() (*Object, error) {
	const op = "r2.Upload.Commit"
	if u.ended {
		return nil, fault(op, u.key, errUploadEnded)
	}
	defer u.release()
	if u.multipart.IsUndefined() {
		u.reserve(1)
		v, err := u.binding.call(u.ctx, r2Put, u.key, u.part, u.used, u.options)
		return described(op, u.key, v, err, ErrPrecondition)
	}
	err := u.flush()
	var v js.Value
	if err == nil {
		v, err = worker.Await(r2Complete.Invoke(u.multipart))
	}
	if err != nil {
		worker.Await(r2Abort.Invoke(u.multipart)) // the first error tells; parts left behind expire after a week
	}
	return described(op, u.key, v, err, ErrPrecondition)
}

func (u *upload) Abort() error {
	const op = "r2.Upload.Abort"
	if u.ended {
		return fault(op, u.key, errUploadEnded)
	}
	defer u.release()
	if u.multipart.IsUndefined() {
		return nil
	}
	_, err := worker.Await(r2Abort.Invoke(u.multipart))
	return fault(op, u.key, err)
}

func (u *upload) release() {
	u.ended = true
	if u.size > 0 {
		giveBuffer.Invoke(u.part)
		u.part, u.size = js.Undefined(), 0
	}
}

// bodyOf gives the faults of a stream their key and kind.
type bodyOf struct {
	io.ReadCloser
	key string
}

func (b bodyOf) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fault("r2.Get", b.key, err)
	}
	return n, err
}

// described reads the object that a helper described, or gives isNull for null.
func described(op, key string, v js.Value, err, isNull error) (*Object, error) {
	if err == nil && v.IsNull() {
		err = isNull
	}
	if err != nil {
		return nil, fault(op, key, err)
	}
	object := readObject(&lines{rest: v.String()})
	return &object, nil
}

func readObject(l *lines) Object {
	o := Object{Key: l.next(), Size: int64(l.int()), ETag: l.next(), Uploaded: time.UnixMilli(int64(l.int())).UTC()}
	if n := l.int(); n > 0 {
		o.Metadata = make(map[string]string, n)
		for range n {
			name := l.next()
			o.Metadata[name] = l.next()
		}
	}
	return o
}

// lines reads what a helper joined: a field a line, with line feeds and backslashes escaped.
type lines struct{ rest string }

var unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n")

func (l *lines) next() (field string) {
	field, l.rest, _ = strings.Cut(l.rest, "\n")
	if strings.IndexByte(field, '\\') >= 0 {
		field = unescape.Replace(field)
	}
	return field
}

// int reads a number that the helper wrote. On wasm an int has 64 bits.
func (l *lines) int() int {
	field := l.next()
	n, err := strconv.Atoi(field)
	if err != nil {
		panic("r2: the helper gave " + strconv.Quote(field) + " for a number")
	}
	return n
}

// putOptions is the JSON of R2PutOptions (developers.cloudflare.com/r2/api/workers/workers-api-reference/),
// which createMultipartUpload understands too.
func putOptions(o *PutOptions) string {
	if o == nil {
		return "{}"
	}
	type headers struct {
		ContentType string `json:"contentType"`
	}
	type conditions struct {
		ETagMatches      string `json:"etagMatches,omitempty"`
		ETagDoesNotMatch string `json:"etagDoesNotMatch,omitempty"`
	}
	var options struct {
		OnlyIf         *conditions       `json:"onlyIf,omitempty"`
		HTTPMetadata   *headers          `json:"httpMetadata,omitempty"`
		CustomMetadata map[string]string `json:"customMetadata,omitempty"`
	}
	if o.If.Absent {
		options.OnlyIf = &conditions{ETagDoesNotMatch: "*"}
	} else if o.If.ETag != "" {
		options.OnlyIf = &conditions{ETagMatches: o.If.ETag}
	}
	if o.ContentType != "" {
		options.HTTPMetadata = &headers{o.ContentType}
	}
	options.CustomMetadata = o.Metadata
	return marshal(options)
}

// listOptions is the JSON of R2ListOptions.
func listOptions(o ListOptions) string {
	options := struct {
		Prefix     string   `json:"prefix,omitempty"`
		Delimiter  string   `json:"delimiter,omitempty"`
		Cursor     string   `json:"cursor,omitempty"`
		StartAfter string   `json:"startAfter,omitempty"`
		Limit      int      `json:"limit,omitempty"`
		Include    []string `json:"include,omitempty"`
	}{o.Prefix, o.Delimiter, o.Cursor, o.StartAfter, o.Limit, nil}
	if o.Metadata {
		options.Include = []string{"customMetadata"}
	}
	return marshal(options)
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(b)
}
