package deadletters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// WorkOf returns the work that a message requests, which is the same for its replays.
func WorkOf(queue string, body []byte) ledger.Work {
	sum := sha256.Sum256(bytes.TrimSpace(body)) // a stored message has lost the space around it
	key := "message:" + hex.EncodeToString(sum[:])
	switch contract.QueueRole(queue) {
	case contract.SeedQueue:
		if w, err := contract.ParseSeed(body); err == nil && w.File != nil {
			key = w.File.FilePath
		}
	case contract.DomainQueue:
		if m, err := contract.ParseDomain(body); err == nil {
			return WorkOfDomain(queue, m)
		}
	case contract.WebhookQueue:
		var d contract.FeedDelivery
		if json.Unmarshal(body, &d) == nil && len(d.Items) > 0 {
			key = d.Items[0].URL
		}
	}
	return ledger.Work{Queue: queue, Key: key}
}

// WorkOfDomain is like WorkOf for a parsed message about a domain.
func WorkOfDomain(queue string, m *contract.DomainMessage) ledger.Work {
	return ledger.Work{Queue: queue, Key: m.Dir().URLList(m.SourceFile().Name, m.Part)}
}

// subject returns the partition and domain of a message, or zero values if it names none.
func subject(queue string, body []byte) (p contract.Partition, domain string) {
	switch contract.QueueRole(queue) {
	case contract.SeedQueue:
		if w, err := contract.ParseSeed(body); err == nil && w.File != nil {
			return w.File.Partition, ""
		}
	case contract.DomainQueue:
		if m, err := contract.ParseDomain(body); err == nil {
			return m.Partition, m.Domain
		}
	case contract.WebhookQueue:
		var d contract.FeedDelivery
		if json.Unmarshal(body, &d) == nil && len(d.Items) > 0 {
			return d.Items[0].Partition, d.Items[0].Domain
		}
	}
	return contract.Partition{}, ""
}

// candidates returns the works that a message of the dead-letter queue dlq might have requested, the likeliest first.
// The message does not tell which queue it came from.
func candidates(dlq string, body []byte) []ledger.Work {
	likeliest := contract.SeedQueue
	if _, err := contract.ParseDomain(body); err == nil {
		likeliest = contract.DomainQueue
	}
	works := []ledger.Work{WorkOf(contract.SiblingQueue(dlq, likeliest), body)}
	for _, role := range contract.QueueRoles {
		if role != likeliest && role != contract.DeadLetterQueue {
			works = append(works, WorkOf(contract.SiblingQueue(dlq, role), body))
		}
	}
	return works
}
