// Package cases is what the cases of the stores' suites have in common. They also run where package testing is not:
// within a Worker.
package cases

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/newsfork/seed-engine/contract"
)

// T is the part of *testing.T that the suites need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Must ends a case with an error.
func Must(t T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Expect records the failure of a value that is not as wanted.
func Expect(t T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// ExpectKind records the failure of an error that is not of a kind. One that is no contract.Error is of none.
func ExpectKind(t T, what string, err error, want contract.Kind) {
	t.Helper()
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Errorf("%s: got error %v, want one of kind %s", what, err, want)
	}
}

// recorder is the T of a case that runs without package testing.
type recorder struct{ failures []string }

// stop ends a case.
type stop struct{}

func (r *recorder) Helper() {}

// Errorf records a failure; the case goes on.
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the case.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stop{})
}

// Run runs a case and returns its failures, or an empty list. Other panics of the case pass through.
func Run(run func(T)) (failures []string) {
	r := &recorder{failures: []string{}}
	defer func() {
		failures = r.failures
		if thrown := recover(); thrown != nil && thrown != (stop{}) {
			panic(thrown)
		}
	}()
	run(r)
	return r.failures
}
