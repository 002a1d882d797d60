package contract

import (
	"encoding/json"
	"testing"
)

// TestListsOfTheSchemaAreBounded: every list of the document has a limit, and so has every object whose
// names the site or somebody else chooses.
func TestListsOfTheSchemaAreBounded(t *testing.T) {
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
			if open, ok := node["additionalProperties"].(map[string]any); ok && node["maxProperties"] == nil && node["propertyNames"] == nil {
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
