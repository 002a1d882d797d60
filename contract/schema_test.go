package contract

import (
	"encoding/json"
	"slices"
	"testing"
)

// Every schema and the description of the API are published.
func TestSchemas_Names(t *testing.T) {
	entries, err := Schemas.ReadDir("schemas")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, SchemaNames) {
		t.Errorf("%q, published are %q", names, SchemaNames)
	}
	for _, path := range []string{"/openapi.json", "/schemas/" + names[0]} {
		if text, err := Published(path); err != nil || !json.Valid(text) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Published("/schemas/none.json"); err == nil {
		t.Error("a schema that does not exist is published")
	}
}

// Every list of the document has a limit, and so has every object with names from outside.
func TestSchemas_ListsBounded(t *testing.T) {
	data, err := Schemas.ReadFile("schemas/domain_metadata.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	lists := 0
	var walk func(at string, node any)
	walk = func(at string, node any) {
		switch node := node.(type) {
		case map[string]any:
			if node["type"] == "array" {
				if lists++; node["maxItems"] == nil {
					t.Errorf("%s has no maxItems", at)
				}
			}
			if open, ok := node["additionalProperties"].(map[string]any); ok && node["maxProperties"] == nil &&
				node["propertyNames"] == nil {
				t.Errorf("%s has no maxProperties: %v", at, open)
			}
			for name, child := range node {
				walk(at+"/"+name, child)
			}
		case []any:
			for _, child := range node {
				walk(at, child)
			}
		}
	}
	walk("", schema)
	if lists < 15 {
		t.Errorf("only %d lists were seen", lists)
	}
}
