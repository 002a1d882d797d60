// Package bindings connects the core to the Workers platform: one file for each binding or service
// that the core has an interface for. Outside of this package, of package worker and of programs
// nothing needs the platform.
package bindings
