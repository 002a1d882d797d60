// Package embedded has the classifier's model in the program, for those that are not a Worker: it is too large for
// one, which loads it from its static files.
package embedded

import (
	"context"
	_ "embed"
	"sync"

	"github.com/newsfork/seed-engine/classify"
)

//go:embed classifier.model
var file []byte

// Model returns the model.
var Model = sync.OnceValue(func() *classify.Model {
	m, err := classify.ParseModel(file)
	if err != nil {
		panic(err.Error() + "; run go generate ./classify")
	}
	return m
})

// Load returns the model as a classify.Loader does.
func Load(context.Context) (*classify.Model, error) { return Model(), nil }
