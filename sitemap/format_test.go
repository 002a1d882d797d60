package sitemap

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// schemaKinds are the values that the document's schema allows for the field "kind" of the definition that
// has all of these.
func schemaKinds(t *testing.T, fields ...string) []string {
	t.Helper()
	data, err := os.ReadFile("../contract/schemas/domain_metadata.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, d := range schema.Defs {
		if slices.ContainsFunc(fields, func(f string) bool { _, ok := d.Properties[f]; return !ok }) {
			continue
		}
		for _, v := range d.Properties["kind"].Enum {
			if s, ok := v.(string); ok {
				kinds = append(kinds, s)
			}
		}
	}
	return kinds
}

// TestFormats: what a row of formats names is there: elements, and kinds that documents may state.
func TestFormats(t *testing.T) {
	documents, feeds := schemaKinds(t, "kind", "url_count", "news_count"),
		schemaKinds(t, "kind", "item_count", "found_by")
	if len(documents) == 0 || len(feeds) == 0 {
		t.Fatalf("no kinds in the schema: %q, %q", documents, feeds)
	}
	named := map[element]bool{}
	for _, e := range elements {
		named[e] = true
	}
	for i := range formats {
		f := &formats[i]
		if !named[f.root] || !named[f.entry] || byRoot[f.root] != f || byEntry[f.entry] == nil ||
			byEntry[f.entry].kind != f.kind {
			t.Errorf("%s: root %d, entry %d", f.kind, f.root, f.entry)
		}
		if !slices.Contains(documents, string(f.kind)) || f.feed && !slices.Contains(feeds, string(f.kind)) {
			t.Errorf("the schema lacks the kind %s: it has %q for sitemaps, %q for feeds", f.kind, documents, feeds)
		}
		if f.kind.IsFeed() != f.feed || !f.feed && f.mediaTypes != nil {
			t.Errorf("%+v", f)
		}
		for _, media := range f.mediaTypes {
			if FeedOf(media) != f.kind || media != strings.ToLower(media) {
				t.Errorf("%s is of %q, want %s", media, FeedOf(media), f.kind)
			}
		}
	}
	for _, k := range []Kind{Text, Invalid, ""} {
		if k.IsFeed() {
			t.Errorf("%q is a feed", k)
		}
	}
	if k := FeedOf("text/html"); k != "" {
		t.Errorf("a page is a feed of the kind %s", k)
	}
}
