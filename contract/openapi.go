package contract

import _ "embed"

// OpenAPI describes the HTTP API (OpenAPI 3.1); it is published at /openapi.json.
//
//go:embed openapi.json
var OpenAPI []byte
