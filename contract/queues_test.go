package contract

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestQueues_Names(t *testing.T) {
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
		"newsfork-dlq-prod": "newsfork-seed-prod", "newsfork-domain-eu-1": "newsfork-seed-eu-1",
		"newsfork-dlq": "newsfork-seed",
	} {
		if got := SiblingQueue(name, SeedQueue); got != want {
			t.Errorf("beside %q is %q, want %q", name, got, want)
		}
	}
}

// Configuration in other languages agrees with this package.
func TestQueues_Configuration(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	configuration := read("../wrangler.jsonc")
	names := regexp.MustCompile(`"(?:queue|dead_letter_queue)": "([^"]*)"`).FindAllStringSubmatch(configuration, -1)
	if len(names) == 0 {
		t.Error("no queues in wrangler.jsonc")
	}
	for _, name := range names {
		role := QueueRole(name[1])
		if role == "" || name[1] != SiblingQueue(name[1], role) {
			t.Errorf("wrangler.jsonc has the queue %q, which has no role", name[1])
		}
	}
	retries := regexp.MustCompile(`"max_retries": (\d+)`).FindAllStringSubmatch(configuration, -1)
	if len(retries) == 0 {
		t.Error("no max_retries in wrangler.jsonc")
	}
	for _, n := range retries {
		if n[1] != strconv.Itoa(MaxRetries) {
			t.Errorf("wrangler.jsonc has max_retries %s, want %d", n[1], MaxRetries)
		}
	}
	runtime := read("../worker/refused.mjs")
	for _, role := range QueueRoles {
		if !strings.Contains(runtime, " "+role+`: "`) {
			t.Errorf("worker/refused.mjs has no producer for the role %s", role)
		}
	}
}
