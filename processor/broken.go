package processor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// malformed is the error for a file that is not a dataset.
type malformed struct {
	offset int64
	cause  *contract.Error
}

func (m *malformed) Error() string { return m.cause.Error() }
func (m *malformed) Unwrap() error { return m.cause }

// broken handles a malformed file. It succeeds if an operator discarded the file since it was queued. Otherwise the
// error names the line and column.
func (p *Processor) broken(ctx context.Context, file contract.RawFile, read *r2.Object, at *malformed) (discarded bool,
	err error) {
	switch mark, err := p.Store.Head(ctx, file.DiscardMark()); {
	case err == nil && !mark.Uploaded.Before(read.Uploaded):
		p.ended(ctx, file, "discarded")
		return true, nil
	case err != nil && !errors.Is(err, r2.ErrNotFound):
		return false, storage(err)
	}
	line, column, err := p.locate(ctx, file, read.ETag, at.offset)
	if err != nil {
		return false, storage(err)
	}
	return false, &contract.Error{Kind: contract.Parse, Op: "processor.Process",
		Message: fmt.Sprintf("line %d, column %d, %s", line, column, at.cause.Message)}
}

// ended logs why nothing is done for a file.
func (p *Processor) ended(ctx context.Context, file contract.RawFile, reason string) {
	p.Log.LogAttrs(ctx, slog.LevelInfo, "file_processor_skipped", slog.String("file_path", file.Key()),
		slog.String("reason", reason))
}

// missing handles a file that does not exist. An operator might have deleted it since it was queued.
func (p *Processor) missing(ctx context.Context, file contract.RawFile) (deleted bool, err error) {
	switch _, err := p.Store.Head(ctx, file.DiscardMark()); {
	case err == nil:
		p.ended(ctx, file, "deleted")
		return true, nil
	case !errors.Is(err, r2.ErrNotFound):
		return false, storage(err)
	}
	return false, contract.Invalid("file_path", "there is no object %q; upload the file before it is queued",
		file.Key())
}

// locate reads a file again up to an offset, and returns the line and column there, counted from 1 and in characters.
// This saves counting the lines of good files.
func (p *Processor) locate(ctx context.Context, file contract.RawFile, etag string, offset int64) (line, column int,
	err error) {
	body, err := p.Store.Get(ctx, file.Key())
	if err != nil {
		return 0, 0, err
	}
	defer body.Close()
	if body.ETag != etag {
		return 0, 0, errReplaced
	}
	line, column = 1, 1
	buf := make([]byte, 64<<10)
	for offset > 0 {
		n, err := body.Read(buf[:min(offset, int64(len(buf)))])
		piece := buf[:n]
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			line += bytes.Count(piece, []byte{'\n'})
			column, piece = 1, piece[i+1:]
		}
		for _, b := range piece {
			if utf8.RuneStart(b) {
				column++
			}
		}
		offset -= int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return line, column, nil
}

// errReplaced is returned if the file changed during the work.
var errReplaced = errors.New("the file was replaced while it was read; the new one is read next")
