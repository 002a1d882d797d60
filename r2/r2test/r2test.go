// Package r2test is the conformance suite of r2.Bucket: what the pipeline relies on, run against
// the memory twin by the tests of r2 and against the Workers binding by test/conformance.
package r2test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/test/cases"
)

// T is the part of testing.T that cases use.
type T = cases.T

var expectKind = cases.ExpectKind

// Case is one property. It writes only under the prefix dir, which is reserved for it. The bucket must accept
// writes of one key in quick succession.
type Case struct {
	Name string
	Run  func(t T, b r2.Bucket, dir string)
}

// Cases is the suite.
var Cases = []Case{
	{"what is not there", notThere},
	{"put, head and get", putHeadGet},
	{"an empty object", emptyObject},
	{"put keeps nothing of its argument", putCopies},
	{"any text in keys and metadata", anyText},
	{"limits of keys", keyLimits},
	{"limit of metadata", metadataLimit},
	{"create only if absent", absent},
	{"of many creators one wins", absentRace},
	{"replace only what was read", etagMatch},
	{"list in order below a prefix", listOrder},
	{"list page by page", listPages},
	{"list starts after a key", listStartAfter},
	{"list groups by a delimiter", listDelimiter},
	{"list page by page with a delimiter", listDelimiterPages},
	{"list metadata", listMetadata},
	{"limits of a listing", listLimits},
	{"delete many", deleteMany},
	{"limit of a delete", deleteLimit},
	{"a small upload is one put", smallUpload},
	{"an upload of one full part", fullPart},
	{"an upload in parts", partsUpload},
	{"an aborted upload leaves nothing", abortedUpload},
	{"an upload takes no condition", uploadCondition},
	{"an upload ends once", uploadEnds},
	{"a body read in part", partialRead},
	{"operations side by side", concurrent},
	{"a context that is done", contextDone},
}

var ctx = context.Background()

func put(t T, b r2.Bucket, key, content string) *r2.Object {
	t.Helper()
	o, err := b.Put(ctx, key, []byte(content), nil)
	if err != nil {
		t.Fatalf("Put %s: %v", key, err)
	}
	return o
}

func get(t T, b r2.Bucket, key string) (string, *r2.Body) {
	t.Helper()
	body, err := b.Get(ctx, key)
	if err != nil {
		t.Fatalf("Get %s: %v", key, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("reading %s: %v", key, err)
	}
	return string(data), body
}

func list(t T, b r2.Bucket, o r2.ListOptions) *r2.Page {
	t.Helper()
	page, err := b.List(ctx, o)
	if err != nil {
		t.Fatalf("List %+v: %v", o, err)
	}
	if page.Truncated == (page.Cursor == "") {
		t.Fatalf("List %+v: truncated %v with cursor %q", o, page.Truncated, page.Cursor)
	}
	return page
}

func keys(page *r2.Page) []string {
	keys := make([]string, 0, len(page.Objects))
	for _, o := range page.Objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func expect[V comparable](t T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func expectList(t T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func expectErr(t T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func md5Hex(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

func notThere(t T, b r2.Bucket, dir string) {
	_, err := b.Head(ctx, dir+"none")
	expectErr(t, "Head", err, r2.ErrNotFound)
	_, err = b.Get(ctx, dir+"none")
	expectErr(t, "Get", err, r2.ErrNotFound)
	expectErr(t, "Delete", b.Delete(ctx, dir+"none"), nil)
	expectErr(t, "Delete of nothing", b.Delete(ctx), nil)
	page := list(t, b, r2.ListOptions{Prefix: dir})
	expect(t, "objects listed", len(page.Objects), 0)
}

func putHeadGet(t T, b r2.Bucket, dir string) {
	metadata := map[string]string{"processor": "seed-engine", "version": "1.2.3"}
	key, content := dir+"a.json", `{"a":1}`
	stored, err := b.Put(ctx, key, []byte(content),
		&r2.PutOptions{ContentType: "application/json", Metadata: metadata})
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	head, err := b.Head(ctx, key)
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	data, body := get(t, b, key)
	expect(t, "content", data, content)
	for what, o := range map[string]*r2.Object{"Put": stored, "Head": head, "Get": &body.Object} {
		expect(t, what+" key", o.Key, key)
		expect(t, what+" size", o.Size, int64(len(content)))
		expect(t, what+" etag", o.ETag, md5Hex([]byte(content)))
		expect(t, what+" uploaded", o.Uploaded, stored.Uploaded)
		if !maps.Equal(o.Metadata, metadata) {
			t.Errorf("%s metadata: got %v, want %v", what, o.Metadata, metadata)
		}
	}
	if stored.Uploaded.Before(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) || stored.Uploaded.Location() != time.UTC {
		t.Errorf("uploaded: %v is no time of today in UTC", stored.Uploaded)
	}

	put(t, b, key, "other")
	data, body = get(t, b, key)
	expect(t, "content after the second put", data, "other")
	expect(t, "metadata after the second put", len(body.Metadata), 0)
}

func emptyObject(t T, b r2.Bucket, dir string) {
	o := put(t, b, dir+"empty", "")
	expect(t, "size", o.Size, 0)
	data, _ := get(t, b, dir+"empty")
	expect(t, "content", data, "")
}

func putCopies(t T, b r2.Bucket, dir string) {
	data := []byte("first")
	metadata := map[string]string{"k": "v"}
	if _, err := b.Put(ctx, dir+"a", data, &r2.PutOptions{Metadata: metadata}); err != nil {
		t.Fatalf("Put: %v", err)
	}
	copy(data, "wrong")
	metadata["k"] = "wrong"
	got, body := get(t, b, dir+"a")
	expect(t, "content", got, "first")
	expect(t, "metadata", body.Metadata["k"], "v")
	body.Metadata["k"] = "wrong"
	_, body = get(t, b, dir+"a")
	expect(t, "metadata", body.Metadata["k"], "v")
}

func anyText(t T, b r2.Bucket, dir string) {
	odd := []string{"line\nfeed", `back\slash`, `\n`, "한국어 é", "a b%20?#&=+", `"quoted"`}
	for _, s := range odd {
		_, err := b.Put(ctx, dir+s, []byte(s), &r2.PutOptions{Metadata: map[string]string{"value": s}})
		if err != nil {
			t.Fatalf("Put %q: %v", s, err)
		}
		data, body := get(t, b, dir+s)
		expect(t, "content", data, s)
		expect(t, "key", body.Key, dir+s)
		expect(t, "metadata", body.Metadata["value"], s)
	}
	var want []string
	for _, s := range odd {
		want = append(want, dir+s)
	}
	slices.Sort(want)
	page := list(t, b, r2.ListOptions{Prefix: dir, Metadata: true})
	expectList(t, "keys", keys(page), want)
	for _, o := range page.Objects {
		expect(t, "listed metadata", dir+o.Metadata["value"], o.Key)
	}
}

func keyLimits(t T, b r2.Bucket, dir string) {
	longest := dir + strings.Repeat("k", r2.MaxKeyBytes-len(dir))
	put(t, b, longest, "x")
	data, _ := get(t, b, longest)
	expect(t, "content", data, "x")
	wide := dir + strings.Repeat("é", (r2.MaxKeyBytes-len(dir))/2+1) // bytes count, not characters
	for _, key := range []string{"", longest + "k", wide, dir + "\xff"} {
		_, err := b.Put(ctx, key, nil, nil)
		expectKind(t, "Put", err, contract.Validation)
		_, err = b.Head(ctx, key)
		expectKind(t, "Head", err, contract.Validation)
		_, err = b.Get(ctx, key)
		expectKind(t, "Get", err, contract.Validation)
		_, err = b.Create(ctx, key, nil)
		expectKind(t, "Create", err, contract.Validation)
		expectKind(t, "Delete", b.Delete(ctx, dir+"fine", key), contract.Validation)
	}
}

func metadataLimit(t T, b r2.Bucket, dir string) {
	o := &r2.PutOptions{Metadata: map[string]string{"name": strings.Repeat("v", r2.MaxMetadataBytes-4)}}
	if _, err := b.Put(ctx, dir+"a", nil, o); err != nil {
		t.Errorf("Put of as much metadata as allowed: %v", err)
	}
	o.Metadata["n"] = ""
	_, err := b.Put(ctx, dir+"b", nil, o)
	expectKind(t, "Put", err, contract.Validation)
	_, err = b.Create(ctx, dir+"b", o)
	expectKind(t, "Create", err, contract.Validation)
}

func absent(t T, b r2.Bucket, dir string) {
	o := &r2.PutOptions{If: r2.Condition{Absent: true}}
	if _, err := b.Put(ctx, dir+"a", []byte("first"), o); err != nil {
		t.Fatalf("Put: %v", err)
	}
	_, err := b.Put(ctx, dir+"a", []byte("second"), o)
	expectErr(t, "second Put", err, r2.ErrPrecondition)
	data, _ := get(t, b, dir+"a")
	expect(t, "content", data, "first")
	if err := b.Delete(ctx, dir+"a"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if _, err := b.Put(ctx, dir+"a", []byte("third"), o); err != nil {
		t.Errorf("Put after Delete: %v", err)
	}
}

func absentRace(t T, b r2.Bucket, dir string) {
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = b.Put(ctx, dir+"a", fmt.Append(nil, i), &r2.PutOptions{If: r2.Condition{Absent: true}})
		})
	}
	wg.Wait()
	winners := ""
	for i, err := range errs {
		if err == nil {
			winners += fmt.Sprint(i)
			continue
		}
		expectErr(t, "a loser", err, r2.ErrPrecondition)
	}
	data, _ := get(t, b, dir+"a")
	expect(t, "content", data, winners)
}

func etagMatch(t T, b r2.Bucket, dir string) {
	first := put(t, b, dir+"a", "first")
	ifFirst := &r2.PutOptions{If: r2.Condition{ETag: first.ETag}}
	if _, err := b.Put(ctx, dir+"a", []byte("second"), ifFirst); err != nil {
		t.Fatalf("Put: %v", err)
	}
	_, err := b.Put(ctx, dir+"a", []byte("third"), ifFirst)
	expectErr(t, "Put over a newer object", err, r2.ErrPrecondition)
	data, _ := get(t, b, dir+"a")
	expect(t, "content", data, "second")
	_, err = b.Put(ctx, dir+"b", []byte("x"), ifFirst)
	expectErr(t, "Put over no object", err, r2.ErrPrecondition)
	_, err = b.Put(ctx, dir+"c", nil, &r2.PutOptions{If: r2.Condition{ETag: first.ETag, Absent: true}})
	expectKind(t, "Put with both conditions", err, contract.Validation)
}

func listOrder(t T, b r2.Bucket, dir string) {
	names := []string{"b", "a/2", "a", "a-1", "B", "ä", "a/10", "a.json.success", "a.json"}
	for _, name := range names {
		put(t, b, dir+"x/"+name, name)
	}
	put(t, b, dir+"y", "")
	put(t, b, dir+"w", "")
	slices.Sort(names) // bytewise
	for i := range names {
		names[i] = dir + "x/" + names[i]
	}
	page := list(t, b, r2.ListOptions{Prefix: dir + "x/"})
	expectList(t, "keys", keys(page), names)
	expect(t, "truncated", page.Truncated, false)
	o := page.Objects[0]
	expect(t, "size", o.Size, 1)
	expect(t, "etag", o.ETag, md5Hex([]byte("B")))
	expect(t, "uploaded", o.Uploaded.IsZero(), false)
}

func listPages(t T, b r2.Bucket, dir string) {
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("%s%02d", dir, i))
		put(t, b, want[i], "")
	}
	for _, limit := range []int{1, 3, 5, 10} {
		var got []string
		o := r2.ListOptions{Prefix: dir, Limit: limit}
		for pages := 1; ; pages++ {
			page := list(t, b, o)
			if len(page.Objects) > limit {
				t.Fatalf("limit %d: a page of %d", limit, len(page.Objects))
			}
			got = append(got, keys(page)...)
			if !page.Truncated {
				break
			}
			if pages == 10 {
				t.Fatalf("limit %d: does not end", limit)
			}
			o.Cursor = page.Cursor
		}
		expectList(t, fmt.Sprintf("keys by %d", limit), got, want)
	}
}

func listStartAfter(t T, b r2.Bucket, dir string) {
	for _, name := range []string{"a", "b", "c", "d"} {
		put(t, b, dir+name, "")
	}
	page := list(t, b, r2.ListOptions{Prefix: dir, StartAfter: dir + "b"})
	expectList(t, "after a key", keys(page), []string{dir + "c", dir + "d"})
	page = list(t, b, r2.ListOptions{Prefix: dir, StartAfter: dir + "bb", Limit: 1})
	expectList(t, "after what is not there", keys(page), []string{dir + "c"})
	page = list(t, b, r2.ListOptions{Prefix: dir, StartAfter: dir + "bb", Cursor: page.Cursor})
	expectList(t, "and its next page", keys(page), []string{dir + "d"})
	page = list(t, b, r2.ListOptions{Prefix: dir, StartAfter: dir + "d"})
	expectList(t, "after the last", keys(page), nil)
}

func listDelimiter(t T, b r2.Bucket, dir string) {
	for _, name := range []string{"a", "b/1", "b/2", "b/c/3", "d", "e/4", "f/"} {
		put(t, b, dir+name, "")
	}
	page := list(t, b, r2.ListOptions{Prefix: dir, Delimiter: "/"})
	expectList(t, "keys", keys(page), []string{dir + "a", dir + "d"})
	expectList(t, "prefixes", page.Prefixes, []string{dir + "b/", dir + "e/", dir + "f/"})
	page = list(t, b, r2.ListOptions{Prefix: dir + "b/", Delimiter: "/"})
	expectList(t, "keys below", keys(page), []string{dir + "b/1", dir + "b/2"})
	expectList(t, "prefixes below", page.Prefixes, []string{dir + "b/c/"})
	page = list(t, b, r2.ListOptions{Prefix: dir, Delimiter: "/", StartAfter: dir + "b/2"})
	expectList(t, "prefixes, one entered", page.Prefixes, []string{dir + "b/", dir + "e/", dir + "f/"})
	page = list(t, b, r2.ListOptions{Prefix: dir + "country=", Delimiter: "/"})
	expect(t, "nothing below", len(page.Objects)+len(page.Prefixes), 0)
}

func listDelimiterPages(t T, b r2.Bucket, dir string) {
	for _, name := range []string{"a/1", "a/2", "a/3", "b", "c/1", "c/2", "d", "e/1"} {
		put(t, b, dir+name, "")
	}
	for _, limit := range []int{1, 2, 3, 5} {
		var objects, prefixes []string
		o := r2.ListOptions{Prefix: dir, Delimiter: "/", Limit: limit}
		for pages := 1; ; pages++ {
			page := list(t, b, o)
			if n := len(page.Objects) + len(page.Prefixes); n > limit {
				t.Fatalf("limit %d: a page of %d", limit, n)
			}
			objects, prefixes = append(objects, keys(page)...), append(prefixes, page.Prefixes...)
			if !page.Truncated {
				break
			}
			if pages == 10 {
				t.Fatalf("limit %d: does not end", limit)
			}
			o.Cursor = page.Cursor
		}
		expectList(t, fmt.Sprintf("keys by %d", limit), objects, []string{dir + "b", dir + "d"})
		expectList(t, fmt.Sprintf("prefixes by %d", limit), prefixes, []string{dir + "a/", dir + "c/", dir + "e/"})
	}
}

func listMetadata(t T, b r2.Bucket, dir string) {
	const n = 120 // pages with metadata can be shorter than their limit
	putMany(t, b, dir, n, func(i int) *r2.PutOptions {
		return &r2.PutOptions{Metadata: map[string]string{"number": fmt.Sprint(i), "empty": ""}}
	})
	got, o := 0, r2.ListOptions{Prefix: dir, Metadata: true}
	for {
		page := list(t, b, o)
		for _, object := range page.Objects {
			want := map[string]string{"number": fmt.Sprint(got), "empty": ""}
			if !maps.Equal(object.Metadata, want) {
				t.Fatalf("metadata of %s: got %v, want %v", object.Key, object.Metadata, want)
			}
			got++
		}
		if !page.Truncated {
			break
		}
		o.Cursor = page.Cursor
	}
	expect(t, "objects", got, n)
	page := list(t, b, r2.ListOptions{Prefix: dir, Limit: 1})
	expect(t, "metadata not asked for", len(page.Objects[0].Metadata), 0)
}

func listLimits(t T, b r2.Bucket, dir string) {
	putMany(t, b, dir, r2.MaxListKeys+1, func(int) *r2.PutOptions { return nil })
	page := list(t, b, r2.ListOptions{Prefix: dir})
	expect(t, "keys of the longest page", len(page.Objects), r2.MaxListKeys)
	expect(t, "truncated", page.Truncated, true)
	page = list(t, b, r2.ListOptions{Prefix: dir, Cursor: page.Cursor})
	expect(t, "keys of the rest", len(page.Objects), 1)
	for _, limit := range []int{-1, r2.MaxListKeys + 1} {
		_, err := b.List(ctx, r2.ListOptions{Prefix: dir, Limit: limit})
		expectKind(t, fmt.Sprint("limit ", limit), err, contract.Validation)
	}
}

// putMany stores n empty objects with names of four digits.
func putMany(t T, b r2.Bucket, dir string, n int, options func(i int) *r2.PutOptions) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for worker := range errs {
		wg.Go(func() {
			for i := worker; i < n && errs[worker] == nil; i += len(errs) {
				_, errs[worker] = b.Put(ctx, fmt.Sprintf("%s%04d", dir, i), nil, options(i))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func deleteMany(t T, b r2.Bucket, dir string) {
	for _, name := range []string{"a", "b", "c"} {
		put(t, b, dir+name, "")
	}
	if err := b.Delete(ctx, dir+"a", dir+"none", dir+"c"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	expectList(t, "keys left", keys(list(t, b, r2.ListOptions{Prefix: dir})), []string{dir + "b"})
}

func deleteLimit(t T, b r2.Bucket, dir string) {
	put(t, b, dir+"0000", "")
	many := make([]string, r2.MaxDeleteKeys+1)
	for i := range many {
		many[i] = fmt.Sprintf("%s%04d", dir, i)
	}
	expectKind(t, "Delete", b.Delete(ctx, many...), contract.Validation)
	expect(t, "keys left", len(list(t, b, r2.ListOptions{Prefix: dir}).Objects), 1)
	if err := b.Delete(ctx, many[:r2.MaxDeleteKeys]...); err != nil {
		t.Errorf("Delete of as many as allowed: %v", err)
	}
	expect(t, "keys left", len(list(t, b, r2.ListOptions{Prefix: dir}).Objects), 0)
}

// pattern returns data without repeated parts.
func pattern(n int) []byte {
	data := make([]byte, n)
	x := uint32(1)
	for i := range data {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	return data
}

func upload(t T, b r2.Bucket, key string, data []byte, pieces []int, o *r2.PutOptions) r2.Upload {
	t.Helper()
	u, err := b.Create(ctx, key, o)
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	piece := []byte{}
	for i := 0; len(data) > 0; i++ {
		n := min(len(data), pieces[i%len(pieces)])
		piece = append(piece[:0], data[:n]...) // Write must not keep it
		if written, err := u.Write(piece); err != nil || written != n {
			t.Fatalf("Write of %d: %d, %v", n, written, err)
		}
		clear(piece)
		data = data[n:]
	}
	return u
}

func commit(t T, u r2.Upload) *r2.Object {
	t.Helper()
	o, err := u.Commit()
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return o
}

func smallUpload(t T, b r2.Bucket, dir string) {
	data := pattern(300_000)
	o := &r2.PutOptions{ContentType: "application/xml", Metadata: map[string]string{"k": "v"}}
	u := upload(t, b, dir+"a", data, []int{1, 70_000, 0, 200_000}, o)
	_, err := b.Head(ctx, dir+"a")
	expectErr(t, "Head before Commit", err, r2.ErrNotFound)
	object := commit(t, u)
	expect(t, "etag", object.ETag, md5Hex(data))
	expect(t, "size", object.Size, int64(len(data)))
	got, body := get(t, b, dir+"a")
	expect(t, "content", md5Hex([]byte(got)), md5Hex(data))
	expect(t, "metadata", body.Metadata["k"], "v")

	object = commit(t, upload(t, b, dir+"empty", nil, nil, nil))
	expect(t, "size of nothing", object.Size, 0)
}

func fullPart(t T, b r2.Bucket, dir string) {
	data := pattern(r2.PartSize)
	object := commit(t, upload(t, b, dir+"a", data, []int{1 << 20}, nil))
	expect(t, "etag", object.ETag, md5Hex(data))
}

func partsUpload(t T, b r2.Bucket, dir string) {
	data := pattern(2*r2.PartSize + 1)
	o := &r2.PutOptions{Metadata: map[string]string{"k": "v"}}
	u := upload(t, b, dir+"a", data, []int{256 << 10, 999_999, r2.PartSize + 5}, o)
	_, err := b.Head(ctx, dir+"a")
	expectErr(t, "Head before Commit", err, r2.ErrNotFound)
	object := commit(t, u)
	var sums []byte
	for part := range slices.Chunk(data, r2.PartSize) {
		sum := md5.Sum(part)
		sums = append(sums, sum[:]...)
	}
	expect(t, "etag", object.ETag, md5Hex(sums)+"-3")
	expect(t, "size", object.Size, int64(len(data)))
	got, body := get(t, b, dir+"a")
	expect(t, "content", bytes.Equal([]byte(got), data), true)
	expect(t, "metadata", body.Metadata["k"], "v")
}

func abortedUpload(t T, b r2.Bucket, dir string) {
	before := put(t, b, dir+"a", "before")
	for _, size := range []int{0, 10, r2.PartSize + 1} {
		u := upload(t, b, dir+"a", pattern(size), []int{1 << 20}, nil)
		if err := u.Abort(); err != nil {
			t.Errorf("Abort after %d bytes: %v", size, err)
		}
	}
	head, err := b.Head(ctx, dir+"a")
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	expect(t, "etag", head.ETag, before.ETag)
}

func uploadCondition(t T, b r2.Bucket, dir string) {
	for _, condition := range []r2.Condition{{Absent: true}, {ETag: "x"}} {
		_, err := b.Create(ctx, dir+"a", &r2.PutOptions{If: condition})
		expectKind(t, "Create", err, contract.Validation)
	}
}

func uploadEnds(t T, b r2.Bucket, dir string) {
	committed := upload(t, b, dir+"a", []byte("x"), []int{1}, nil)
	commit(t, committed)
	aborted := upload(t, b, dir+"b", []byte("x"), []int{1}, nil)
	if err := aborted.Abort(); err != nil {
		t.Errorf("Abort: %v", err)
	}
	for _, u := range []r2.Upload{committed, aborted} {
		_, err := u.Write([]byte("y"))
		expectKind(t, "Write", err, contract.Internal)
		_, err = u.Commit()
		expectKind(t, "Commit", err, contract.Internal)
		expectKind(t, "Abort", u.Abort(), contract.Internal)
	}
	data, _ := get(t, b, dir+"a")
	expect(t, "content", data, "x")
}

func partialRead(t T, b r2.Bucket, dir string) {
	data := pattern(1 << 20)
	if _, err := b.Put(ctx, dir+"a", data, nil); err != nil {
		t.Fatalf("Put: %v", err)
	}
	for range 3 {
		body, err := b.Get(ctx, dir+"a")
		if err != nil {
			t.Fatalf("Get: %v", err)
		}
		head := make([]byte, 1000)
		if _, err := io.ReadFull(body, head); err != nil || !bytes.Equal(head, data[:1000]) {
			t.Fatalf("the first bytes are wrong, %v", err)
		}
		if err := body.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	unread, err := b.Get(ctx, dir+"a")
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	if err := unread.Close(); err != nil {
		t.Errorf("Close of an unread body: %v", err)
	}
}

func concurrent(t T, b r2.Bucket, dir string) {
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			key, data := fmt.Sprint(dir, i), pattern(i*20_000)
			if _, err := b.Put(ctx, key, data, nil); err != nil {
				errs[i] = err
				return
			}
			body, err := b.Get(ctx, key)
			if err != nil {
				errs[i] = err
				return
			}
			defer body.Close()
			got, err := io.ReadAll(body)
			if err != nil || !bytes.Equal(got, data) {
				errs[i] = fmt.Errorf("%s came back with %d bytes, %w", key, len(got), err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
}

func contextDone(t T, b r2.Bucket, dir string) {
	u := upload(t, b, dir+"u", []byte("x"), []int{1}, nil)
	done, cancel := context.WithCancel(ctx)
	during, err := b.Create(done, dir+"v", nil)
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	cancel()
	_, err = b.Put(done, dir+"a", nil, nil)
	expectKind(t, "Put", err, contract.Timeout)
	_, err = b.Head(done, dir+"a")
	expectKind(t, "Head", err, contract.Timeout)
	_, err = b.Get(done, dir+"a")
	expectKind(t, "Get", err, contract.Timeout)
	_, err = b.List(done, r2.ListOptions{})
	expectKind(t, "List", err, contract.Timeout)
	_, err = b.Create(done, dir+"a", nil)
	expectKind(t, "Create", err, contract.Timeout)
	expectKind(t, "Delete", b.Delete(done, dir+"a"), contract.Timeout)
	_, err = during.Commit()
	expectKind(t, "Commit", err, contract.Timeout)
	commit(t, u)
	expectList(t, "keys", keys(list(t, b, r2.ListOptions{Prefix: dir})), []string{dir + "u"})
}
