package contract

import "embed"

// Schemas are the JSON Schemas (2020-12) of the documents that the pipeline writes, by file name
// under schemas/. They are published at /schemas/{name}.
//
//go:embed schemas/*.json
var Schemas embed.FS
