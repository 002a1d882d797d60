package contract

import (
	_ "embed"
	"io/fs"
	"strings"
)

// OpenAPI describes the HTTP API (OpenAPI 3.1), published at /openapi.json. The Worker serves it as a static file
// instead: naming this variable makes a program larger.
//
//go:embed openapi.json
var OpenAPI []byte

// Published returns the description or schema published at a path, such as "/schemas/alarm_change.schema.json". It
// is for native programs; the Worker has static files.
func Published(path string) ([]byte, error) {
	if path == "/openapi.json" {
		return OpenAPI, nil
	}
	return fs.ReadFile(Schemas, strings.TrimPrefix(path, "/"))
}
