package classify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTypes_Described: the contract's schema takes every content type and no other, the dashboard
// names it in every language, and docs/classification.md says what belongs to it.
func TestTypes_Described(t *testing.T) {
	var all []string
	for _, typ := range types {
		all = append(all, string(typ))
	}

	var schema any
	if err := json.Unmarshal([]byte(readFile(t, "../contract/schemas/domain_metadata.schema.json")),
		&schema); err != nil {
		t.Fatal(err)
	}
	enums := typeEnums(schema)
	if len(enums) < 6 {
		t.Errorf("the schema has %d lists of types", len(enums))
	}
	for _, enum := range enums {
		if !slices.Equal(slices.Sorted(slices.Values(enum)), slices.Sorted(slices.Values(all))) {
			t.Errorf("the schema has the types %q, want %q", enum, all)
		}
	}

	languages, err := filepath.Glob("../dashboard/public/dashboard/lang/*.js")
	if err != nil || len(languages) < 2 {
		t.Fatal(languages, err)
	}
	for _, language := range languages {
		text := readFile(t, language)
		for _, typ := range all {
			if !strings.Contains(text, "\n  \"type."+typ+"\":") {
				t.Errorf("%s has no text \"type.%s\"", language, typ)
			}
		}
	}

	_, section, _ := strings.Cut(readFile(t, "../docs/classification.md"), "\n## The types\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for name := range strings.SplitSeq(cells[1], ",") {
				documented = append(documented, strings.TrimSpace(name))
			}
		}
	}
	for _, typ := range all {
		if !slices.Contains(documented, typ) {
			t.Errorf("docs/classification.md does not say what belongs to %s", typ)
		}
	}
}

// typeEnums finds the lists of values in a JSON Schema that are content types; null is left out of them.
func typeEnums(v any) (found [][]string) {
	switch v := v.(type) {
	case map[string]any:
		if values, ok := v["enum"].([]any); ok && slices.Contains(values, any(string(PressRelease))) {
			var enum []string
			for _, value := range values {
				if s, ok := value.(string); ok {
					enum = append(enum, s)
				}
			}
			found = append(found, enum)
		}
		for _, inner := range v {
			found = append(found, typeEnums(inner)...)
		}
	case []any:
		for _, inner := range v {
			found = append(found, typeEnums(inner)...)
		}
	}
	return found
}
