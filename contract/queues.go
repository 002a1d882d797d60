package contract

import (
	"slices"
	"strings"
)

// Roles of the queues, which are named newsfork-{role}-{environment}.
const (
	SeedQueue       = "seed"
	DomainQueue     = "domain"
	DeadLetterQueue = "dlq"
)

// WebhookQueue is the role under which the feed's webhook has its dead letters. No queue has it.
const WebhookQueue = "webhook"

// DeadLetterRoles lists the roles under which dead letters are stored.
var DeadLetterRoles = []string{SeedQueue, DomainQueue, WebhookQueue}

// QueueRoles lists the roles in the order of the pipeline.
var QueueRoles = []string{SeedQueue, DomainQueue, DeadLetterQueue}

// MaxRetries is max_retries of the queues in wrangler.jsonc. After that many retries a message is given up.
const MaxRetries = 3

const queuePrefix = "newsfork-"

// QueueName returns the name of the queue with a role in an environment.
func QueueName(role, environment string) string {
	return queuePrefix + role + "-" + environment
}

// QueueRole returns the role of a queue by its name, or "" for queues outside the pipeline.
func QueueRole(name string) string {
	role, _ := splitQueueName(name)
	if role != WebhookQueue && !slices.Contains(QueueRoles, role) {
		return ""
	}
	return role
}

// SiblingQueue returns the name of the queue with a role in the environment of the named queue.
func SiblingQueue(name, role string) string {
	_, suffix := splitQueueName(name)
	return queuePrefix + role + suffix
}

// splitQueueName splits a name after its role. The suffix begins with a hyphen or is empty.
func splitQueueName(name string) (role, suffix string) {
	name = strings.TrimPrefix(name, queuePrefix)
	if i := strings.IndexByte(name, '-'); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}
