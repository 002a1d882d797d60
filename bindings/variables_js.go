//go:build js && wasm

package bindings

import (
	"syscall/js"

	"github.com/newsfork/seed-engine/worker"
)

// Variable returns a variable or secret of the current event; ok is false if it is not set. Values
// that are not strings are returned as JSON.
func Variable(name string) (value string, ok bool) {
	v := worker.Env(name)
	switch v.Type() {
	case js.TypeUndefined, js.TypeNull:
		return "", false
	case js.TypeString:
		return v.String(), true
	}
	return stringify.Invoke(v).String(), true
}

// Version returns the tag of the deployed version, or its id if it has no tag. It returns "" in a
// local run.
func Version() string {
	v := worker.Env("VERSION_METADATA")
	if v.Type() != js.TypeObject {
		return ""
	}
	for _, name := range []string{"tag", "id"} {
		if s := v.Get(name); s.Type() == js.TypeString && s.String() != "" {
			return s.String()
		}
	}
	return ""
}
