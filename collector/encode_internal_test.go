package collector

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// TestEncode: pretty lays a document out as the standard library does, long and nested lists included.
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
