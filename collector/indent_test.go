package collector

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzIndent(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `"\\"`, `1`, `{"a":[],"b":{},"c":[{}],"d":"\"[{,:}]\\"}`, `[1,[2,[3,{"a":null}]],true,-1.5e3]`, `{"\\\"":"\\\\\"","줄":"\u2028"}`, `[[],[[]]]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			return
		}
		if err := json.Indent(&want, compact.Bytes(), "", indentation); err != nil {
			t.Fatal(err)
		}
		if got := appendIndented(nil, compact.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("got  %q\nwant %q", got, want.Bytes())
		}
	})
}
