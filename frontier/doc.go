// Package frontier is the one authority on which URL is fetched next and who may ask a host: scrapers,
// collectors and refreshes alike. Registrable domains are divided among shards, each with
// an SQLite database of its own.
//
// A Worker asks a shard by a Remote, whose calls Shard.Serve answers (shard/serve.go). Remotes are all shards:
// what is asked of one domain goes to its own, a lease to as many as it takes (remotes.go and others).
//
// This package has what shards are asked (operations.go), and the client of all shards. Package shard has the rules of
// one shard, package shard/store its tables.
package frontier
