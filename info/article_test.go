package info

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// now is later than all dates of the fixtures that are not meant to be in the future.
var now = time.Date(2026, 1, 17, 10, 10, 0, 0, time.UTC)

func TestKey(t *testing.T) {
	for _, same := range [][]string{
		{"https://www.a.example/x", "http://a.example/x/", "https://a.example:443/x?utm_source=n&UTM_Medium=m#top",
			"HTTPS://WWW.A.Example/x?fbclid=1"},
		{"https://a.example", "https://a.example/", "http://www.a.example/#x"},
		{"https://a.example/n?idxno=7&gclid=b", "https://a.example/n?utm_campaign=z&idxno=7",
			"http://a.example/n/?idxno=7"},
		{"https://한국신문.example/기사?제목=가",
			"https://xn--3e0bp5x81f0uu.example/%EA%B8%B0%EC%82%AC?%EC%A0%9C%EB%AA%A9=%EA%B0%80"},
	} {
		for _, u := range same[1:] {
			if Key(u) != Key(same[0]) || Key(u) == "" {
				t.Errorf("%q has the key %q, and %q has %q", u, Key(u), same[0], Key(same[0]))
			}
		}
	}
	for _, pair := range [][2]string{
		{"https://a.example/n?idxno=7", "https://a.example/n?idxno=8"},
		{"https://a.example/X", "https://a.example/x"},
		{"https://www2.a.example/x", "https://a.example/x"},
		{"https://a.example:8443/x", "https://a.example/x"},
	} {
		if Key(pair[0]) == Key(pair[1]) {
			t.Errorf("%q and %q have the same key", pair[0], pair[1])
		}
	}
	for _, u := range []string{"", "javascript:alert(1)", "data:text/html,x", "/relative", "ftp://a.example/",
		"https://u:p@a.example/", "https://"} {
		if k := Key(u); k != "" {
			t.Errorf("%q has the key %q", u, k)
		}
	}
}

func TestDraft_Dates(t *testing.T) {
	for _, c := range []struct {
		published, zone string
		want            string
		clamped         bool
		drop            Drop
	}{
		{"Sat, 17 Jan 2026 19:00:00 +0900", "Asia/Seoul", "2026-01-17T10:00:00Z", false, ""},
		{"2026-01-17 08:30:00", "UTC", "2026-01-17T08:30:00Z", false, ""},
		{"2026-01-17 12:00:00", "Asia/Seoul", "2026-01-17T03:00:00Z", false, ""},
		{"2026-01-17T03:00:09Z", "Asia/Seoul", "2026-01-17T03:00:09Z", false, ""},
		{"2026-01-17 03:00:00.123456", "", "2026-01-17T03:00:00.123Z", false, ""},
		{"2099-01-01 00:00:00", "UTC", "2026-01-17T10:10:00Z", true, ""},
		{"", "", "", false, NoDate},
		{"  ", "", "", false, NoDate},
		{"yesterday", "", "", false, BadDate},
		{"2026-13-45 99:99:99", "UTC", "", false, BadDate},
		{"2026-02-30 10:00:00", "UTC", "", false, BadDate},
		{"1970-01-01 00:00:00", "UTC", "", false, BadDate},
		{"2026-01-17 12:00:00", "Mars/Olympus", "", false, BadDate},
	} {
		d := Draft{URL: "https://a.example/x", Title: "x", Published: c.published, Zone: c.zone}
		a, ahead, drop := d.Article(Feed, now)
		clamped := ahead > 0
		got := ""
		if drop == "" {
			got = a.PublishedAt.Format(time.RFC3339Nano)
		}
		if got != c.want || clamped != c.clamped || drop != c.drop {
			t.Errorf("%q in %q: %q %v %q, not %q %v %q", c.published, c.zone, got, clamped, drop, c.want, c.clamped,
				c.drop)
		}
	}
}

// Articles whose dates are in the future stand as their source orders them, and not by their ids.
func TestTake_FutureDates(t *testing.T) {
	var b Batch
	var drafts []Draft
	for i, at := range []string{"2026-01-17T09:00:00Z", "2026-01-18T09:00:00Z", "2026-01-17T12:00:00Z",
		"2026-01-18T09:00:00Z", "2026-01-19T09:00:00Z"} {
		drafts = append(drafts, Draft{URL: fmt.Sprintf("https://a.example/%d", i), Title: fmt.Sprint(i), Published: at})
	}
	b.Take(Feed, now, drafts...)
	slices.SortFunc(b.Articles, func(x, y Article) int { return y.PublishedAt.Compare(x.PublishedAt) })
	order := ""
	for _, a := range b.Articles {
		if order += a.Title; a.PublishedAt.After(now) {
			t.Errorf("%s is of %s", a.Title, a.PublishedAt)
		}
	}
	if order != "41320" || b.Drops[Clamped] != 4 {
		t.Errorf("%s, %v", order, b.Drops)
	}
}

func TestDraft_URLs(t *testing.T) {
	for _, c := range []struct {
		url, want string
		drop      Drop
	}{
		// byte for byte
		{"https://A.example:443/x?b=1&a=2&utm_source=n#f", "https://A.example:443/x?b=1&a=2&utm_source=n#f", ""},
		{"//noscheme.example/a", "https://noscheme.example/a", ""},
		// listed, never fetched
		{"http://169.254.169.254/latest/meta-data/", "http://169.254.169.254/latest/meta-data/", ""},
		{"javascript:alert(1)", "", BadURL},
		{"https://user:secret@a.example/", "", BadURL},
		{"https://a.example/" + strings.Repeat("x", MaxURL), "", BadURL},
		{"https://a.example/\xff", "", BadURL},
		{"https://a.example/\x00x", "", BadURL},
		{"", "", NoURL},
	} {
		a, _, drop := Draft{URL: c.url, Title: "x", Published: "2026-01-17T03:00:00Z"}.Article(Feed, now)
		if drop != c.drop || drop == "" && a.URL != c.want {
			t.Errorf("%q: %q %q", c.url, a.URL, drop)
		}
	}
	a, _, _ := Draft{
		URL: "https://www.a.example/news/x", Title: "x", Published: "2026-01-17T03:00:00Z", ID: "has/slash",
		ThumbnailURL: "//cdn.example/i.jpg", SourceIconURL: "/icon.png", VideoURL: "data:video/mp4;base64,x",
	}.Article(Seed, now)
	if a.ThumbnailURL != "https://cdn.example/i.jpg" || a.SourceIconURL != "https://www.a.example/icon.png" ||
		a.VideoURL != "" || a.SourceName != "a.example" {
		t.Errorf("%+v", a)
	}
	if !strings.HasPrefix(a.ID, "seed_") || !validID(a.ID) {
		t.Errorf("an id that is no part of a cursor became %q", a.ID)
	}
}

func TestMerge(t *testing.T) {
	at := now.Add(-time.Hour)
	merged, repeated := Merge([]Article{
		{ID: "naver_1", Key: "a.example/x", URL: "http://a.example/x", Title: "One", PublishedAt: at},
		{ID: "n2", Key: "a.example/y", Title: "Two"},
		{ID: "n1", Key: "a.example/x", URL: "https://www.a.example/x", Title: "Uno", Snippet: "s",
			ThumbnailURL: "https://i.example/", Keywords: []string{"k"}, Category: AI, PublishedAt: now},
		{ID: "n2", Key: "a.example/z", Title: "Two elsewhere", VideoURL: "https://v.example/"},
	})
	want := []Article{
		{ID: "naver_1", Key: "a.example/x", URL: "http://a.example/x", Title: "One", Snippet: "s",
			ThumbnailURL: "https://i.example/", Keywords: []string{"k"}, Category: AI, PublishedAt: at},
		{ID: "n2", Key: "a.example/y", Title: "Two", VideoURL: "https://v.example/"},
	}
	if repeated != 2 || !reflect.DeepEqual(merged, want) {
		t.Errorf("%d repeated, %+v", repeated, merged)
	}
}

func TestCursor(t *testing.T) {
	for _, s := range []string{"1737100800000_naver_abc123", "1737100800000", "0_a",
		"1737100800000_9f3c1a77d2e4b6508c1d2e3f4b5b6e10", "1_a_b_c"} {
		c, ok := ParseCursor(s)
		if !ok || c.String() != s {
			t.Errorf("%q: %+v, %v", s, c, ok)
		}
	}
	for _, s := range []string{"", "_", "abc", "-1_a", "+1_a", "1_", "1_a b", "1_a'", "1.5_a",
		"99999999999999999999_a", "253402300800000_a", "1737100800000_" + strings.Repeat("a", 65)} {
		if c, ok := ParseCursor(s); ok {
			t.Errorf("%q is the cursor %+v", s, c)
		}
	}
	order := []string{"5_b", "5_a", "5", "4_z"}
	for i := range order[1:] {
		a, _ := ParseCursor(order[i])
		b, _ := ParseCursor(order[i+1])
		if !a.Before(b) || b.Before(a) || a.Before(a) {
			t.Errorf("%s does not stand before %s", a, b)
		}
	}
}

func TestWindows(t *testing.T) {
	at := time.Date(2026, 1, 17, 15, 7, 0, 0, time.UTC) // past midnight in Korea
	day := Limit{Calls: 25000, Zone: Korea}.Window(at)
	if day.Name != "day:2026-01-18" || !day.Ends.Equal(time.Date(2026, 1, 18, 15, 0, 0, 0, time.UTC)) ||
		day.Calls != 25000 {
		t.Errorf("%+v", day)
	}
	if utc := (Limit{Calls: 200}).Window(at); utc.Name != "day:2026-01-17" ||
		!utc.Ends.Equal(time.Date(2026, 1, 18, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", utc)
	}
	quarter := Limit{Calls: 30, Length: 15 * time.Minute}
	if w := quarter.Window(at); !w.Ends.Equal(time.Date(2026, 1, 17, 15, 15, 0, 0, time.UTC)) ||
		w.Name == quarter.Window(at.Add(8*time.Minute)).Name {
		t.Errorf("%+v", w)
	}
}

// The handwritten encoding of an article equals that of reflection.
func FuzzAppendPublic(f *testing.F) {
	for _, s := range []string{"", "기사 🌱", `"<b>" \\ &`, "a\nb\x00\x1f\x7f", "\u2028 \u2027 \u2029 “…”",
		"\xff \xe2\x80", "\xe2\x80\xa8", "\ufffd"} {
		f.Add(s, int64(1_769_601_600_123))
	}
	f.Fuzz(func(t *testing.T, s string, at int64) {
		if at < 0 || epoch.Millis(at) >= maxCursorTime {
			return
		}
		for _, a := range []Article{
			{ID: s, Title: s, URL: s, Snippet: s, Source: s, SourceName: s, PublishedAt: time.UnixMilli(at)},
			{ThumbnailURL: s, Category: Category(s), SourceIconURL: s, VideoURL: s, Keywords: []string{s, "x", s},
				AITag: s, PublishedAt: time.UnixMilli(at / 1000 * 1000)},
			{Keywords: []string{}},
		} {
			if got, want := string(a.AppendPublic([]byte("x"))),
				"x"+string(contract.Encode(a.Public())); got != want {
				t.Errorf("%s, not %s", got, want)
			}
		}
	})
}

// A fragment that is a route names a page of its own, any other one a place in a page.
func TestKey_Routes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/#/news/1", "https://a.example/#/news/2", false},
		{"https://a.example/x#!1", "https://a.example/x#!2", false},
		{"https://www.a.example/#/news/1", "http://a.example/#/news/1", true},
		{"https://a.example/x#top", "https://a.example/x#end", true},
		{"https://a.example/x#", "https://a.example/x", true},
	} {
		if (Key(c.a) == Key(c.b)) != c.same {
			t.Errorf("%s and %s: %q, %q", c.a, c.b, Key(c.a), Key(c.b))
		}
	}
}

// An import drops what no source could have given: readers' browsers load pictures.
func TestExported_PrivatePictures(t *testing.T) {
	for ref, ok := range map[string]bool{
		"http://192.168.0.10/x.jpg": false, "http://localhost/x.jpg": false, "javascript:alert(1)": false,
		"data:image/png;base64,AA": false, "https://img.example/x.jpg?a=1": true,
	} {
		e := Exported{Public: Public{ID: "feed_1", URL: "https://a.example/1", Title: "t", Source: Feed,
			PublishedAt: "2026-01-28T12:00:00Z", ThumbnailURL: &ref, SourceIconURL: &ref, VideoURL: &ref}}
		want := ""
		if ok {
			want = ref
		}
		a, err := e.Article()
		if err != nil || a.ThumbnailURL != want || a.SourceIconURL != want || a.VideoURL != want {
			t.Errorf("%s: %+v %v", ref, a, err)
		}
	}
}

// Pictures of private networks are dropped.
func TestDraft_PrivatePictures(t *testing.T) {
	for ref, ok := range map[string]bool{
		"http://192.168.0.10/x.jpg": false, "http://127.0.0.1/x.jpg": false, "http://[::1]/x.jpg": false,
		"http://10.1.2.3/x.jpg": false, "http://169.254.169.254/latest": false, "http://100.64.0.1/x.jpg": false,
		"http://localhost/x.jpg": false, "http://intranet/x.jpg": false, "http://nas.local/x.jpg": false,
		"http://0x7f.1/x.jpg": false, "http://2130706433/x.jpg": false, "http://[::ffff:10.0.0.1]/x.jpg": false,
		"https://img.example/x.jpg": true, "http://8.8.8.8/x.jpg": true, "/x.jpg": true, "//cdn.example/x.jpg": true,
	} {
		if got := media("https://a.example/1", ref); (got != "") != ok {
			t.Errorf("%s: %q", ref, got)
		}
	}
}
