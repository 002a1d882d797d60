package r2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

var news = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

func TestKeys(t *testing.T) {
	raw := r2.RawFile{Partition: news, Name: "raw_0001"}
	dir := r2.DomainDir{Partition: news, Domain: "mom.gov.sg"}
	letter, err := r2.NewDeadLetter("newsfork-seed-dev", time.Date(2026, 1, 28, 23, 30, 0, 0, time.FixedZone("", -3600)), "0a-B_9")
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
		{letter.Key(), "dlq/queue=newsfork-seed-dev/date=2026-01-29/0a-B_9.json"},
		{r2.RawPrefix("", "news", "2026-01-28"), "raw/"},
		{r2.RawPrefix("sg", "", "2026-01-28"), "raw/country=sg/"},
		{r2.RawPrefix("sg", "news", ""), "raw/country=sg/category=news/"},
		{r2.RawPrefix("sg", "news", "2026-01-28"), "raw/country=sg/category=news/date=2026-01-28/"},
		{r2.ProdPrefix("sg", "news", "2026-01-28"), "prod/country=sg/category=news/date=2026-01-28/"},
		{r2.DeadLetterPrefix("", "2026-01-28"), "dlq/"},
		{r2.DeadLetterPrefix("q", ""), "dlq/queue=q/"},
		{r2.DeadLetterPrefix("q", "2026-01-28"), "dlq/queue=q/date=2026-01-28/"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %s, want %s", c[0], c[1])
		}
	}
}

// rawKeys says for every key whether it is a raw file (f), its checkpoint (c) or neither (-).
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

func TestParseRaw(t *testing.T) {
	for _, c := range rawKeys {
		f, checkpoint, ok := r2.ParseRaw(c.key)
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
		if !ok && (checkpoint || f != r2.RawFile{}) {
			t.Errorf("%q is no raw file and yet gives %+v, %v", c.key, f, checkpoint)
		}
		p, isRaw := r2.RawPartition(c.key)
		if isRaw != (c.what == "f") || p != f.Partition && isRaw {
			t.Errorf("RawPartition(%q) = %+v, %v", c.key, p, isRaw)
		}
	}
}

func FuzzParseRaw(f *testing.F) {
	for _, c := range rawKeys {
		f.Add(c.key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		file, checkpoint, ok := r2.ParseRaw(key)
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

// letterKeys says for every key whether it is a dead letter.
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

func TestParseDeadLetter(t *testing.T) {
	for _, c := range letterKeys {
		if _, ok := r2.ParseDeadLetter(c.key); ok != c.ok {
			t.Errorf("%q: %v, want %v", c.key, ok, c.ok)
		}
	}
	for _, c := range [][2]string{{"", "id"}, {"queue", ""}, {"queue", "a/b"}, {"../queue", "id"}, {"queue", strings.Repeat("i", 129)}} {
		_, err := r2.NewDeadLetter(c[0], time.Now(), c[1])
		kind(t, "dead letter "+c[0]+" "+c[1], err, contract.Validation)
	}
}

func FuzzParseDeadLetter(f *testing.F) {
	for _, c := range letterKeys {
		f.Add(c.key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if l, ok := r2.ParseDeadLetter(key); ok && l.Key() != key {
			t.Errorf("%q is read as %+v, which is %q", key, l, l.Key())
		}
	})
}

// domains holds what is given and what stands in keys; "" means refused.
var domains = []struct{ given, want string }{
	{"mom.gov.sg", "mom.gov.sg"},
	{"MOM.Gov.SG", "mom.gov.sg"},
	{"mom.gov.sg.", "mom.gov.sg"},
	{"bücher.example", "xn--bcher-kva.example"},
	{"BÜCHER.example", "xn--bcher-kva.example"},
	{"청와대.한국", "xn--vk1b187a8ue.xn--3e0b707e"},
	{"faß.de", "xn--fa-hia.de"}, // IDNA 2008 keeps the sharp s
	{"例え。テスト", "xn--r8jz45g.xn--zckzah"},
	{"", ""},
	{".", ""},
	{"localhost", ""},
	{"a..b", ""},
	{"-a.example", ""},
	{"a_b.example", ""},
	{"a/b.example", ""},
	{"../../raw", ""},
	{"a b.example", ""},
	{"a.example\x00", ""},
	{"\xff.example", ""},
	{strings.Repeat("a", 64) + ".example", ""},
	{strings.Repeat("a.", 127) + "example", ""},
}

func TestSanitizeDomain(t *testing.T) {
	for _, c := range domains {
		got, err := r2.SanitizeDomain(c.given)
		if c.want == "" {
			kind(t, c.given, err, contract.Validation)
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q becomes %q, %v, want %q", c.given, got, err, c.want)
		}
	}
}

func FuzzSanitizeDomain(f *testing.F) {
	for _, c := range domains {
		f.Add(c.given)
	}
	f.Fuzz(func(t *testing.T, domain string) {
		a, err := r2.SanitizeDomain(domain)
		if err != nil {
			return
		}
		if strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Contains(a, "..") {
			t.Errorf("%q becomes %q", domain, a)
		}
		if again, err := r2.SanitizeDomain(a); err != nil || again != a {
			t.Errorf("%q becomes %q, then %q, %v", domain, a, again, err)
		}
	})
}

func TestCheckpointMetadata(t *testing.T) {
	m := r2.CheckpointMetadata(time.Date(2026, 1, 28, 13, 0, 0, 0, time.FixedZone("", 3600)), "v1")
	if len(m) != 3 || m["processed_at"] != "2026-01-28T12:00:00Z" || m["processor"] != "seed-engine" || m["version"] != "v1" {
		t.Errorf("got %v", m)
	}
}
