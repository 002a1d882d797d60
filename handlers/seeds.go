package handlers

import (
	"net/http"
	"strings"

	"github.com/newsfork/seed-engine/contract"
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
