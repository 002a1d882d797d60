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
		{Discovery: []byte(`{"a":[{},"\u003c"],"b":{}}`)},
		{Contract: []byte("{\n  \"a\": [\n  ],\n  \"b\": \"c d\"\n }\n"), State: "{}"},
		{BlockedReason: contract.Text(`"intelligent_discovery":null,"fetch_contract":null`),
			Discovery: []byte(`{"fetch_contract":null}`), Contract: []byte(`{"intelligent_discovery":null}`)},
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

// FuzzIndenter: the layout is that of json.Indent, whatever blanks the input has.
func FuzzIndenter(f *testing.F) {
	for _, seed := range []string{`{}`, "{ \t}\n", "[ 1 ,\r\n{ \"a\" : [ ] } ]", `[[],{},[{}]]`, `"x"`, `7`,
		`{"a\\":"b\\\"c","d":[1,-2.5e3,true,null,"{[,:]}"]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, data) != nil || json.Indent(&want, compact.Bytes(), "", "  ") != nil {
			return
		}
		for _, src := range [][]byte{data, compact.Bytes()} {
			var w indenter
			if w.write(src); !bytes.Equal(w.dst, want.Bytes()) {
				t.Errorf("got  %s\nwant %s", w.dst, want.Bytes())
			}
		}
	})
}

// BenchmarkIndent compares the layout of a large document with that of json.Indent.
func BenchmarkIndent(b *testing.B) {
	d := contract.Document{URLs: numbered(1000, 100), URLsFiles: []string{}}
	compact := contract.Encode(&d)
	for name, indent := range map[string]func(){
		"indenter": func() {
			w := indenter{dst: make([]byte, 0, 2*len(compact))}
			w.write(compact)
		},
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
