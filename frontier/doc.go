// Package frontier decides which URL is fetched next and who may fetch from a host: scrapers, collectors and refreshes
// alike. Registrable domains are divided among shards, each with an SQLite database of its own.
//
// This package has the requests and answers of a shard's operations (operations.go), and the envelope in which they
// travel between Worker and shard (wire.go). Package client sends them to one shard or to all, package shard has the
// rules by which a shard answers, and package shard/store its tables.
package frontier
