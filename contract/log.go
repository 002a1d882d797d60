package contract

import (
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
