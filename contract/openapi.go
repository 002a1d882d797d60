package contract

import (
	_ "embed"
	"io/fs"
	"strings"
)

// OpenAPI describes the HTTP API (OpenAPI 3.1); it is published at /openapi.json. The Worker has it among its static
// files: a program that names this variable becomes larger by it.
//
//go:embed openapi.json
var OpenAPI []byte

// Published returns the description or the schema that is published at a path, such as
// "/schemas/alarm_change.schema.json". It has them in the program, unlike the Worker.
func Published(path string) ([]byte, error) {
	if path == "/openapi.json" {
		return OpenAPI, nil
	}
	return fs.ReadFile(Schemas, strings.TrimPrefix(path, "/"))
}
