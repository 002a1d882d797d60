package handlers

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/r2"
)

// partition reads and checks the partition of a dataset's path.
func partition(r *http.Request) (contract.Partition, error) {
	p := contract.Partition{Country: country(r.PathValue("country")), Category: r.PathValue("category"),
		Date: r.PathValue("date")}
	return p, p.Validate("")
}

type chunk struct {
	Chunk        string               `json:"chunk"`
	Key          string               `json:"key"`
	Size         int64                `json:"size"`
	MD5          *string              `json:"md5"` // null if the store does not know it
	UploadedAt   contract.Time        `json:"uploaded_at"`
	State        string               `json:"state"` // pending, processed, failed or discarded
	ProcessedAt  *string              `json:"processed_at"`
	ErrorType    *string              `json:"error_type"` // of a failed or discarded file
	ErrorMessage *string              `json:"error_message"`
	Records      *int64               `json:"records_total"` // null unless processed, as are the next two
	Rejected     *int64               `json:"records_rejected"`
	Rejections   []contract.Rejection `json:"rejections"` // the first contract.MaxRejections
}

// md5Of returns the MD5 of an object's content in hexadecimal, or nil if it was uploaded in parts. For other
// objects it is the ETag (developers.cloudflare.com/r2/objects/multipart-objects/#etags).
func md5Of(o *r2.Object) *string {
	if len(o.ETag) != 32 || strings.Trim(o.ETag, "0123456789abcdef") != "" {
		return nil
	}
	return &o.ETag
}

type listing struct {
	Partition contract.Partition `json:"partition_info"`
	Files     []chunk            `json:"files"`
	Cursor    *string            `json:"cursor"` // ?cursor= of the next page
}

// listDataset shows one page of a partition's raw files with their state.
func (a datasetRoutes) listDataset(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "cursor")
	if err != nil {
		return err
	}
	p, err := partition(r)
	if err != nil {
		return err
	}
	prefix := contract.RawPrefix(p.Country, p.Category, p.Date)
	options := r2.ListOptions{Prefix: prefix, Metadata: true}
	if cursor := q.text("cursor"); cursor != "" {
		options.StartAfter = prefix + cursor
	}
	if len(options.StartAfter) > r2.MaxKeyBytes {
		q.fail(contract.BadCursor())
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.Bucket.List(r.Context(), options)
	if err != nil {
		return contract.Wrap(contract.Storage, "handlers.listDataset", err)
	}
	out := listing{Partition: p, Files: make([]chunk, 0, len(page.Objects))}
	var before, last string // last key before the last file, and last key
	for i := range page.Objects {
		o := &page.Objects[i]
		file, checkpoint, ok := contract.ParseRawKey(o.Key)
		switch n := len(out.Files); {
		case ok && !checkpoint:
			before = last
			out.Files = append(out.Files, chunk{Chunk: file.Name, Key: o.Key, Size: o.Size, MD5: md5Of(o),
				UploadedAt: contract.Time{Time: o.Uploaded}, State: string(contract.Pending),
				Rejections: []contract.Rejection{}})
		case n == 0:
		case ok && file.Name == out.Files[n-1].Chunk:
			out.Files[n-1].finished(o)
		case strings.HasPrefix(o.Key, out.Files[n-1].Key) &&
			o.Key == (contract.RawFile{Partition: p, Name: out.Files[n-1].Chunk}).DiscardMark():
			out.Files[n-1].discarded(o)
		}
		last = o.Key
	}
	if page.Truncated {
		// The checkpoint of the last file might be on the next page, which therefore starts with that file.
		if n := len(out.Files); n > 1 && out.Files[n-1].State != string(contract.Processed) {
			out.Files, last = out.Files[:n-1], before
		}
		out.Cursor = contract.Text(strings.TrimPrefix(last, prefix))
	}
	a.addRecords(r.Context(), &out)
	httpapi.Succeed(w, http.StatusOK, out)
	return nil
}

// finished sets the state of a file from its checkpoint.
func (c *chunk) finished(checkpoint *r2.Object) {
	if etag := checkpoint.Metadata[contract.RawETagField]; c.MD5 != nil && etag != "" && etag != *c.MD5 {
		return // belongs to a file that was replaced
	}
	c.State = string(contract.Processed)
	c.ProcessedAt = contract.Text(checkpoint.Metadata["processed_at"])
	if counts := contract.RecordCountsOf(checkpoint.Metadata); counts.Total > 0 {
		c.Records, c.Rejected = &counts.Total, &counts.Rejected
		c.Rejections = append(c.Rejections, counts.First...)
	}
}

// discarded sets the state of a file that an operator discarded, unless it was uploaded again since.
func (c *chunk) discarded(mark *r2.Object) {
	if !mark.Uploaded.Before(c.UploadedAt.Time) {
		c.State = contract.DiscardedFile
	}
}

// AppendJSON is json.Marshal by hand: a page has up to a thousand files, and reflection takes ten times as long.
func (l listing) AppendJSON(b []byte) []byte {
	b = slices.Grow(b, 512*(len(l.Files)+1))
	b = append(append(append(b, `{"partition_info":`...), contract.Encode(l.Partition)...), `,"files":[`...)
	for i := range l.Files {
		if i > 0 {
			b = append(b, ',')
		}
		b = l.Files[i].appendJSON(b)
	}
	return append(contract.AppendTextOrNull(append(b, `],"cursor":`...), l.Cursor), '}')
}

func (c *chunk) appendJSON(b []byte) []byte {
	b = contract.AppendText(append(b, `{"chunk":`...), c.Chunk)
	b = contract.AppendText(append(b, `,"key":`...), c.Key)
	b = strconv.AppendInt(append(b, `,"size":`...), c.Size, 10)
	b = contract.AppendTextOrNull(append(b, `,"md5":`...), c.MD5)
	b = c.UploadedAt.Append(append(b, `,"uploaded_at":`...))
	b = contract.AppendText(append(b, `,"state":`...), c.State)
	b = contract.AppendTextOrNull(append(b, `,"processed_at":`...), c.ProcessedAt)
	b = contract.AppendTextOrNull(append(b, `,"error_type":`...), c.ErrorType)
	b = contract.AppendTextOrNull(append(b, `,"error_message":`...), c.ErrorMessage)
	b = appendIntOrNull(append(b, `,"records_total":`...), c.Records)
	b = appendIntOrNull(append(b, `,"records_rejected":`...), c.Rejected)
	b = append(b, `,"rejections":`...)
	if len(c.Rejections) == 0 {
		return append(b, "[]}"...)
	}
	return append(append(b, contract.Encode(c.Rejections)...), '}')
}

func appendIntOrNull(b []byte, n *int64) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, *n, 10)
}

// addRecords adds what only the ledger knows: which files failed, and why.
func (a datasetRoutes) addRecords(ctx context.Context, out *listing) {
	var names []string
	for i := range out.Files {
		if out.Files[i].State != string(contract.Processed) {
			names = append(names, out.Files[i].Chunk)
		}
	}
	if len(names) == 0 {
		return
	}
	records, err := a.Ledger.Files(ctx, out.Partition, names)
	if err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	for i := range out.Files {
		c := &out.Files[i]
		r, ok := records[c.Chunk]
		switch {
		case !ok || c.State == string(contract.Processed):
		case c.State == contract.DiscardedFile, r.State == string(contract.Failed):
			c.ErrorType, c.ErrorMessage = r.ErrorType, r.ErrorMessage
			if c.State == string(contract.Pending) {
				c.State = r.State
			}
		}
	}
}
