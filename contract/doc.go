// Package contract defines what crosses a boundary of the Seed Engine: queue messages, the documents it writes and
// their keys, their JSON Schemas, the form of log lines, and the errors callers see. It imports nothing of the
// project, so that every other package can speak in its terms.
package contract

// Version is the version of the Seed Engine, written into documents and checkpoints.
const Version = "1.0.0"
