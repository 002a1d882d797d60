package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// orchestrate runs step 1 over the partitions of its filter.
func (a *API) orchestrate(w http.ResponseWriter, r *http.Request) error {
	var f contract.Filter
	if err := onlyQuery(r); err != nil {
		return err
	}
	if err := readJSON(r, &f); err != nil {
		return err
	}
	f.Country = strings.ToLower(f.Country)
	if err := f.Validate(""); err != nil {
		return err
	}
	result, err := a.Orchestrator.Run(r.Context(), contract.Continuation{Filter: f, RequestedAt: a.Now().UTC()})
	if err != nil {
		fail(w, r, a.Log, err, result)
		return nil
	}
	succeed(w, http.StatusOK, result)
	return nil
}

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
	prefix := r2.RawPrefix(p.Country, p.Category, p.Date)
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
		file, checkpoint, ok := r2.ParseRaw(o.Key)
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

// upload stores a raw file, once. The body streams into the bucket.
func (a *API) upload(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r, "orchestrate"); err != nil {
		return err
	}
	p, err := partition(r)
	if err != nil {
		return err
	}
	digits := strings.TrimSuffix(strings.TrimPrefix(r.PathValue("chunk"), "raw_"), ".json")
	if !contract.IsChunk(digits) {
		return contract.Invalid("chunk", "%q is not the number of a raw file; send four or more digits, such as %q", digits, "raw_0001")
	}
	queue := false
	switch v := r.URL.Query().Get("orchestrate"); v {
	case "true":
		queue = true
	case "", "false":
	default:
		return contract.Invalid("orchestrate", "%q is neither; send true or false", v)
	}
	if err := wantJSON(r); err != nil {
		return err
	}
	if r.ContentLength < 0 {
		return &failure{http.StatusLengthRequired, "length_required", "the length of the file is unknown; send Content-Length"}
	}
	if r.ContentLength == 0 {
		return contract.Invalid("body", "is empty; send the raw file: a JSON array of records, or an object with \"records\"")
	}
	key := r2.RawFile{Partition: p, Name: "raw_" + digits}.Key()
	exists := &failure{http.StatusConflict, "already_exists", "raw files are immutable and " + key + " exists; upload under the next number"}
	switch _, err := a.Bucket.Head(r.Context(), key); {
	case err == nil:
		return exists
	case !errors.Is(err, r2.ErrNotFound):
		return contract.Wrap(contract.Storage, "handlers.upload", err)
	}
	o, err := a.Bucket.Store(r.Context(), key, r)
	switch {
	case errors.Is(err, r2.ErrPrecondition):
		return exists
	case err != nil:
		return contract.Wrap(contract.Storage, "handlers.upload", err)
	}
	data := map[string]any{"key": key, "size": o.Size, "queued": queue}
	change := ledger.FileChange{RawFile: contract.RawFile{Partition: p, Name: "raw_" + digits}}
	if queue {
		change.Queued = a.Now()
		if err := a.queueFile(r, key, p); err != nil {
			data["queued"] = false
			change.Queued = time.Time{}
			a.record(r.Context(), ledger.Changes{Files: []ledger.FileChange{change}})
			fail(w, r, a.Log, &contract.Error{Kind: contract.Storage, Op: "handlers.upload", Message: "the file is stored but could not be queued; POST /api/v1/seeds/orchestrate queues it", Err: err}, data)
			return nil
		}
	}
	a.record(r.Context(), ledger.Changes{Files: []ledger.FileChange{change}})
	w.Header().Set("Location", r.URL.Path)
	succeed(w, http.StatusCreated, data)
	return nil
}

// record tells the ledger what was done, which is done without it.
func (a *API) record(ctx context.Context, c ledger.Changes) {
	if err := a.Ledger.Record(ctx, c); err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}

func (a *API) queueFile(r *http.Request, key string, p contract.Partition) error {
	var b contract.Batch
	b.Add(contract.Encode(contract.SeedMessage{FilePath: key, Partition: p, RequestedAt: a.Now().UTC()}))
	return a.Seeds.Send(r.Context(), &b)
}
