//go:build js && wasm

package bindings

import (
	"context"
	"io"
	"strconv"
	"syscall/js"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/worker"
)

// Bucket is an r2.Bucket bound to the Worker.
type Bucket struct{ name string }

var _ r2.Bucket = Bucket{}

// NewBucket returns the bucket bound under name. Every call looks the binding up, because each event
// has its own. Calls fail with contract.Storage if there is no such binding.
func NewBucket(name string) Bucket { return Bucket{name} }

// ask calls a helper of worker/helpers.mjs; ok is false if the helper returns nothing.
func (b Bucket) ask(ctx context.Context, helper string, data []byte, args ...string) (answer string, ok bool,
	err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	return worker.Ask(helper, data, append([]string{b.name}, args...)...)
}

// Head implements r2.Bucket.
func (b Bucket) Head(ctx context.Context, key string) (*r2.Object, error) {
	const op = "r2.Head"
	if err := r2.CheckKey(key); err != nil {
		return nil, r2.Fault(op, key, err)
	}
	answer, ok, err := b.ask(ctx, "r2Head", nil, key)
	return parseObject(op, key, answer, ok, err, r2.ErrNotFound)
}

// Get implements r2.Bucket.
func (b Bucket) Get(ctx context.Context, key string) (*r2.Body, error) {
	const op = "r2.Get"
	if err := r2.CheckKey(key); err != nil {
		return nil, r2.Fault(op, key, err)
	}
	answer, ok, err := b.ask(ctx, "r2Get", nil, key)
	if err == nil && !ok {
		err = r2.ErrNotFound
	}
	if err != nil {
		return nil, r2.Fault(op, key, err)
	}
	fields := &worker.Fields{Rest: answer}
	body := worker.ParseHandle(fields.Next())
	return &r2.Body{Object: readObject(fields), ReadCloser: objectBody{body.Reader(), key}}, nil
}

// List implements r2.Bucket.
func (b Bucket) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	const op = "r2.List"
	if err := r2.CheckList(o); err != nil {
		return nil, r2.Fault(op, o.Prefix, err)
	}
	answer, _, err := b.ask(ctx, "r2List", nil, listOptions(o))
	if err != nil {
		return nil, r2.Fault(op, o.Prefix, err)
	}
	l := &worker.Fields{Rest: answer}
	page := &r2.Page{Cursor: l.Next()}
	page.Truncated = page.Cursor != ""
	page.Prefixes = make([]string, number(l))
	page.Objects = make([]r2.Object, number(l))
	for i := range page.Prefixes {
		page.Prefixes[i] = l.Next()
	}
	for i := range page.Objects {
		page.Objects[i] = readObject(l)
	}
	return page, nil
}

// Put implements r2.Bucket.
func (b Bucket) Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	const op = "r2.Put"
	if err := r2.CheckPut(key, o); err != nil {
		return nil, r2.Fault(op, key, err)
	}
	answer, ok, err := b.ask(ctx, "r2Put", data, key, putOptions(o))
	return parseObject(op, key, answer, ok, err, r2.ErrPrecondition)
}

// PutStream stores the body of a request or response with a Content-Length in one put, without
// passing it through Go. If the stream ends before that length, nothing is stored. A null stream is
// an empty body.
func (b Bucket) PutStream(ctx context.Context, key string, stream js.Value, o *r2.PutOptions) (*r2.Object, error) {
	const op = "r2.PutStream"
	if err := r2.CheckPut(key, o); err != nil {
		return nil, r2.Fault(op, key, err)
	}
	answer, ok, err := b.ask(ctx, "r2PutStream", nil, key, worker.Keep(stream).String(), putOptions(o))
	return parseObject(op, key, answer, ok, err, r2.ErrPrecondition)
}

// Delete implements r2.Bucket.
func (b Bucket) Delete(ctx context.Context, keys ...string) error {
	const op = "r2.Delete"
	if len(keys) == 0 {
		return nil
	}
	err := r2.CheckDelete(keys)
	if err == nil {
		_, _, err = b.ask(ctx, "r2Delete", nil, keys...)
	}
	return r2.Fault(op, keys[0], err)
}

// Create implements r2.Bucket.
func (b Bucket) Create(ctx context.Context, key string, o *r2.PutOptions) (r2.Upload, error) {
	const op = "r2.Create"
	err := r2.CheckCreate(key, o)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, r2.Fault(op, key, err)
	}
	return &upload{bucket: b, ctx: ctx, key: key, options: putOptions(o)}, nil
}

// smallUpload is the number of bytes of an upload that Go buffers. Most objects are no larger, so
// one put stores them.
const smallUpload = 64 << 10

// upload collects one part after another. It becomes a multipart upload when the second part begins.
type upload struct {
	bucket  Bucket
	ctx     context.Context
	key     string
	options string
	small   []byte        // content up to smallUpload
	handle  worker.Handle // upload on the JavaScript side, 0 until begin
	used    int           // bytes of the current part
	ended   bool
}

// Write copies p into the current part. Every call crosses into JavaScript, so write large pieces.
func (u *upload) Write(p []byte) (int, error) {
	const op = "r2.Upload.Write"
	if u.ended {
		return 0, r2.Fault(op, u.key, r2.ErrUploadEnded)
	}
	if u.handle == 0 {
		if len(u.small)+len(p) <= smallUpload {
			u.small = append(u.small, p...)
			return len(p), nil
		}
		if err := u.begin(); err != nil {
			return 0, r2.Fault(op, u.key, err)
		}
	}
	written := 0
	for written < len(p) {
		if u.used == r2.PartSize {
			if err := u.flush(); err != nil {
				return written, r2.Fault(op, u.key, err)
			}
		}
		n := min(len(p)-written, r2.PartSize-u.used)
		u.handle.Write(p[written : written+n])
		u.used += n
		written += n
	}
	return written, nil
}

// begin moves the buffered content to the JavaScript side.
func (u *upload) begin() error {
	answer, _, err := u.bucket.ask(u.ctx, "r2Begin", nil, u.key, u.options, strconv.Itoa(r2.PartSize))
	if err != nil {
		return err
	}
	u.handle = worker.ParseHandle(answer)
	u.handle.Write(u.small)
	u.used, u.small = len(u.small), nil
	return nil
}

// flush uploads the current part.
func (u *upload) flush() error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	_, _, err := worker.Ask("r2Part", nil, u.handle.String())
	if err == nil {
		u.used = 0
	}
	return err
}

func (u *upload) Commit() (*r2.Object, error) {
	const op = "r2.Upload.Commit"
	if u.ended {
		return nil, r2.Fault(op, u.key, r2.ErrUploadEnded)
	}
	u.ended = true
	err := u.ctx.Err()
	var answer string
	var ok bool
	switch {
	case u.handle == 0:
		answer, ok, err = u.bucket.ask(u.ctx, "r2Put", u.small, u.key, u.options)
	case err == nil:
		answer, ok, err = worker.Ask("r2Complete", nil, u.handle.String())
	}
	if err != nil && u.handle != 0 {
		worker.Ask("r2Abort", nil, u.handle.String()) // the first error is returned; parts expire after a week
	}
	return parseObject(op, u.key, answer, ok, err, r2.ErrPrecondition)
}

func (u *upload) Abort() error {
	const op = "r2.Upload.Abort"
	if u.ended {
		return r2.Fault(op, u.key, r2.ErrUploadEnded)
	}
	u.ended = true
	if u.handle == 0 {
		return nil
	}
	_, _, err := worker.Ask("r2Abort", nil, u.handle.String())
	return r2.Fault(op, u.key, err)
}

// objectBody adds the object's key to read errors.
type objectBody struct {
	io.ReadCloser
	key string
}

func (b objectBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r2.Fault("r2.Get", b.key, err)
	}
	return n, err
}

// parseObject parses a helper's description of an object. It returns the error missing if ok is false.
func parseObject(op, key, answer string, ok bool, err, missing error) (*r2.Object, error) {
	if err == nil && !ok {
		err = missing
	}
	if err != nil {
		return nil, r2.Fault(op, key, err)
	}
	object := readObject(&worker.Fields{Rest: answer})
	return &object, nil
}

func readObject(l *worker.Fields) r2.Object {
	o := r2.Object{Key: l.Next(), Size: int64(number(l)), ETag: l.Next(), Uploaded: epoch.Millis(number(l)).Time()}
	if n := number(l); n > 0 {
		o.Metadata = make(map[string]string, n)
		for range n {
			name := l.Next()
			o.Metadata[name] = l.Next()
		}
	}
	return o
}

// number parses the next field as a number. On wasm an int has 64 bits.
func number(l *worker.Fields) int {
	field := l.Next()
	n, err := strconv.Atoi(field)
	if err != nil {
		panic("bindings: the helper returned " + strconv.Quote(field) + " instead of a number")
	}
	return n
}

// putOptions encodes o as R2PutOptions (developers.cloudflare.com/r2/api/workers/workers-api-reference/),
// which createMultipartUpload accepts too.
func putOptions(o *r2.PutOptions) string {
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
	return string(contract.Encode(options))
}

// listOptions encodes o as R2ListOptions.
func listOptions(o r2.ListOptions) string {
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
	return string(contract.Encode(options))
}
