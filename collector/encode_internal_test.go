package collector

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// TestEncode: a document is laid out as the standard library does it, long and nested lists included.
func TestEncode(t *testing.T) {
	for _, d := range []*contract.Document{
		{},
		{URLs: numbered(20, 100), URLsFiles: []string{}, State: `{"a":[1,{"b":"\\"}]}`},
		{Technical: contract.Technical{RobotsTxt: contract.RobotsTxt{SitemapURLs: []string{`https://a.sg/"{[,:]}\\`,
			"https://줄.sg/\u2028", ""}}}},
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, contract.Encode(d), "", "  "); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		if got := encode(d); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("got  %s\nwant %s", got, want.Bytes())
		}
	}
}

// FuzzAppendIndented: the layout is that of json.Indent.
func FuzzAppendIndented(f *testing.F) {
	for _, seed := range []string{`{}`, `[[],{},[{}]]`, `"x"`, `7`,
		`{"a\\":"b\\\"c","d":[1,-2.5e3,true,null,"{[,:]}"]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, data) != nil || json.Indent(&want, compact.Bytes(), "", "  ") != nil {
			return
		}
		if got := appendIndented(nil, compact.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("got  %s\nwant %s", got, want.Bytes())
		}
	})
}

// BenchmarkIndent compares the layout of a large document with that of json.Indent.
func BenchmarkIndent(b *testing.B) {
	d := contract.Document{URLs: numbered(1000, 100), URLsFiles: []string{}}
	compact := contract.Encode(&d)
	for name, indent := range map[string]func(){
		"appendIndented": func() { appendIndented(make([]byte, 0, 2*len(compact)), compact) },
		"json.Indent": func() {
			var out bytes.Buffer
			out.Grow(2 * len(compact))
			_ = json.Indent(&out, compact, "", "  ")
		},
		"encoding": func() { contract.Encode(&d) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(compact)))
			for b.Loop() {
				indent()
			}
		})
	}
}
