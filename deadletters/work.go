package deadletters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// WorkOf identifies what a message of a queue asks for.
func WorkOf(queue string, body []byte) ledger.Work {
	sum := sha256.Sum256(bytes.TrimSpace(body)) // a stored message has lost the space around it
	key := "message:" + hex.EncodeToString(sum[:])
	switch contract.QueueRole(queue) {
	case contract.SeedQueue:
		if w, err := contract.ParseSeed(body, r2.RawPartition); err == nil && w.File != nil {
			key = w.File.FilePath
		}
	case contract.DomainQueue:
		if m, err := contract.ParseDomain(body); err == nil {
			raw, _, _ := r2.ParseRaw(m.SourceFilePath)
			key = r2.DomainDir{Partition: m.Partition, Domain: m.Domain}.URLList(raw.Name, m.Part)
		}
	}
	return ledger.Work{Queue: queue, Key: key}
}

// subject is what a message is about: a raw file's partition, or a domain in one. It is zero when
// the message does not say.
func subject(queue string, body []byte) (p contract.Partition, domain string) {
	switch contract.QueueRole(queue) {
	case contract.SeedQueue:
		if w, err := contract.ParseSeed(body, r2.RawPartition); err == nil && w.File != nil {
			return w.File.Partition, ""
		}
	case contract.DomainQueue:
		if m, err := contract.ParseDomain(body); err == nil {
			return m.Partition, m.Domain
		}
	}
	return contract.Partition{}, ""
}

// candidates are the works that a dead letter may stand for: it does not say which queue gave it up.
func candidates(dlq string, body []byte) []ledger.Work {
	seed := WorkOf(contract.SiblingQueue(dlq, contract.SeedQueue), body)
	domain := WorkOf(contract.SiblingQueue(dlq, contract.DomainQueue), body)
	if _, err := contract.ParseDomain(body); err == nil {
		return []ledger.Work{domain, seed}
	}
	return []ledger.Work{seed, domain}
}
