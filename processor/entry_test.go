package processor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/dataset"
)

// record reads one record of a raw file.
func record(t *testing.T, members string) *dataset.Record {
	t.Helper()
	var reader dataset.Reader
	reader.Reset(strings.NewReader("[{" + members + "}]"))
	r, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// insert adds a URL to a group.
func (g *groups) insert(t *testing.T, d *group, url, members string) {
	t.Helper()
	split, why := splitURL([]byte(url))
	if why != "" {
		t.Fatal(why)
	}
	g.seen.forget() // the same URL may come again
	d.hash = g.seen.of("")
	if !g.append(d, []byte(url), &split, record(t, members)) {
		t.Errorf("%s is a duplicate", url)
	}
}

// json returns the URLs of a group. Their size must be what the group names. With the members that are common, or each
// with its own, they must say the same.
func (g *groups) json(t *testing.T, d *group) (list []json.RawMessage) {
	t.Helper()
	b := g.appendURLs(nil, d, false)
	if len(b) != int(d.size) {
		t.Errorf("%d bytes, not %d: %s", len(b), d.size, b)
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	common := g.common(d)
	if common == nil {
		return list
	}
	short := append(append(g.appendURLs(nil, d, true), beforeCommon...), common...)
	if len(short) != g.inlineSize(d) {
		t.Errorf("%d bytes in a message, not %d: %s", len(short), g.inlineSize(d), short)
	}
	m, err := contract.ParseDomain(fmt.Appendf(nil, `{"domain":"a.com","source_file_path":"%s","partition_info":`+
		`{"country":"sg","category":"news","date":"2026-01-28"},"urls":%s}`, rawKey, short))
	if err != nil {
		t.Fatalf("%v: %s", err, short)
	}
	if have := string(contract.Encode(m.URLs)); have != string(contract.Encode(list)) {
		t.Errorf("got %s, want %s", have, b)
	}
	return list
}

// TestEntries: every URL has the title, the path and the optional members of its own record.
func TestEntries(t *testing.T) {
	short := "x"
	title, method, language, at, confidence := `a "b" 한`, "google_search", "ko", "2026-01-28T10:00:00Z", 0.25
	long := "https://a.com/" + strings.Repeat("x", 2*maxPattern)
	described := `"title":"a \"b\" 한","discovery_method":"google_search","language":"ko",` +
		`"discovered_at":"2026-01-28T10:00:00Z","confidence":0.25`
	cases := []struct {
		url, members string
		want         contract.URL
	}{
		{"https://a.com/x/y?q=1", "", contract.URL{Path: "/x/y"}},
		{"https://a.com", "", contract.URL{Path: "/"}},
		{"https://a.com/x", `"title":"x"`, contract.URL{Path: "/x", Title: &short}},
		{"https://a.com/x/../y", `"language":"ko","title":""`, contract.URL{Path: "/y", Language: &language}},
		{"https://www.a.com/x/y", `"title":"x"`, contract.URL{Path: "/x/y", Title: &short}},
		{"https://a.com/", described, contract.URL{Path: "/", Title: &title, DiscoveryMethod: &method,
			Language: &language, DiscoveredAt: &at, Confidence: &confidence}},
		{long, `"title":"x"`, contract.URL{Path: long[len("https://a.com"):], Title: &short}},
		{long + "/z", "", contract.URL{Path: long[len("https://a.com"):] + "/z"}},
	}
	for first := range cases {
		var g groups
		var d group
		var want []string
		for n := range 3 * len(cases) {
			c := cases[(first+n)%len(cases)]
			g.insert(t, &d, c.url, c.members)
			c.want.URL = c.url
			want = append(want, string(contract.Encode(c.want)))
		}
		for n, have := range g.json(t, &d) {
			if string(have) != want[n] {
				t.Errorf("after %s: got %s, want %s", cases[first].url, have, want[n])
			}
		}
		if have := string(g.appendFirstURL(nil, &d)); have != cases[first].url {
			t.Errorf("the first URL is %s, not %s", have, cases[first].url)
		}
	}
}

// TestEntries_Differences: what a domain's URLs have in common, and what all records have, is stored once.
func TestEntries_Differences(t *testing.T) {
	var g groups
	var d group
	const n = 1000
	for i := range n {
		g.insert(t, &d, fmt.Sprintf("https://www.ministry.gov.sg/newsroom/press-releases/2026/item-%d", i),
			fmt.Sprintf(`"title":"Press release %d - Ministry of Testing",`+
				`"language":"en","discovered_at":"2026-01-28T10:%02d:00Z"`, i, i%60))
	}
	if each := g.blocks.taken * blockSize / n; each > 24 {
		t.Errorf("%d bytes each", each)
	}
	for i, have := range g.json(t, &d) {
		want := fmt.Sprintf(`{"url":"https://www.ministry.gov.sg/newsroom/press-releases/2026/item-%d",`+
			`"title":"Press release %d - Ministry of Testing","path":"/newsroom/press-releases/2026/item-%d",`+
			`"language":"en","discovered_at":"2026-01-28T10:%02d:00Z"}`, i, i, i, i%60)
		if string(have) != want {
			t.Fatalf("got %s, want %s", have, want)
		}
	}
}

// TestEntries_Members: the same with optional members that differ from record to record.
func TestEntries_Members(t *testing.T) {
	var g groups
	for range 2 { // files
		var d group
		var want []string
		g.members.start()
		for range 2 {
			for _, members := range []string{
				"", "", `"language":"ko"`, `"language":"ko"`, `"language":"k"`, `"discovered_at":"ko"`,
				`"discovered_at":"ko"`,
				`"discovery_method":"a","language":"b","discovered_at":"c","confidence":1`,
				`"discovery_method":"a","language":"b","discovered_at":"c","confidence":10`,
				`"discovery_method":"a","language":"b","discovered_at":"c"`, "",
			} {
				i := len(want)
				g.insert(t, &d, fmt.Sprintf("https://a.com/%d", i), members)
				if members != "" {
					members = "," + members
				}
				want = append(want,
					fmt.Sprintf(`{"url":"https://a.com/%d","title":null,"path":"/%d"%s}`, i, i, members))
			}
		}
		for i, have := range g.json(t, &d) {
			if string(have) != want[i] {
				t.Errorf("got %s, want %s", have, want[i])
			}
		}
	}
}

// TestGroups_Due: the domains with the most URLs are sent first, an eighth of the memory; at the end all.
func TestGroups_Due(t *testing.T) {
	var g groups
	g.start("sg")
	g.limit = 1 << 20
	for i := range 64 {
		g.list = append(g.list, group{domain: fmt.Sprint(i)})
		d := &g.list[i]
		for n := range 10 * (1 + i%8) {
			g.insert(t, d, fmt.Sprintf("https://a.com/%s/%d", strings.Repeat(string(rune('a'+n%26)), 110), n), "")
		}
	}
	sent := func(last bool) (domains string, blocks int) {
		for d := range g.due(last) {
			domains += d.domain + " "
			blocks += int(d.entries.blocks)
		}
		return domains, blocks
	}
	want := g.limit / 8 / blockSize
	domains, blocks := sent(false)
	if blocks < want || blocks > want+want/4 {
		t.Errorf("%d blocks are sent, want %d", blocks, want)
	}
	of := map[int]int{}
	for _, name := range strings.Fields(domains) {
		n, _ := strconv.Atoi(name)
		of[n%8]++
	}
	if of[7] != 8 || of[6] == 0 || len(of) > 2 {
		t.Errorf("domains %s are sent", domains)
	}
	g.list[3].size = maxWaiting
	if have, _ := sent(false); !strings.Contains(have, "3 ") {
		t.Errorf("domains %s are sent, not one that has all that may wait", have)
	}
	if have, _ := sent(true); len(strings.Fields(have)) != 64 {
		t.Errorf("domains %s are sent in the end", have)
	}
	g.tables = g.limit
	if have, _ := sent(false); len(strings.Fields(have)) != 64 {
		t.Errorf("domains %s are sent when domains take the memory", have)
	}
}

func TestCommonEnd(t *testing.T) {
	for n := range 40 {
		for same := range n + 1 {
			a := []byte("x" + strings.Repeat("-", n-same) + strings.Repeat("b", same))
			b := []byte(strings.Repeat("+", n-same) + strings.Repeat("b", same))
			if have := commonEnd(a, b); have != same {
				t.Errorf("%s and %s: %d, want %d", a, b, have, same)
			}
		}
	}
}
