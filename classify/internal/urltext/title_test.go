package urltext

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify/hosts"
)

// TestTitle_AndFrame: title and frame together have the features of the URL, and of two URLs with one
// key and all else equal the frames are the same.
func TestTitle_AndFrame(t *testing.T) {
	f, err := os.Open("../../testdata/urls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := Reading{Words: words(t)}
	var whole, title, frame Features
	titles := 0
	for l := bufio.NewScanner(f); l.Scan(); {
		var row struct{ URL string }
		if err := json.Unmarshal(l.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(Split(row.URL).Path, "/")
		last := path[strings.LastIndexByte(path, '/')+1:]
		if last == "" || !r.ReadTitle(last) {
			continue
		}
		titles++
		key := string(r.AppendTitleKey(nil))
		r.Read(row.URL, hosts.OtherSector)
		r.Extract(&whole)
		host := r.ExtractFrame(&frame)
		r.ReadTitle(last)
		r.ExtractTitle(&title, host)
		r.Read(row.URL, hosts.OtherSector)
		both := append(slices.Clone(title.Plain), frame.Plain...)
		slices.Sort(both)
		slices.Sort(whole.Plain)
		if !slices.Equal(both, whole.Plain) || len(title.Tied)+len(frame.Tied) != len(whole.Tied) {
			t.Errorf("%s: title and frame have other features than the URL", row.URL)
		}

		// A title of the same key without any of its words.
		other := strings.Map(func(c rune) rune {
			if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
				return 'x'
			}
			return c
		}, strings.TrimSuffix(last, "."+r.Path[len(r.Path)-1].Ext))
		if e := r.Path[len(r.Path)-1].Ext; e != "" {
			other += "." + e
		}
		if !r.ReadTitle(other) || string(r.AppendTitleKey(nil)) != key {
			continue
		}
		r.Read(strings.Replace(row.URL, last, other, 1), hosts.OtherSector)
		var same Features
		r.ExtractFrame(&same)
		if !slices.Equal(same.Plain, frame.Plain) || !slices.Equal(same.Tied, frame.Tied) {
			t.Errorf("%s and a title %q have one key and two frames", row.URL, other)
		}
	}
	if titles < 150 {
		t.Errorf("only %d titles", titles)
	}
}
