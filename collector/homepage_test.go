package collector

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
)

// TestFeeds_EveryKindIsAMethod: every kind of feed that a document may state is an entry point with a
// method of its own, which the schema has too.
func TestFeeds_EveryKindIsAMethod(t *testing.T) {
	data, err := contract.Schemas.ReadFile("schemas/domain_metadata.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type property struct{ Enum []string }
	var schema struct {
		Defs struct {
			Feed struct{ Properties struct{ Kind property } }
		} `json:"$defs"`
		Properties struct {
			Contract struct {
				Properties struct {
					EntryPoints struct {
						Items struct{ Properties struct{ Method property } }
					} `json:"entry_points"`
				}
			} `json:"fetch_contract"`
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	kinds := schema.Defs.Feed.Properties.Kind.Enum
	methods := schema.Properties.Contract.Properties.EntryPoints.Items.Properties.Method.Enum
	if len(kinds) < 3 || len(methods) < 3 {
		t.Fatalf("the schema has the kinds %q and the methods %q", kinds, methods)
	}
	taken := map[discovery.EntryMethod]string{}
	for _, kind := range kinds {
		m := feedMethod(feed.Kind(kind))
		if other := taken[m]; other != "" {
			t.Errorf("feeds of the kinds %s and %s have the same method %s", other, kind, m)
		}
		taken[m] = kind
		if !slices.Contains(methods, string(m)) {
			t.Errorf("the schema lacks the method %s of feeds of the kind %s", m, kind)
		}
	}
}
