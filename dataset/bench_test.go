package dataset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// sample makes a file of about size bytes, with each record's title written by title.
func sample(size int, title func(i int) string) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		d := fmt.Sprintf("ministry-%d.gov.sg", i*7919%2000)
		fmt.Fprintf(&b,
			`{"url":"https://www.%s/newsroom/press-releases/2026/item-%d","title":"%s","domain":"www.%s",`+
				`"registrable_domain":"%s",`+
				`"domain_id":"gov:sg:%s","source_type":"gov","content_type":"text/html","language":"en",`+
				`"country":"sg",`+
				`"discovered_at":"2026-01-28T10:00:00Z","discovery_method":"google_search"}`, d, i, title(i), d, d, d)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func BenchmarkReader(b *testing.B) {
	plain := func(i int) string { return fmt.Sprintf("Press Release %d - Ministry of Testing", i) }
	for name, file := range map[string][]byte{
		"plain": sample(20<<20, plain),
		"escaped": sample(20<<20, func(i int) string {
			return strings.Repeat(`\ubcf4\ub3c4\uc790\ub8cc `,
				3) + fmt.Sprint(i)
		}),
		"indented": bytes.ReplaceAll(sample(20<<20, plain), []byte(`,"`), []byte(",\n    \"")),
	} {
		b.Run(name, func(b *testing.B) {
			r := NewReader(nil)
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(bytes.NewReader(file))
				n := 0
				for {
					rec, err := r.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					n += len(rec.Get(URL))
				}
				if n == 0 {
					b.Fatal("no URL")
				}
			}
		})
	}
}
