package web

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The description has exactly the routes and methods that there are, and a token wherever one is asked for.
func TestOperatorsOpenAPI_Routes(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(OperatorsOpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var described, there []string
	for path, operations := range doc.Paths {
		for method, text := range operations {
			if method == "parameters" {
				continue
			}
			var operation struct {
				ID       string `json:"operationId"`
				Security *[]any
			}
			if err := json.Unmarshal(text, &operation); err != nil || operation.ID == "" {
				t.Errorf("%s %s: %q %v", method, path, operation.ID, err)
			}
			access := "operators"
			if operation.Security != nil {
				access = "public"
			}
			described = append(described, strings.ToUpper(method)+" "+path+" "+access)
		}
	}
	for _, r := range (&Operating{}).routes() {
		for method := range r.Methods {
			access := "operators"
			if r.Access == 0 {
				access = "public"
			}
			there = append(there, method+" "+strings.TrimSuffix(r.Path, "{$}")+" "+access)
		}
	}
	slices.Sort(described)
	slices.Sort(there)
	if !slices.Equal(described, there) {
		t.Errorf("described:\n%s\nthere:\n%s", strings.Join(described, "\n"), strings.Join(there, "\n"))
	}
}
