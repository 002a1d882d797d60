package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/newsfork/seed-engine/discovery/internal/lexicon"
	"github.com/newsfork/seed-engine/discovery/internal/urltext"
)

func TestDiag(t *testing.T) {
	ex, _ := readExamples(os.DirFS(".."))
	set := defaults
	set.written = 0.5
	ps := crossValidate(ex, set)
	var r urltext.Reading
	cnt := map[string]int{}
	for _, p := range ps {
		if p.right() {
			continue
		}
		r.Read(p.url, 0)
		gold, any := false, false
		for i := range r.Path {
			for _, h := range r.Path[i].Hits {
				if h.Role == p.label {
					gold = true
				}
				if h.Role < lexicon.Unknown {
					any = true
				}
			}
		}
		if p.label == lexicon.Unknown {
			gold = false
		}
		g := "dev"
		if p.fold >= 3 {
			g = "blind"
		}
		cnt[fmt.Sprintf("%s unknownlabel=%v goldhit=%v anyhit=%v soft=%v", g, p.label == lexicon.Unknown, gold, any, p.rightOrSecondary())]++
	}
	for k, v := range cnt {
		fmt.Println(v, k)
	}
}
