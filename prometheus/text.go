// Package prometheus writes metrics in Prometheus' text format
// (prometheus.io/docs/instrumenting/exposition_formats/).
package prometheus

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Text collects metrics. Each family is begun once, and its samples follow.
type Text struct {
	buf    bytes.Buffer
	family string
}

// Family begins a family of samples. kind is "gauge" or "counter".
func (t *Text) Family(name, kind, help string) {
	t.family = name
	fmt.Fprintf(&t.buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Sample adds a value to the current family. labels alternates names and values.
func (t *Text) Sample(value float64, labels ...string) {
	t.buf.WriteString(t.family)
	for i := 0; i < len(labels); i += 2 {
		open := ","
		if i == 0 {
			open = "{"
		}
		fmt.Fprintf(&t.buf, `%s%s="%s"`, open, labels[i], escapes.Replace(labels[i+1]))
	}
	if len(labels) > 0 {
		t.buf.WriteByte('}')
	}
	t.buf.WriteByte(' ')
	t.buf.WriteString(strconv.FormatFloat(value, 'f', -1, 64))
	t.buf.WriteByte('\n')
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Flag returns 1 for true and 0 for false.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// WriteAnswer sends the metrics.
func (t *Text) WriteAnswer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(t.buf.Bytes())
}
