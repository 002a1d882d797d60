package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// rawFile is a raw file as the engine lists it.
type rawFile struct {
	Chunk        string               `json:"chunk"`
	Key          string               `json:"key"`
	Size         int64                `json:"size"`
	MD5          *string              `json:"md5"`
	UploadedAt   contract.Time        `json:"uploaded_at"`
	State        string               `json:"state"`
	ProcessedAt  *string              `json:"processed_at"`
	ErrorType    *string              `json:"error_type"`
	ErrorMessage *string              `json:"error_message"`
	Records      *int64               `json:"records_total"`
	Rejected     *int64               `json:"records_rejected"`
	Rejections   []contract.Rejection `json:"rejections"`
}

func filesListCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "list --country LETTERS --category NAME --date DAY",
		Short: "raw files of a partition, their states, and rejected records",
		Args:  noArgs,
		Long: `A file is pending, processed, failed (it has a dead letter) or discarded (an operator discarded
that; it is queued no more until another file replaces it). Of processed ones it shows how many of
their records were rejected, and below them why, of each the first ten.

With --json each line is a file {"chunk", "key", "size", "md5", "uploaded_at", "state",
"processed_at", "error_type", "error_message", "records_total", "records_rejected",
"rejections": [{"record", "offset", "reason"}]}.`,
		Example: `  seedctl files list --country sg --category news --date 2026-01-28`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	return r.command(func(ctx context.Context, _ []string) error {
		if err := wholePartition(p); err != nil {
			return err
		}
		rows := []string{fileHeader}
		rejected := []string{"", "FILE\tRECORD\tOFFSET\tREASON"}
		err := eachFile(ctx, r, p, func(f rawFile) error {
			if r.asJSON {
				return writeJSON(r.out, f)
			}
			rows = append(rows, fileRow(&f))
			for _, x := range f.Rejections {
				rejected = append(rejected, rejectionRow(f.Chunk, x))
			}
			return nil
		})
		if err != nil || r.asJSON {
			return err
		}
		if len(rows) == 1 {
			r.hint(ctx)
		}
		if err := table(r.out, rows...); err != nil {
			return err
		}
		return tableIf(len(rejected) > 2, r.out, rejected)
	})
}

// files returns all raw files of a partition.
func (r *remote) files(ctx context.Context, p contract.Partition) ([]rawFile, error) {
	files := []rawFile{}
	err := eachFile(ctx, r, p, func(f rawFile) error {
		files = append(files, f)
		return nil
	})
	return files, err
}

// maxStatusFiles caps the files that a status shows to people.
const maxStatusFiles = 20

// writeFiles shows files as part of a status, those that need an operator first.
func writeFiles(w io.Writer, files []rawFile) error {
	order := []string{string(contract.Failed), contract.DiscardedFile, string(contract.Pending),
		string(contract.Processed)}
	files = slices.SortedStableFunc(slices.Values(files), func(a, b rawFile) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	more := len(files) - maxStatusFiles
	t := listTable(fileHeader, files[:min(len(files), maxStatusFiles)], fileRow)
	if more > 0 {
		t.add("%d more; \"seedctl files list\" shows all", more)
	}
	return tables(w, t)
}

const fileHeader = "FILE\tSTATE\tSIZE\tUPLOADED\tRECORDS\tREJECTED\tERROR"

func fileRow(f *rawFile) string {
	why := or(f.ErrorType)
	if f.ErrorMessage != nil {
		why += ": " + or(f.ErrorMessage)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", plain(f.Chunk), plain(f.State), bytesText(f.Size),
		moment(&f.UploadedAt), number(f.Records), number(f.Rejected), why)
}

func rejectionRow(file string, x contract.Rejection) string {
	return fmt.Sprintf("%s\t%d\t%d\t%s", plain(file), x.Record, x.Offset, plain(x.Reason))
}

func filesDeleteCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "delete --country LETTERS --category NAME --date DAY [flags] NUMBER…",
		Short: "remove raw files that were not processed",
		Long: `A file is named by its number: 1, 0001 or raw_0001. One that was processed stays, since contracts
may depend on it. Messages of a deleted file that are still queued end without a dead letter, and
those it has are discarded. "seedctl upload --replace" stores another file in its place instead.

With --json each line is a file {"key", "size"}.`,
		Example: `  seedctl files delete --country sg --category news --date 2026-01-28 7`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	return r.command(func(ctx context.Context, numbers []string) error {
		if err := wholePartition(p); err != nil {
			return err
		}
		if len(numbers) == 0 {
			return usageError("name files by their numbers, such as 1 or raw_0001")
		}
		names := make([]string, len(numbers))
		for i, n := range numbers {
			var ok bool
			if names[i], ok = chunkName(n); !ok {
				return usageError(fmt.Sprintf("%q is no number of up to twelve digits, such as 1 or raw_0001", n))
			}
		}
		for _, name := range names {
			var gone struct {
				Key  string `json:"key"`
				Size int64  `json:"size"`
			}
			if err := r.Call(ctx, client.Request{Method: "DELETE",
				Path: []string{"datasets", p.Country, p.Category, p.Date, name}}, &gone); err != nil {
				return err
			}
			if err := r.show(gone, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "deleted  %s  %s\n", plain(gone.Key), bytesText(gone.Size))
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
