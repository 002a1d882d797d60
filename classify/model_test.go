package classify

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
)

// modelBytes is the file of this build; package embedded cannot be imported here.
var modelBytes = sync.OnceValue(func() []byte {
	file, err := os.ReadFile("embedded/classifier.model")
	if err != nil {
		panic(err)
	}
	return file
})

var model = sync.OnceValue(func() *Model {
	m, err := ParseModel(modelBytes())
	if err != nil {
		panic(err)
	}
	return m
})

// Another model, a truncated one and other files are refused.
func TestModel_OtherBuild(t *testing.T) {
	file := modelBytes()
	other := bytes.Clone(file)
	other[len(other)-1] ^= 1
	for what, f := range map[string][]byte{
		"nothing": nil, "a page": []byte("<!doctype html>"), "the beginning": file[:len(file)/2],
		"other weights": other,
	} {
		if _, err := ParseModel(f); err == nil {
			t.Errorf("%s is read as the model", what)
		}
		if what == "other weights" {
			continue
		}
		if _, err := parseModel(f); err == nil {
			t.Errorf("%s is read as a model", what)
		}
	}
	for _, n := range []int{len(modelMagic), len(modelMagic) + 3, len(modelMagic) + 4, len(file) - 1} {
		if _, err := parseModel(file[:n]); err == nil {
			t.Errorf("the first %d bytes are read as a model", n)
		}
	}
}

// TestLoader: many who need the model at once have it read once, and a failure is no model for the next.
func TestLoader(t *testing.T) {
	reads, failing := 0, true
	l := NewLoader(func(_ context.Context, path string) ([]byte, error) {
		reads++
		if path != ModelPath() {
			t.Errorf("reads %s", path)
		}
		if failing {
			return []byte("Service Unavailable"), nil
		}
		return modelBytes(), nil
	})
	if _, err := l.Model(t.Context()); err == nil {
		t.Fatal("a page of an error is read as the model")
	}
	failing, reads = false, 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			m, err := l.Model(t.Context())
			if err != nil {
				t.Error(err)
			} else if got := m.Classify("https://www.example.gov/faq", Context{}).PrimaryType; got != FAQ {
				t.Errorf("%s", got)
			}
		})
	}
	all.Wait()
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
}

// TestLoader_GivesUp: waiting for the load of another ends with the caller's context.
func TestLoader_GivesUp(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	l := NewLoader(func(context.Context, string) ([]byte, error) {
		close(begun)
		<-end
		return modelBytes(), nil
	})
	done := make(chan error)
	go func() {
		_, err := l.Model(context.Background())
		done <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Model(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
