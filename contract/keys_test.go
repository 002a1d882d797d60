package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

var news = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

func TestKeys(t *testing.T) {
	raw := contract.RawFile{Partition: news, Name: "raw_0001"}
	dir := contract.DomainDir{Partition: news, Domain: "mom.gov.sg"}
	letter, err := contract.NewDeadLetterKey("newsfork-seed-dev",
		time.Date(2026, 1, 28, 23, 30, 0, 0, time.FixedZone("", -3600)), "0a-B_9")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{raw.Key(), "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"},
		{raw.Checkpoint(), "raw/country=sg/category=news/date=2026-01-28/raw_0001.json.success"},
		{dir.Prefix(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/"},
		{dir.Document(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/domain_metadata.json"},
		{dir.Checkpoint(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/domain_metadata.json.success"},
		{dir.Robots(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/robots.txt"},
		{dir.Sitemap(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/sitemap.xml"},
		{dir.Discovery(), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/discovery.json"},
		{dir.URLList("raw_0001", 2), "prod/country=sg/category=news/date=2026-01-28/mom.gov.sg/urls/raw_0001-2.json"},
		{letter.String(), "dlq/queue=newsfork-seed-dev/date=2026-01-29/0a-B_9.json"},
		{contract.RawPrefix("", "news", "2026-01-28"), "raw/"},
		{contract.RawPrefix("sg", "", "2026-01-28"), "raw/country=sg/"},
		{contract.RawPrefix("sg", "news", ""), "raw/country=sg/category=news/"},
		{contract.RawPrefix("sg", "news", "2026-01-28"), "raw/country=sg/category=news/date=2026-01-28/"},
		{contract.ProdPrefix("sg", "news", "2026-01-28"), "prod/country=sg/category=news/date=2026-01-28/"},
		{contract.DeadLetterPrefix("", "2026-01-28"), "dlq/"},
		{contract.DeadLetterPrefix("q", ""), "dlq/queue=q/"},
		{contract.DeadLetterPrefix("q", "2026-01-28"), "dlq/queue=q/date=2026-01-28/"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %s, want %s", c[0], c[1])
		}
	}
}

// rawKeys maps keys to f (raw file), c (its checkpoint) or - (neither).
var rawKeys = []struct{ what, key string }{
	{"f", "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"},
	{"f", "raw/country=kr/category=gov-news_2/date=2024-02-29/raw_123456.json"},
	{"c", "raw/country=sg/category=news/date=2026-01-28/raw_0001.json.success"},
	{"-", ""},
	{"-", "raw/"},
	{"-", "raw_0001.json"},
	{"-", "country=sg/category=news/date=2026-01-28/raw_0001.json"},
	{"-", "/raw/country=sg/category=news/date=2026-01-28/raw_0001.json"},
	{"-", "prod/country=sg/category=news/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_metadata.json"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/.DS_Store"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_001.json"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_.json"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_00a1.json"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_0001"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_0001.json.success.success"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_0001.JSON"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/raw_0001.json.gz"},
	{"-", "raw/country=sg/category=news/date=2026-01-28/x/raw_0001.json"},
	{"-", "raw/country=SG/category=news/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sgp/category=news/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/category=News/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/category=/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/category=../date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/category=news/date=2026-02-30/raw_0001.json"},
	{"-", "raw/country=sg/category=news/date=20260128/raw_0001.json"},
	{"-", "raw/category=news/country=sg/date=2026-01-28/raw_0001.json"},
	{"-", "raw/country=sg/date=2026-01-28/raw_0001.json"},
}

func TestParseRawKey(t *testing.T) {
	for _, c := range rawKeys {
		f, checkpoint, ok := contract.ParseRawKey(c.key)
		what := "-"
		if ok {
			what = "f"
			if checkpoint {
				what = "c"
			}
		}
		if what != c.what {
			t.Errorf("%q is read as %s, want %s", c.key, what, c.what)
		}
		if !ok && (checkpoint || f != contract.RawFile{}) {
			t.Errorf("%q is no raw file and yet gives %+v, %v", c.key, f, checkpoint)
		}
		m := contract.SeedMessage{FilePath: c.key, Partition: f.Partition}
		if !ok {
			m.Partition = news
		}
		if err := m.Validate(); (err == nil) != (c.what == "f") || err != nil &&
			contract.KindOf(err) != contract.Validation {
			t.Errorf("a message of the file %q: %v", c.key, err)
		}
		notice := contract.Encode(map[string]any{"action": "PutObject", "object": map[string]string{"key": c.key}})
		work, err := contract.ParseSeed(notice)
		if err != nil || (work.File != nil) != (c.what == "f") || work.File != nil && *work.File != m {
			t.Errorf("a notice of %q asks for %+v, %v", c.key, work.File, err)
		}
	}
}

func FuzzParseRawKey(f *testing.F) {
	for _, c := range rawKeys {
		f.Add(c.key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		file, checkpoint, ok := contract.ParseRawKey(key)
		if !ok {
			return
		}
		want := file.Key()
		if checkpoint {
			want = file.Checkpoint()
		}
		if key != want {
			t.Errorf("%q is read as %+v, which is %q", key, file, want)
		}
	})
}

// letterKeys maps keys to whether they are dead letters.
var letterKeys = []struct {
	ok  bool
	key string
}{
	{true, "dlq/queue=newsfork-seed-dev/date=2026-01-28/4482c7b0c1.json"},
	{false, "dlq/queue=newsfork-seed-dev/date=2026-01-28/.json"},
	{false, "dlq/queue=newsfork-seed-dev/date=2026-01-28/a/b.json"},
	{false, "dlq/queue=newsfork-seed-dev/date=2026-13-28/a.json"},
	{false, "dlq/queue=/date=2026-01-28/a.json"},
	{false, "dlq/queue=a b/date=2026-01-28/a.json"},
	{false, "newsfork-seed-dev/date=2026-01-28/a.json"},
	{false, "dlq/date=2026-01-28/a.json"},
	{false, "dlq/queue=a/date=2026-01-28/a.txt"},
	{false, "prod/queue=a/date=2026-01-28/a.json"},
	{false, ""},
}

func TestParseDeadLetterKey(t *testing.T) {
	for _, c := range letterKeys {
		if _, ok := contract.ParseDeadLetterKey(c.key); ok != c.ok {
			t.Errorf("%q: %v, want %v", c.key, ok, c.ok)
		}
	}
	for _, c := range [][2]string{{"", "id"}, {"queue", ""}, {"queue", "a/b"}, {"../queue", "id"},
		{"queue", strings.Repeat("i", 129)}} {
		_, err := contract.NewDeadLetterKey(c[0], time.Now(), c[1])
		if contract.KindOf(err) != contract.Validation {
			t.Errorf("the dead letter %q of the queue %q: %v", c[1], c[0], err)
		}
	}
}

func FuzzParseDeadLetterKey(f *testing.F) {
	for _, c := range letterKeys {
		f.Add(c.key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if l, ok := contract.ParseDeadLetterKey(key); ok && l.String() != key {
			t.Errorf("%q is read as %+v, which is %q", key, l, l.String())
		}
	})
}

func TestCheckpointMetadata(t *testing.T) {
	m := contract.CheckpointMetadata(time.Date(2026, 1, 28, 13, 0, 0, 0, time.FixedZone("", 3600)), "v1")
	if len(m) != 3 || m["processed_at"] != "2026-01-28T12:00:00Z" || m["processor"] != "seed-engine" ||
		m["version"] != "v1" {
		t.Errorf("got %v", m)
	}
}
