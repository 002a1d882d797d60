package collector_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/contract"
)

// TestClassify_NoModel: while the classifier's model cannot be read, a domain is neither asked nor merged into, and
// its messages wait for another attempt, even at the last one.
func TestClassify_NoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		missing := func(context.Context) (*classify.Model, error) { return nil, errors.New("404") }
		collect := func(n int) error {
			_, err := w.NewBatch(func(string) bool { return false }).Visit("example.com").Collect(t.Context(),
				message(n, "https://example.com/c"), true)
			return err
		}
		w.Model = missing
		if err := collect(1); contract.KindOf(err) != contract.Storage {
			t.Errorf("a collection: %v", err)
		}
		if n := len(w.web.URLs()); n > 0 {
			t.Errorf("the domain was asked %d times", n)
		}
		w.Model = embedded.Load
		if err := collect(1); err != nil {
			t.Fatal(err)
		}
		before := string(w.read(t, dir.Document()))
		w.Model = missing
		if err := collect(2); contract.KindOf(err) != contract.Storage {
			t.Errorf("a merge: %v", err)
		}
		if string(w.read(t, dir.Document())) != before {
			t.Error("the document was changed without the model")
		}
	})
}
