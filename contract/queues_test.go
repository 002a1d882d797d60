package contract

import "testing"

func TestQueueNames(t *testing.T) {
	for name, want := range map[string]string{
		"newsfork-seed-prod": SeedQueue, "newsfork-domain-staging": DomainQueue, "newsfork-dlq-dev": DeadLetterQueue,
		"newsfork-seed": SeedQueue, "newsfork-seeds-dev": "", "newsfork-dev-seed": "", "somebody-elses": "", "": "",
	} {
		if got := QueueRole(name); got != want {
			t.Errorf("%q has the role %q, want %q", name, got, want)
		}
	}
	for _, role := range QueueRoles {
		if got := QueueRole(QueueName(role, "dev")); got != role {
			t.Errorf("the queue named for %q has the role %q", role, got)
		}
	}
	for name, want := range map[string]string{
		"newsfork-dlq-prod": "newsfork-seed-prod", "newsfork-domain-eu-1": "newsfork-seed-eu-1", "newsfork-dlq": "newsfork-seed",
	} {
		if got := SiblingQueue(name, SeedQueue); got != want {
			t.Errorf("beside %q is %q, want %q", name, got, want)
		}
	}
}
