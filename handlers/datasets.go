package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
)

// partition reads and checks the partition of a dataset's path.
func partition(r *http.Request) (contract.Partition, error) {
	p := contract.Partition{Country: strings.ToLower(r.PathValue("country")), Category: r.PathValue("category"), Date: r.PathValue("date")}
	return p, p.Validate("")
}

type chunk struct {
	Chunk       string        `json:"chunk"`
	Key         string        `json:"key"`
	Size        int64         `json:"size"`
	UploadedAt  contract.Time `json:"uploaded_at"`
	State       string        `json:"state"` // pending or processed
	ProcessedAt *string       `json:"processed_at"`
}

type listing struct {
	Partition contract.Partition `json:"partition_info"`
	Files     []chunk            `json:"files"`
	Cursor    *string            `json:"cursor"` // ?cursor= of the next page
}

// listDataset shows one page of a partition's raw files with their state.
func (a *API) listDataset(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r, "cursor"); err != nil {
		return err
	}
	p, err := partition(r)
	if err != nil {
		return err
	}
	prefix := contract.RawPrefix(p.Country, p.Category, p.Date)
	options := r2.ListOptions{Prefix: prefix, Metadata: true}
	if c := r.URL.Query().Get("cursor"); c != "" {
		options.StartAfter = prefix + c
	}
	page, err := a.Bucket.List(r.Context(), options)
	if err != nil {
		return contract.Wrap(contract.Storage, "handlers.listDataset", err)
	}
	out := listing{Partition: p, Files: []chunk{}}
	var before, last string // the keys seen before the last file, and last of all
	for _, o := range page.Objects {
		file, checkpoint, ok := contract.ParseRawKey(o.Key)
		switch n := len(out.Files); {
		case ok && !checkpoint:
			before = last
			out.Files = append(out.Files, chunk{Chunk: file.Name, Key: o.Key, Size: o.Size, UploadedAt: contract.Time{Time: o.Uploaded}, State: "pending"})
		case ok && n > 0 && out.Files[n-1].Key == file.Key():
			out.Files[n-1].State = "processed"
			out.Files[n-1].ProcessedAt = contract.Text(o.Metadata["processed_at"])
		}
		last = o.Key
	}
	if page.Truncated {
		// The checkpoint of the last file may stand on the next page, which then starts with that file.
		if n := len(out.Files); n > 1 && out.Files[n-1].State == "pending" {
			out.Files, last = out.Files[:n-1], before
		}
		out.Cursor = contract.Text(strings.TrimPrefix(last, prefix))
	}
	succeed(w, http.StatusOK, out)
	return nil
}

// uploaded is what an upload answers.
type uploaded struct {
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Queued bool   `json:"queued"` // by this request
}

// ErrTooManyUploads is the error of Bucket.Store while it takes no more bodies at once.
var ErrTooManyUploads = errors.New("too many uploads are under way")

// upload stores a raw file, once. The body streams into the bucket.
func (a *API) upload(w http.ResponseWriter, r *http.Request) error {
	file, queue, err := checkUpload(r)
	if err != nil {
		return err
	}
	key := file.Key()
	switch o, err := a.Bucket.Head(r.Context(), key); {
	case err == nil:
		return a.uploadAgain(w, r, file, o, queue)
	case !errors.Is(err, r2.ErrNotFound):
		return contract.Wrap(contract.Storage, "handlers.upload", err)
	}
	o, err := a.Bucket.Store(r.Context(), key, r)
	if errors.Is(err, r2.ErrPrecondition) { // another request was faster
		if o, err = a.Bucket.Head(r.Context(), key); err == nil {
			return a.uploadAgain(w, r, file, o, queue)
		}
	}
	if errors.Is(err, ErrTooManyUploads) {
		w.Header().Set("Retry-After", "5")
		return &failure{http.StatusServiceUnavailable, "busy", "too many files are being uploaded; try again in a few seconds"}
	}
	if err != nil {
		return contract.Wrap(contract.Storage, "handlers.upload", err)
	}
	done := uploaded{Key: key, Size: o.Size}
	// What is stored is queued and on record even if the client has hung up.
	ctx := context.WithoutCancel(r.Context())
	if !queue {
		a.record(ctx, ledger.Changes{Files: []ledger.FileChange{{RawFile: file}}})
	} else if err := a.queueFile(ctx, file); err != nil {
		fail(w, r, a.Log, err, done)
		return nil
	}
	done.Queued = queue
	w.Header().Set("Location", r.URL.Path)
	succeed(w, http.StatusCreated, done)
	return nil
}

// checkUpload reads which raw file an upload brings, and whether it is to be queued.
func checkUpload(r *http.Request) (file contract.RawFile, queue bool, err error) {
	if err := onlyQuery(r, "orchestrate"); err != nil {
		return file, false, err
	}
	if file.Partition, err = partition(r); err != nil {
		return file, false, err
	}
	digits := strings.TrimSuffix(contract.RawNumber(r.PathValue("chunk")), ".json")
	if !contract.IsRawNumber(digits) {
		return file, false, contract.Invalid("chunk", "%q is not the number of a raw file; send four or more digits, such as %q", digits, "raw_0001")
	}
	file.Name = contract.RawName(digits)
	switch v := r.URL.Query().Get("orchestrate"); v {
	case "true":
		queue = true
	case "", "false":
	default:
		return file, false, contract.Invalid("orchestrate", "%q is neither; send true or false", v)
	}
	if err := wantJSON(r); err != nil {
		return file, false, err
	}
	if r.ContentLength < 0 {
		return file, false, &failure{http.StatusLengthRequired, "length_required", "the length of the file is unknown; send Content-Length"}
	}
	if r.ContentLength == 0 {
		return file, false, contract.Invalid("body", "is empty; send the raw file: a JSON array of records, or an object with \"records\"")
	}
	return file, queue, nil
}

// uploadAgain answers the upload of a raw file that is stored already. A client repeats an upload when it
// missed the first answer, or could not have the file queued. So the file is queued, if it is neither
// finished nor in flight.
func (a *API) uploadAgain(w http.ResponseWriter, r *http.Request, file contract.RawFile, o *r2.Object, queue bool) error {
	exists := &failure{http.StatusConflict, "already_exists", "raw files are immutable and " + o.Key + " exists; upload under the next number"}
	if !queue {
		return exists
	}
	done := uploaded{Key: o.Key, Size: o.Size}
	ctx := context.WithoutCancel(r.Context())
	waiting, err := a.waiting(ctx, file)
	if err == nil && waiting {
		err = a.queueFile(ctx, file)
		done.Queued = err == nil
	}
	if err == nil {
		err = exists
	}
	fail(w, r, a.Log, err, done)
	return nil
}

// waiting reports whether a stored raw file is neither finished nor in flight. When the ledger is away it
// counts as not in flight: a file that is queued twice is processed once.
func (a *API) waiting(ctx context.Context, file contract.RawFile) (bool, error) {
	switch _, err := a.Bucket.Head(ctx, file.Checkpoint()); {
	case err == nil:
		return false, nil
	case !errors.Is(err, r2.ErrNotFound):
		return false, contract.Wrap(contract.Storage, "handlers.upload", err)
	}
	inFlight, err := a.Ledger.InFlight(ctx, []contract.RawFile{file}, a.Now().Add(-orchestrator.InFlight), time.Time{})
	if err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	return !inFlight[file], nil
}

// queueFile queues a stored raw file, and has the ledger note that the file is there, queued or not.
func (a *API) queueFile(ctx context.Context, file contract.RawFile) error {
	change := ledger.FileChange{RawFile: file, Queued: a.Now()}
	var b contract.Batch
	b.Add(contract.Encode(contract.SeedMessage{FilePath: file.Key(), Partition: file.Partition, RequestedAt: change.Queued.UTC()}))
	err := a.Seeds.Send(ctx, &b)
	if err != nil {
		change.Queued = time.Time{}
		err = &contract.Error{Kind: contract.Storage, Op: "handlers.upload", Message: "the file is stored but could not be queued; repeat this request, or POST /api/v1/seeds/orchestrate", Err: err}
	}
	a.record(ctx, ledger.Changes{Files: []ledger.FileChange{change}})
	return err
}
