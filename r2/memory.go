package r2

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxListWithMetadata is the page size of the memory twin for listings with metadata. The platform returns fewer
// keys than the limit; the local simulator returns this many.
const maxListWithMetadata = 100

// errTooManyWrites is the platform's answer to a second write of a key within a second.
var errTooManyWrites = errors.New("put: Reduce your concurrent request rate for the same object. (10058)")

// Memory is a Bucket in memory that enforces the platform's limits, including that of one write a second
// per key. It is safe for concurrent use. Set its fields before the first use.
type Memory struct {
	// Now is the clock; nil means time.Now. A test that writes a key twice needs a clock that advances.
	Now func() time.Time
	// Fail, if set, is called before every operation: head, get, list, put, create, write, commit, abort, delete,
	// and read for every Read of a Body. If it returns an error, the operation fails with it as a fault of the
	// store. The key of list is the prefix, that of delete the first key.
	Fail func(op, key string) error

	mu      sync.Mutex
	objects map[string]stored
	written map[string]time.Time // last write by key; survives deletion
	uploads int                  // created, neither committed nor aborted
}

type stored struct {
	Object
	data        []byte
	contentType string
}

var _ Bucket = (*Memory)(nil)

// NewMemory returns an empty bucket.
func NewMemory() *Memory {
	return &Memory{objects: map[string]stored{}, written: map[string]time.Time{}}
}

// OpenUploads returns the number of uploads that were created and neither committed nor aborted.
func (m *Memory) OpenUploads() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.uploads
}

// ContentType returns the content type stored with an object, or "".
func (m *Memory) ContentType(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[key].contentType
}

// begin is the first step of every operation: the context, then the injected fault.
func (m *Memory) begin(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Fail != nil {
		return m.Fail(op, key)
	}
	return nil
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Head implements Bucket.
func (m *Memory) Head(ctx context.Context, key string) (*Object, error) {
	s, err := m.find(ctx, "head", key)
	if err != nil {
		return nil, Fault("r2.Head", key, err)
	}
	return &s.Object, nil
}

// Get implements Bucket.
func (m *Memory) Get(ctx context.Context, key string) (*Body, error) {
	s, err := m.find(ctx, "get", key)
	if err != nil {
		return nil, Fault("r2.Get", key, err)
	}
	return &Body{s.Object, &memoryBody{m, ctx, key, *bytes.NewReader(s.data)}}, nil
}

func (m *Memory) find(ctx context.Context, op, key string) (stored, error) {
	err := CheckKey(key)
	if err == nil {
		err = m.begin(ctx, op, key)
	}
	if err != nil {
		return stored{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.objects[key]
	if !ok {
		return stored{}, ErrNotFound
	}
	s.Metadata = maps.Clone(s.Metadata)
	return s, nil
}

type memoryBody struct {
	bucket *Memory
	ctx    context.Context
	key    string
	data   bytes.Reader
}

func (b *memoryBody) Read(p []byte) (int, error) {
	if err := b.bucket.begin(b.ctx, "read", b.key); err != nil {
		return 0, Fault("r2.Get", b.key, err)
	}
	return b.data.Read(p)
}

func (b *memoryBody) Close() error {
	b.data.Reset(nil)
	return nil
}

// List implements Bucket.
func (m *Memory) List(ctx context.Context, o ListOptions) (*Page, error) {
	err := CheckList(o)
	if err == nil {
		err = m.begin(ctx, "list", o.Prefix)
	}
	after := o.StartAfter
	if err == nil && o.Cursor != "" {
		var last []byte
		last, err = base64.RawURLEncoding.DecodeString(o.Cursor)
		after = string(last)
	}
	if err != nil {
		return nil, Fault("r2.List", o.Prefix, err)
	}
	limit := o.Limit
	if limit == 0 {
		limit = MaxListKeys
	}
	if o.Metadata {
		limit = min(limit, maxListWithMetadata)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]string, 0, len(m.objects))
	for key := range m.objects {
		if strings.HasPrefix(key, o.Prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	page, last := &Page{}, ""
	for _, key := range keys {
		group := ""
		if i := strings.Index(key[len(o.Prefix):], o.Delimiter); o.Delimiter != "" && i >= 0 {
			group = key[:len(o.Prefix)+i+len(o.Delimiter)]
		}
		if group != "" && len(page.Prefixes) > 0 && group == page.Prefixes[len(page.Prefixes)-1] {
			last = key
			continue
		}
		if len(page.Objects)+len(page.Prefixes) == limit {
			page.Truncated = true
			page.Cursor = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		last = key
		if group != "" {
			page.Prefixes = append(page.Prefixes, group)
			continue
		}
		object := m.objects[key].Object
		object.Metadata = maps.Clone(object.Metadata)
		if !o.Metadata {
			object.Metadata = nil
		}
		page.Objects = append(page.Objects, object)
	}
	return page, nil
}

// Put implements Bucket.
func (m *Memory) Put(ctx context.Context, key string, data []byte, o *PutOptions) (*Object, error) {
	err := CheckPut(key, o)
	if err == nil {
		err = m.begin(ctx, "put", key)
	}
	if err != nil {
		return nil, Fault("r2.Put", key, err)
	}
	object, err := m.write(key, bytes.Clone(data), digest(data), o)
	return object, Fault("r2.Put", key, err)
}

// write stores data without copying it, if the condition and the rate of writes allow it.
func (m *Memory) write(key string, data []byte, etag string, o *PutOptions) (*Object, error) {
	if o == nil {
		o = &PutOptions{}
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.written[key]; ok && now.Sub(last) < time.Second {
		return nil, errTooManyWrites
	}
	old, exists := m.objects[key]
	if o.If.Absent && exists || o.If.ETag != "" && (!exists || old.ETag != o.If.ETag) {
		return nil, ErrPrecondition
	}
	s := stored{
		Object: Object{
			Key:      key,
			Size:     int64(len(data)),
			ETag:     etag,
			Uploaded: now.UTC().Truncate(time.Millisecond),
			Metadata: maps.Clone(o.Metadata),
		},
		data:        data,
		contentType: o.ContentType,
	}
	m.objects[key], m.written[key] = s, now
	s.Metadata = maps.Clone(s.Metadata)
	return &s.Object, nil
}

// digest returns the ETag of an object stored whole: its MD5.
func digest(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// partsDigest returns the ETag of an object stored in parts: the MD5 of their MD5s, and their number.
func partsDigest(data []byte) string {
	all, n := md5.New(), 0
	for part := range slices.Chunk(data, PartSize) {
		sum := md5.Sum(part)
		all.Write(sum[:])
		n++
	}
	return fmt.Sprintf("%x-%d", all.Sum(nil), n)
}

// Create implements Bucket.
func (m *Memory) Create(ctx context.Context, key string, o *PutOptions) (Upload, error) {
	err := CheckCreate(key, o)
	if err == nil {
		err = m.begin(ctx, "create", key)
	}
	if err != nil {
		return nil, Fault("r2.Create", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uploads++
	return &memoryUpload{bucket: m, ctx: ctx, key: key, options: o, open: true}, nil
}

type memoryUpload struct {
	bucket  *Memory
	ctx     context.Context
	key     string
	options *PutOptions
	data    []byte
	open    bool
}

func (u *memoryUpload) Write(p []byte) (int, error) {
	var err error = ErrUploadEnded
	if u.open {
		err = u.bucket.begin(u.ctx, "write", u.key)
	}
	if err != nil {
		return 0, Fault("r2.Upload.Write", u.key, err)
	}
	u.data = append(u.data, p...)
	return len(p), nil
}

func (u *memoryUpload) Commit() (*Object, error) {
	const op = "r2.Upload.Commit"
	err := u.end()
	if err == nil {
		err = u.bucket.begin(u.ctx, "commit", u.key)
	}
	if err != nil {
		return nil, Fault(op, u.key, err)
	}
	etag := digest
	if len(u.data) > PartSize {
		etag = partsDigest
	}
	object, err := u.bucket.write(u.key, u.data, etag(u.data), u.options)
	return object, Fault(op, u.key, err)
}

func (u *memoryUpload) Abort() error {
	err := u.end()
	if err == nil {
		err = u.bucket.begin(context.WithoutCancel(u.ctx), "abort", u.key)
	}
	return Fault("r2.Upload.Abort", u.key, err)
}

// end ends the upload, whether or not the store then fails.
func (u *memoryUpload) end() error {
	if !u.open {
		return ErrUploadEnded
	}
	u.open = false
	u.bucket.mu.Lock()
	defer u.bucket.mu.Unlock()
	u.bucket.uploads--
	return nil
}

// Delete implements Bucket.
func (m *Memory) Delete(ctx context.Context, keys ...string) error {
	first := ""
	if len(keys) > 0 {
		first = keys[0]
	}
	err := CheckDelete(keys)
	if err == nil {
		err = m.begin(ctx, "delete", first)
	}
	if err != nil {
		return Fault("r2.Delete", first, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.objects, key)
	}
	return nil
}
