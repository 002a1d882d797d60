package handlers

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// The handwritten encoding of a listing equals that of reflection, whichever fields are set.
func TestDatasets_JSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	maybe := func(s string) *string {
		if r.IntN(2) == 0 {
			return nil
		}
		return &s
	}
	number := func() *int64 {
		if n := r.Int64N(9); n > 3 {
			return &n
		}
		return nil
	}
	for range 200 {
		l := listing{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
			Files: []chunk{}, Cursor: maybe("raw_0001.json")}
		for range r.IntN(4) {
			c := chunk{Chunk: "raw_0001", Key: "raw/…/raw_0001.json", Size: r.Int64(), MD5: maybe("d751"),
				UploadedAt: contract.Time{Time: time.UnixMilli(r.Int64N(4e12))},
				State:      "failed", ProcessedAt: maybe("2026-01-28T10:00:00Z\n"), ErrorType: maybe(`a "<b>" & \ c`),
				ErrorMessage: maybe("줄\u2028\xff 1\r\n2"),
				Records:      number(), Rejected: number(), Rejections: []contract.Rejection{}}
			for range r.IntN(3) {
				c.Rejections = append(c.Rejections, contract.Rejection{Record: 1, Offset: 2, Reason: `has no "url"`})
			}
			l.Files = append(l.Files, c)
		}
		byReflection, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(l.AppendJSON(nil), &got); err != nil {
			t.Fatalf("%v: %s", err, l.AppendJSON(nil))
		}
		if err := json.Unmarshal(byReflection, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %s\nwant %s", l.AppendJSON(nil), byReflection)
		}
	}
}
