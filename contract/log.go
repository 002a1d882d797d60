package contract

import (
	"context"
	"hash/fnv"
	"io"
	"log/slog"
	"strings"
)

// NewLogger returns a logger that writes one JSON object per line: ts (RFC 3339, UTC), level, event, and the
// event's fields, named as in the workflow documents. The message of a log call is the event.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				return slog.String("ts", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
			case slog.LevelKey:
				return slog.String("level", strings.ToLower(a.Value.String()))
			case slog.MessageKey:
				a.Key = "event"
			}
			return a
		},
	}))
}

// SampleLog returns a logger that keeps the routine lines of so many percent of domains and raw files, and everything
// else: warnings, errors, and lines about neither. A domain's lines are kept together.
func SampleLog(log *slog.Logger, percent int) *slog.Logger {
	if percent >= 100 {
		return log
	}
	return slog.New(&sampler{log.Handler(), percent})
}

// sampler drops records before the handler writes them.
type sampler struct {
	slog.Handler
	percent int
}

// sampledBy are the fields that tell what a routine line is about, in the order in which they count.
var sampledBy = [...]string{"domain_id", "registrable_domain", "file_path"}

// Handle implements slog.Handler.
func (s *sampler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn && !s.keeps(r) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func (s *sampler) keeps(r slog.Record) bool {
	about, rank := "", len(sampledBy)
	r.Attrs(func(a slog.Attr) bool {
		for i, name := range sampledBy[:rank] {
			if a.Key == name {
				about, rank = a.Value.String(), i
			}
		}
		return rank > 0
	})
	if rank == len(sampledBy) {
		return true
	}
	h := fnv.New32a()
	io.WriteString(h, about)
	return int(h.Sum32()%100) < s.percent
}

// WithAttrs implements slog.Handler.
func (s *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampler{s.Handler.WithAttrs(attrs), s.percent}
}

// WithGroup implements slog.Handler.
func (s *sampler) WithGroup(name string) slog.Handler {
	return &sampler{s.Handler.WithGroup(name), s.percent}
}
