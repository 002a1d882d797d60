package discovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEntryMethod_Schema: the dashboard names, in all its languages, every method that a document may
// state of an entry point, and the manual of the contract has it.
func TestEntryMethod_Schema(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var schema any
	if err := json.Unmarshal([]byte(read("../contract/schemas/domain_metadata.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	methods := enumWith(schema, string(JSONFeedEntry))
	if len(methods) < 6 {
		t.Fatalf("methods in the schema: %v", methods)
	}
	languages, err := filepath.Glob("../dashboard/public/dashboard/lang/*.js")
	if err != nil || len(languages) < 2 {
		t.Fatal(languages, err)
	}
	manual := read("../docs/contract.md")
	for _, method := range methods {
		for _, language := range languages {
			if !strings.Contains(read(language), "\n  \"method."+method+"\":") {
				t.Errorf("%s has no text \"method.%s\"", language, method)
			}
		}
		if !strings.Contains(manual, "`"+method+"`") {
			t.Errorf("docs/contract.md does not name the method %s", method)
		}
	}
}

// enumWith finds the list of values in a schema that has this one.
func enumWith(schema any, value string) []string {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			if found := enumWith(item, value); found != nil {
				return found
			}
		}
	case map[string]any:
		if enum, ok := v["enum"].([]any); ok {
			var values []string
			found := false
			for _, e := range enum {
				if s, ok := e.(string); ok {
					values, found = append(values, s), found || s == value
				}
			}
			if found {
				return values
			}
		}
		for _, item := range v {
			if found := enumWith(item, value); found != nil {
				return found
			}
		}
	}
	return nil
}
