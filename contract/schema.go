package contract

import "embed"

// Schemas are the JSON Schemas (2020-12) of the documents that the pipeline writes, by file name under schemas/.
// They are published at /schemas/{name}; the Worker serves them as static files.
//
//go:embed schemas/*.json
var Schemas embed.FS

// SchemaNames are the file names published at /schemas/.
var SchemaNames = []string{"alarm_change.schema.json", "dead_letter.schema.json", "domain_metadata.schema.json"}
