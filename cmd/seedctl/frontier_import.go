package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func frontierSnapshotCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "snapshot [flags] [SHARD…]",
		Short: "store snapshots of shards now",
		Long: `Makes shards, all of them without a name, store a snapshot within a minute or so, in the place of
the day's. Shards without hosts store none.

With --json it prints {"shards", "unavailable"}.`,
		Example: `  seedctl frontier snapshot
  seedctl frontier snapshot shard-3`,
	})
	return r.command(func(ctx context.Context, shards []string) error {
		bodies := []map[string]string{{}}
		if len(shards) > 0 {
			bodies = nil
		}
		for _, name := range shards {
			bodies = append(bodies, map[string]string{"shard": name})
		}
		sum := contract.SnapshotsOrdered{Shards: []string{}, Unavailable: []string{}}
		for _, body := range bodies {
			var one contract.SnapshotsOrdered
			err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "snapshot"}, Body: body}, &one)
			if err != nil {
				return err
			}
			sum.Shards = append(sum.Shards, one.Shards...)
			sum.Unavailable = append(sum.Unavailable, one.Unavailable...)
		}
		if err := r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s stored within a minute or so: %s\n", count(len(sum.Shards), "snapshot"),
				plain(or(contract.Text(strings.Join(sum.Shards, ", ")))))
			return err
		}); err != nil {
			return err
		}
		if len(sum.Unavailable) > 0 {
			r.complain("no answer from %s", plain(strings.Join(sum.Unavailable, ", ")))
			return errReported
		}
		return nil
	})
}

func frontierImportCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "import [flags] [FILE…]",
		ValidArgsFunction: files,
		Short:             "restore what \"frontier export\" wrote",
		Long: `Reads the lines of exports from files, or from standard input, and sends them in parts. Each host
goes to the shard that its domain has now. What a shard has already stays, so an import may be
repeated. Lines that the engine refuses are named by their number, and the exit code is 1.

With --json it prints {"hosts"}, to which something was added.`,
		Example: `  seedctl frontier import shard-3.jsonl`,
	})
	return r.command(func(ctx context.Context, files []string) error {
		p := importer{ctx: ctx, remote: r}
		if len(files) == 0 {
			files = []string{"-"}
		}
		for _, name := range files {
			if err := p.file(name, r.in); err != nil {
				return err
			}
		}
		r.progress.clear()
		if err := r.show(p.sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s restored from %s\n", count(int(p.sum.Hosts), "host"),
				count(p.lines-p.refused, "line"))
			return err
		}); err != nil {
			return err
		}
		if p.refused > 0 {
			return errReported
		}
		return nil
	})
}

// importer sends exported pages in parts.
type importer struct {
	ctx            context.Context
	remote         *remote
	sum            contract.FrontierImported
	lines, refused int
}

// maxExportLine caps a line of an export, which has a megabyte or a single host.
const maxExportLine = 64 << 20

func (p *importer) file(name string, in io.Reader) error {
	return eachLine(name, in, maxExportLine, func(line []byte, at string) error {
		p.lines++
		err := p.line(line)
		var refused *client.Error
		switch {
		case errors.Is(err, errExportLine) || errors.As(err, &refused) &&
			(refused.Status == 400 || refused.Status == 413):
			p.refused++
			p.remote.complain("%s: %s", plain(at), err)
		case err != nil:
			return fmt.Errorf("%s: %w", at, err)
		}
		p.remote.progress.update(-1,
			fmt.Sprintf("%s, %s restored", count(p.lines, "line"), count(int(p.sum.Hosts), "host")))
		return nil
	})
}

var errExportLine = errors.New("is not a line of an export")

// exportedPage is a line of an export, whose hosts only the engine understands.
type exportedPage struct {
	Version int               `json:"version"`
	Classes json.RawMessage   `json:"classes,omitempty"`
	Hosts   []json.RawMessage `json:"hosts"`
	Domains []json.RawMessage `json:"domains,omitempty"`
	Next    int64             `json:"next,omitempty"`
}

// line sends a page, in parts that the engine takes. A host that is larger is sent alone.
func (p *importer) line(line []byte) error {
	var page exportedPage
	if err := json.Unmarshal(line, &page); err != nil || page.Version < 1 {
		return errExportLine
	}
	// not the last
	part := exportedPage{Version: page.Version, Classes: page.Classes, Hosts: []json.RawMessage{}, Next: 1}
	size := 0
	makeRoom := func(bytes int) error {
		if size > 0 && size+bytes > maxBatchBytes {
			if err := p.send(part); err != nil {
				return err
			}
			part.Hosts, part.Domains, size = []json.RawMessage{}, nil, 0
		}
		size += bytes
		return nil
	}
	for _, host := range page.Hosts {
		if err := makeRoom(len(host)); err != nil {
			return err
		}
		part.Hosts = append(part.Hosts, host)
	}
	for _, domain := range page.Domains {
		if err := makeRoom(len(domain)); err != nil {
			return err
		}
		part.Domains = append(part.Domains, domain)
	}
	part.Next = page.Next
	return p.send(part)
}

func (p *importer) send(part exportedPage) error {
	var one contract.FrontierImported
	err := p.remote.Call(p.ctx, client.Request{Method: "POST", Path: []string{"frontier", "import"}, Body: part}, &one)
	p.sum.Hosts += one.Hosts
	return err
}
