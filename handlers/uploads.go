package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
)

// uploadResult is the answer to an upload.
type uploadResult struct {
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Queued bool   `json:"queued"` // by this request
	// Same is true if the stored file is identical; absent if unknown.
	Same     *bool `json:"same,omitempty"`
	Replaced bool  `json:"replaced,omitempty"`
	// SameAs is the name of another raw file of the partition with the same content, if there is one.
	SameAs string `json:"same_as,omitempty"`
}

// ErrTooManyUploads is returned by Bucket.Store at the limit of concurrent uploads.
var ErrTooManyUploads = errors.New("too many uploads are under way")

// upload stores a raw file. With replace, it may take the place of one that was not processed. The body streams
// into the bucket.
func (a datasetRoutes) upload(w http.ResponseWriter, r *http.Request) error {
	u, err := checkUpload(r)
	if err != nil {
		return err
	}
	o, err := a.Bucket.Head(r.Context(), u.file.Key())
	switch {
	case err == nil && u.replace:
		err = a.replace(w, r, u, o)
	case err == nil:
		err = a.uploadAgain(w, r, u, o)
	case errors.Is(err, r2.ErrNotFound):
		err = a.store(w, r, u)
	}
	if errors.Is(err, ErrTooManyUploads) {
		w.Header().Set("Retry-After", busyRetryAfter)
		return httpapi.Errorf(http.StatusServiceUnavailable, "busy",
			"too many uploads at once; try again in a few seconds")
	}
	return contract.Wrap(contract.Storage, "handlers.upload", err)
}

// store stores a file that did not exist a moment ago.
func (a datasetRoutes) store(w http.ResponseWriter, r *http.Request, u uploadRequest) error {
	const op = "handlers.upload"
	key := u.file.Key()
	// Marks of a deleted file do not apply to this one.
	if err := a.Bucket.Delete(r.Context(), u.file.DiscardMark(), u.file.Checkpoint()); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	o, err := a.Bucket.Store(r.Context(), key, r, r2.Condition{Absent: true})
	if errors.Is(err, r2.ErrPrecondition) { // another request was faster
		if o, err = a.Bucket.Head(r.Context(), key); err == nil {
			return a.uploadAgain(w, r, u, o)
		}
	}
	if err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	w.Header().Set("Location", r.URL.Path)
	return a.stored(w, r, u, o, http.StatusCreated)
}

// stored answers that a file was stored. It queues and records the file even if the client has hung up.
func (a datasetRoutes) stored(w http.ResponseWriter, r *http.Request, u uploadRequest, o *r2.Object,
	status int) error {
	done := uploadResult{Key: u.file.Key(), Size: o.Size, Replaced: status == http.StatusOK}
	ctx := context.WithoutCancel(r.Context())
	if !u.queue {
		a.record(ctx, ledger.Changes{Files: []ledger.FileChange{{RawFile: u.file}}})
	} else if err := a.queueFile(ctx, u.file, o.ETag); err != nil {
		a.server().Fail(w, r, err, done)
		return nil
	}
	done.Queued, done.SameAs = u.queue, a.copyOf(ctx, u.file, o)
	httpapi.Succeed(w, status, done)
	return nil
}

// maxCopyPages caps the pages of a partition's listing that are searched for a copy.
const maxCopyPages = 4

// copyOf returns the name of another raw file of the partition that has the content of o and is not discarded, or "".
// If the partition cannot be listed, that is only logged: the file is stored.
func (a datasetRoutes) copyOf(ctx context.Context, file contract.RawFile, o *r2.Object) (name string) {
	p := file.Partition
	options := r2.ListOptions{Prefix: contract.RawPrefix(p.Country, p.Category, p.Date)}
	sum := md5Of(o)
	for range maxCopyPages {
		page, err := a.Bucket.List(ctx, options)
		if err != nil {
			a.Log.Warn("copy_check_failed", "error_type", contract.KindOf(err), "error", err.Error())
			return ""
		}
		for i := range page.Objects {
			other := &page.Objects[i]
			copied, checkpoint, ok := contract.ParseRawKey(other.Key)
			if !ok || checkpoint || copied.Name == file.Name || sum == nil || other.Size != o.Size {
				continue
			}
			if md5 := md5Of(other); md5 == nil || *md5 != *sum {
				continue
			}
			if ended, err := a.endState(ctx, copied, other); err == nil && ended != contract.DiscardedFile {
				return copied.Name
			}
		}
		if !page.Truncated || len(page.Objects) == 0 {
			break
		}
		options.StartAfter = page.Objects[len(page.Objects)-1].Key
	}
	return ""
}

// replace stores a file in place of old, which has no valid checkpoint. If an event is still processing old, its
// output is merged with the new file's, and its checkpoint names old, so the new file is not taken for processed.
func (a datasetRoutes) replace(w http.ResponseWriter, r *http.Request, u uploadRequest, old *r2.Object) error {
	const op = "handlers.replace"
	if err := a.unprocessed(r.Context(), u.file, old, "; upload under the next number instead"); err != nil {
		return err
	}
	o, err := a.Bucket.Store(r.Context(), u.file.Key(), r, r2.Condition{ETag: old.ETag})
	if errors.Is(err, r2.ErrPrecondition) {
		return httpapi.Errorf(http.StatusConflict, "conflict",
			"another request replaced or deleted the file meanwhile; check it, then try again")
	}
	if err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	ctx := context.WithoutCancel(r.Context())
	// Neither counts: the mark is older than the file, and a checkpoint written meanwhile is for old.
	if err := a.Bucket.Delete(ctx, u.file.DiscardMark(), u.file.Checkpoint()); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	a.endFile(ctx, r, u.file, false)
	a.Log.Info("file_replaced", "file_path", u.file.Key(), "by", httpapi.Actor(r))
	return a.stored(w, r, u, o, http.StatusOK)
}

// deleteFile deletes a raw file without a checkpoint. A message of the file that is still queued finds the discard
// mark and ends.
func (a datasetRoutes) deleteFile(w http.ResponseWriter, r *http.Request) error {
	const op = "handlers.deleteFile"
	if err := onlyQuery(r); err != nil {
		return err
	}
	file, err := rawFile(r)
	if err != nil {
		return err
	}
	o, err := a.Bucket.Head(r.Context(), file.Key())
	if errors.Is(err, r2.ErrNotFound) {
		return httpapi.NotFound("there is no raw file %s", file.Key())
	}
	if err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	if err := a.unprocessed(r.Context(), file, o, ""); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	if _, err := a.Bucket.Put(ctx, file.DiscardMark(), nil,
		&r2.PutOptions{Metadata: contract.DiscardMetadata(httpapi.Actor(r))}); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	if err := a.Bucket.Delete(ctx, file.Key(), file.Checkpoint()); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	a.endFile(ctx, r, file, true)
	a.Log.Info("file_deleted", "file_path", file.Key(), "by", httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusOK, deletedFile{file.Key(), o.Size})
	return nil
}

// deletedFile is the answer to a deletion.
type deletedFile struct {
	Key  string `json:"key"`
	Size int64  `json:"size"`
}

// unprocessed refuses a file whose checkpoint says that it was processed.
func (a datasetRoutes) unprocessed(ctx context.Context, file contract.RawFile, o *r2.Object, advice string) error {
	checkpoint, err := a.Bucket.Head(ctx, file.Checkpoint())
	switch {
	case err == nil && contract.ProcessedAs(o.ETag, checkpoint.Metadata):
		return httpapi.Errorf(http.StatusConflict, "already_processed",
			"%s was processed, and contracts may depend on it%s", file.Name, advice)
	case err != nil && !errors.Is(err, r2.ErrNotFound):
		return contract.Wrap(contract.Storage, "handlers.unprocessed", err)
	}
	return nil
}

// endFile records in the ledger that a file was replaced or deleted. A failure is only logged.
func (a datasetRoutes) endFile(ctx context.Context, r *http.Request, file contract.RawFile, deleted bool) {
	if err := a.Ledger.EndFile(ctx, file, deleted, a.Now(), httpapi.Actor(r)); err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}

// uploadRequest is a checked upload.
type uploadRequest struct {
	file           contract.RawFile
	queue, replace bool
}

// rawFile returns the raw file that the path names.
func rawFile(r *http.Request) (file contract.RawFile, err error) {
	if file.Partition, err = partition(r); err != nil {
		return file, err
	}
	digits := strings.TrimSuffix(contract.RawNumber(r.PathValue("chunk")), ".json")
	if !contract.IsRawNumber(digits) {
		return file, contract.Invalid("chunk",
			"%q is not the number of a raw file; send four or more digits, such as %q", digits, "raw_0001")
	}
	file.Name = contract.RawName(digits)
	return file, nil
}

// checkUpload checks the headers and parameters of an upload.
func checkUpload(r *http.Request) (u uploadRequest, err error) {
	q, err := readQuery(r, "orchestrate", "replace")
	if err != nil {
		return u, err
	}
	if u.file, err = rawFile(r); err != nil {
		return u, err
	}
	for name, to := range map[string]*bool{"orchestrate": &u.queue, "replace": &u.replace} {
		if v := q.flag(name); v != nil {
			*to = *v
		}
	}
	if q.err != nil {
		return u, q.err
	}
	if err := httpapi.RequireJSON(r); err != nil {
		return u, err
	}
	if r.ContentLength < 0 {
		return u, httpapi.Errorf(http.StatusLengthRequired, "length_required",
			"the file needs a length; send Content-Length")
	}
	if r.ContentLength == 0 {
		return u, contract.Invalid("body",
			"is empty; send the raw file: a JSON array of records, or an object with \"records\"")
	}
	return u, nil
}

// uploadAgain answers the upload of a file that exists. Clients repeat uploads if they missed the first answer or
// could not have the file queued, so a waiting file is queued.
func (a datasetRoutes) uploadAgain(w http.ResponseWriter, r *http.Request, u uploadRequest, o *r2.Object) error {
	done := uploadResult{Key: o.Key, Size: o.Size}
	ctx := context.WithoutCancel(r.Context())
	ended, err := a.endState(ctx, u.file, o)
	if err != nil {
		return err
	}
	if done.Same, err = a.same(r, o); err != nil {
		return err
	}
	if u.queue && ended == "" && a.isWaiting(ctx, u.file, o) {
		err = a.queueFile(ctx, u.file, o.ETag)
		done.Queued = err == nil
	}
	if err == nil {
		message := o.Key + " exists; upload under the next number, or replace it while it is not processed"
		switch same := done.Same != nil && *done.Same; {
		case ended == contract.DiscardedFile:
			message = o.Key + " exists and is discarded; upload under the next number, or replace it"
		case same:
			message = o.Key + " exists with this very content; it was left alone"
		case ended != "":
			message = o.Key + " exists and was processed; upload under the next number"
		}
		err = httpapi.Errorf(http.StatusConflict, "already_exists", "%s", message)
	}
	a.server().Fail(w, r, err, done)
	return nil
}

// same reports whether a request's body equals o, nil if the store does not know o's digest. It does not keep the
// body.
func (a datasetRoutes) same(r *http.Request, o *r2.Object) (*bool, error) {
	stored, same := md5Of(o), r.ContentLength == o.Size
	switch {
	case same && stored == nil:
		return nil, nil
	case same:
		sum, err := a.Bucket.MD5(r.Context(), r)
		if err != nil {
			return nil, contract.Wrap(contract.Storage, "handlers.upload", err)
		}
		same = sum == *stored
	}
	return &same, nil
}

// endState returns the state of a stored raw file that is processed or discarded, "" for others.
func (a datasetRoutes) endState(ctx context.Context, file contract.RawFile, o *r2.Object) (string, error) {
	for _, state := range []string{string(contract.Processed), contract.DiscardedFile} {
		key := file.Checkpoint()
		if state == contract.DiscardedFile {
			key = file.DiscardMark()
		}
		switch mark, err := a.Bucket.Head(ctx, key); {
		case err == nil && state == contract.DiscardedFile && !mark.Uploaded.Before(o.Uploaded),
			err == nil && state != contract.DiscardedFile && contract.ProcessedAs(o.ETag, mark.Metadata):
			return state, nil
		case err != nil && !errors.Is(err, r2.ErrNotFound):
			return "", contract.Wrap(contract.Storage, "handlers.upload", err)
		}
	}
	return "", nil
}

// isWaiting reports whether a stored raw file that has not ended is neither queued nor malformed. Without the
// ledger it returns true: a file that is queued twice is processed once.
func (a datasetRoutes) isWaiting(ctx context.Context, file contract.RawFile, o *r2.Object) bool {
	standings, err := a.Ledger.Standings(ctx, []contract.RawFile{file}, a.Now().Add(-orchestrator.InFlight),
		time.Time{})
	if err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	standing := standings[file]
	return !standing.InFlight && !standing.Broken(o.Uploaded)
}

// queueFile queues a stored raw file and records it in the ledger, queued or not.
func (a datasetRoutes) queueFile(ctx context.Context, file contract.RawFile, etag string) error {
	change := ledger.FileChange{RawFile: file, Queued: a.Now()}
	var b contract.Batch
	b.Add(contract.Encode(contract.SeedMessage{FilePath: file.Key(), Partition: file.Partition,
		RequestedAt: change.Queued.UTC(), ETag: etag}))
	err := a.Seeds.Send(ctx, &b)
	if err != nil {
		change.Queued = time.Time{}
		err = &contract.Error{Kind: contract.Storage, Op: "handlers.upload",
			Message: "the file is stored but could not be queued; repeat this request, or POST " +
				"/api/v1/seeds/orchestrate", Err: err}
	}
	a.record(ctx, ledger.Changes{Files: []ledger.FileChange{change}})
	return err
}
