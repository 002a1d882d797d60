// Package contract holds what crosses a boundary of the Seed Engine: queue messages, the documents
// it writes and the keys under which they lie, their JSON Schemas, the names of log events, and the
// errors callers see. It imports nothing of the project, so that every other package can speak in its
// terms.
package contract

// Version is the version of the Seed Engine, written into documents and checkpoints.
const Version = "1.0.0"
