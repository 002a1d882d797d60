package enginetest

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/queues/queuestest"
)

// The queues equal those of staging and production, apart from their names.
func TestQueues_MatchDeployment(t *testing.T) {
	text, err := os.ReadFile("../../wrangler.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	for _, environment := range []string{"staging", "prod"} {
		var got []queuestest.Queue
		for _, line := range regexp.MustCompile(`\{ "queue": "newsfork-\w+-`+environment+
			`", "max_batch_size".*\}`).FindAll(text, -1) {
			var c struct {
				queuestest.Queue
				Seconds int64 `json:"max_batch_timeout"`
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			c.Name = contract.QueueName(contract.QueueRole(c.Name), "dev")
			if c.DeadLetterQueue != "" {
				c.DeadLetterQueue = contract.QueueName(contract.QueueRole(c.DeadLetterQueue), "dev")
			}
			c.MaxBatchTimeout = time.Duration(c.Seconds) * time.Second
			got = append(got, c.Queue)
		}
		if !slices.Equal(got, Queues) {
			t.Errorf("%s: %+v, want %+v", environment, got, Queues)
		}
	}
}
