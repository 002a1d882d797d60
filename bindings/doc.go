// Package bindings implements the core's interfaces on the Workers platform, one file for each binding
// or service. Apart from programs, only this package and package worker need the platform.
package bindings
