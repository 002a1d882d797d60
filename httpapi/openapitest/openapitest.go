// Package openapitest compares the answers of an HTTP API with its description in OpenAPI. Only tests use it.
package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Description is a description of an API, as far as tests read it.
type Description struct {
	Paths      map[string]Path
	Components struct {
		Responses  map[string]Response
		Parameters map[string]Parameter
	}

	undescribedMethod []int
	mu                sync.Mutex
	compiler          *jsonschema.Compiler
}

// Path holds the operations of a path, by method in lower case.
type Path map[string]Operation

// UnmarshalJSON implements json.Unmarshaler. It leaves out what is not an operation.
func (p *Path) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	delete(members, "parameters") // of all operations
	*p = Path{}
	for method, member := range members {
		var o Operation
		if err := json.Unmarshal(member, &o); err != nil {
			return err
		}
		(*p)[method] = o
	}
	return nil
}

// Operation describes one method of a path.
type Operation struct {
	OperationID string `json:"operationId"`
	Security    *[]any
	RequestBody any `json:"requestBody"`
	Parameters  []Parameter
	Responses   map[string]Response
}

// Parameter is one of a path or query, or refers to one.
type Parameter struct {
	Ref  string `json:"$ref"`
	Name string
	In   string
}

// Response is an answer, or refers to one.
type Response struct {
	Ref     string   `json:"$ref"`
	Codes   []string `json:"x-error-codes"`
	Content map[string]any
}

// Parse reads a description, which is a part of the program. undescribedMethod are the statuses that methods which are
// not described may be answered with.
func Parse(text []byte, undescribedMethod ...int) *Description {
	d, err := parse(text)
	if err != nil {
		panic(err)
	}
	d.undescribedMethod = undescribedMethod
	return d
}

func parse(text []byte) (*Description, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d := &Description{compiler: jsonschema.NewCompiler()}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", doc); err != nil {
		return nil, err
	}
	return d, json.Unmarshal(text, d)
}

// Compile returns the schema at a JSON pointer.
func (d *Description) Compile(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// PointerText escapes a name for a JSON pointer (RFC 6901, 3).
var PointerText = strings.NewReplacer("~", "~0", "/", "~1")

// Find returns the described path that matches a request's path, or "".
func (d *Description) Find(path string) string {
	best := ""
	for template := range d.Paths {
		want, got := strings.Split(template, "/"), strings.Split(path, "/")
		same := len(want) == len(got)
		for i := range want {
			same = same && (want[i] == got[i] || strings.HasPrefix(want[i], "{") && got[i] != "")
		}
		if same && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return best
}

// Conforms checks an answer: its status, type, schema, and error code.
func (d *Description) Conforms(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	path := d.Find(r.URL.EscapedPath())
	if path == "" {
		if w.Code != http.StatusNotFound {
			t.Errorf("%s %s is not described and answers %d", r.Method, r.URL.Path, w.Code)
		}
		return
	}
	method := strings.ToLower(r.Method)
	operation, ok := d.Paths[path][method]
	if !ok {
		if !slices.Contains(d.undescribedMethod, w.Code) {
			t.Errorf("%s %s is not described and answers %d", r.Method, path, w.Code)
		}
		return
	}
	status := fmt.Sprint(w.Code)
	answer, ok := operation.Responses[status]
	if !ok {
		t.Errorf("%s %s: the answer %d is not described", r.Method, path, w.Code)
		return
	}
	pointer := "/paths/" + PointerText.Replace(path) + "/" + method + "/responses/" + status
	if name, is := strings.CutPrefix(answer.Ref, "#/components/responses/"); is {
		answer, pointer = d.Components.Responses[name], "/components/responses/"+name
	}
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if len(answer.Content) == 0 && w.Body.Len() == 0 {
		return
	}
	if _, ok := answer.Content[kind]; !ok {
		t.Errorf("%s %s: %d comes as %s, which is not described", r.Method, path, w.Code, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") {
		return
	}
	values := []string{w.Body.String()}
	if kind == "application/x-ndjson" {
		values = slices.Collect(strings.Lines(w.Body.String()))
	}
	for _, value := range values {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err == nil {
			err = d.Compile(t, pointer+"/content/"+PointerText.Replace(kind)+"/schema").Validate(v)
		}
		if err != nil {
			t.Errorf("%s %s: %v\n%s", r.Method, path, err, value)
		}
	}
	var e struct{ Error *struct{ Code string } }
	if kind == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Errorf("%s %s: %v", r.Method, path, err)
		}
	}
	switch {
	case e.Error == nil && len(answer.Codes) > 0:
		t.Errorf("%s %s: %d has no code, want one of %v", r.Method, path, w.Code, answer.Codes)
	case e.Error != nil && !slices.Contains(answer.Codes, e.Error.Code):
		t.Errorf("%s %s: the code %q of %d is not among %v", r.Method, path, e.Error.Code, w.Code, answer.Codes)
	}
}
