// Package cases runs the cases of the stores' suites where package testing is not: within a Worker.
package cases

import "fmt"

// T is what a case reports to; it has what the suites ask of a testing.T.
type T struct{ failures []string }

// stop ends a case.
type stop struct{}

func (t *T) Helper() {}

// Errorf records a failure; the case goes on.
func (t *T) Errorf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the case.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stop{})
}

// Run runs a case and returns its failures, as an empty list where there are none. What else the case panics with goes on.
func Run(run func(*T)) (failures []string) {
	t := &T{failures: []string{}}
	defer func() {
		failures = t.failures
		if thrown := recover(); thrown != nil && thrown != (stop{}) {
			panic(thrown)
		}
	}()
	run(t)
	return t.failures
}
