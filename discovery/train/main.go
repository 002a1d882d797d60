package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"net/url"
	"os"
	"sort"

	"golang.org/x/net/publicsuffix"

	"github.com/newsfork/seed-engine/discovery/internal/lexicon"
	"github.com/newsfork/seed-engine/discovery/internal/linear"
	"github.com/newsfork/seed-engine/discovery/internal/urltext"
)

type Row struct {
	URL       string   `json:"url"`
	Label     string   `json:"label"`
	Secondary []string `json:"secondary"`
	Lang      string   `json:"lang"`
	fold      int
	y         int
	sec       []int
	f         urltext.Features
}

const folds = 5

func load(path string) []*Row {
	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	var rows []*Row
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		r := &Row{}
		if err := json.Unmarshal(sc.Bytes(), r); err != nil {
			log.Fatal(err)
		}
		role, ok := lexicon.ParseRole(r.Label)
		if !ok {
			log.Fatal(r.Label)
		}
		r.y = int(role)
		for _, s := range r.Secondary {
			role, _ := lexicon.ParseRole(s)
			r.sec = append(r.sec, int(role))
		}
		r.fold = fold(r.URL)
		var rd urltext.Reading
		rd.Read(r.URL)
		rd.Extract(&r.f)
		rows = append(rows, r)
	}
	return rows
}

func fold(u string) int {
	h := u
	if p, err := url.Parse(u); err == nil {
		h = p.Hostname()
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(h)
	if err != nil {
		d = h
	}
	x := fnv.New32a()
	x.Write([]byte(d))
	return int(x.Sum32() % folds)
}

var (
	l2tied   = flag.Float64("l2tied", 0.02, "")
	l2dense  = flag.Float64("l2dense", 0.6, "")
	l2struct = flag.Float64("l2struct", 0.6, "")
	l2hash   = flag.Float64("l2hash", 2, "")
	smooth   = flag.Float64("smooth", 0.15, "")
	iters    = flag.Int("iters", 300, "")
	rate     = flag.Float64("rate", 0.05, "")
	show     = flag.String("show", "", "folds whose errors to show, e.g. 012")
	eval     = flag.String("eval", "01234", "folds to evaluate")
	read     = flag.String("read", "", "show one URL")
)

const denseEnd = 45*22

func train(rows []*Row) *linear.Weights {
	w := &linear.Weights{}
	type group struct {
		w, g, m, v []float64
		l2         float64
	}
	// flat views
	gw := &linear.Weights{}
	m := &linear.Weights{}
	v := &linear.Weights{}
	used := map[uint16]bool{}
	for _, r := range rows {
		for _, p := range r.f.Plain {
			used[p] = true
		}
	}
	var idx []int
	for p := range used {
		idx = append(idx, int(p))
	}
	sort.Ints(idx)
	n := float64(len(rows))
	b1, b2 := 0.9, 0.999
	for it := 1; it <= *iters; it++ {
		gw.Bias = [linear.Classes]float64{}
		gw.Tied = [urltext.TiedFeatures]float64{}
		for _, p := range idx {
			gw.Plain[p] = [linear.Classes]float64{}
		}
		for _, r := range rows {
			s := w.Scores(&r.f)
			linear.Softmax(&s)
			for c := range s {
				t := 0.0
				if c == r.y {
					t = 1
				}
				if len(r.sec) > 0 {
					if c == r.y {
						t = 1 - *smooth
					}
					for _, x := range r.sec {
						if c == x {
							t += *smooth / float64(len(r.sec))
						}
					}
				}
				s[c] -= t
				gw.Bias[c] += s[c]
			}
			for _, t := range r.f.Tied {
				gw.Tied[t.At] += s[t.For]
			}
			for _, p := range r.f.Plain {
				row := &gw.Plain[p]
				for c := range s {
					row[c] += s[c]
				}
			}
		}
		lr := *rate * 0.5 * (1 + math.Cos(math.Pi*float64(it)/float64(*iters)))
		c1, c2 := 1-math.Pow(b1, float64(it)), 1-math.Pow(b2, float64(it))
		upd := func(w, g, m, v *float64, l2 float64) {
			gr := (*g + l2**w) / n
			*m = b1**m + (1-b1)*gr
			*v = b2**v + (1-b2)*gr*gr
			*w -= lr * (*m / c1) / (math.Sqrt(*v/c2) + 1e-8)
		}
		for c := range w.Bias {
			upd(&w.Bias[c], &gw.Bias[c], &m.Bias[c], &v.Bias[c], 0.1)
		}
		for t := range w.Tied {
			upd(&w.Tied[t], &gw.Tied[t], &m.Tied[t], &v.Tied[t], *l2tied)
		}
		for _, p := range idx {
			l2 := *l2dense
			switch {
			case p >= urltext.PlainFeatures-4096:
				l2 = *l2hash
			case p >= denseEnd:
				l2 = *l2struct
			}
			for c := range w.Bias {
				upd(&w.Plain[p][c], &gw.Plain[p][c], &m.Plain[p][c], &v.Plain[p][c], l2)
			}
		}
	}
	return w
}

func main() {
	flag.Parse()
	rows := load("discovery/testdata/urls.jsonl")
	cm := [23][23]int{}
	type pred struct {
		r    *Row
		c    int
		p    float64
		top  [3]int
		topp [3]float64
	}
	var preds []pred
	for k := 0; k < folds; k++ {
		found := false
		for _, c := range *eval {
			if int(c-'0') == k {
				found = true
			}
		}
		if !found {
			continue
		}
		var tr, te []*Row
		for _, r := range rows {
			if r.fold == k {
				te = append(te, r)
			} else {
				tr = append(tr, r)
			}
		}
		w := train(tr)
		ok, okSec := 0, 0
		for _, r := range te {
			s := w.Scores(&r.f)
			linear.Softmax(&s)
			order := make([]int, 23)
			for i := range order {
				order[i] = i
			}
			sort.SliceStable(order, func(a, b int) bool { return s[order[a]] > s[order[b]] })
			b := order[0]
			p := pred{r: r, c: b, p: s[b]}
			for i := range 3 {
				p.top[i], p.topp[i] = order[i], s[order[i]]
			}
			preds = append(preds, p)
			cm[r.y][b]++
			if b == r.y {
				ok++
				okSec++
			} else {
				for _, x := range r.sec {
					if x == b {
						okSec++
					}
				}
			}
		}
		fmt.Printf("fold %d n=%d acc %.3f sec %.3f\n", k, len(te), float64(ok)/float64(len(te)), float64(okSec)/float64(len(te)))
	}
	var ok, tot, okSec int
	for _, p := range preds {
		tot++
		if p.c == p.r.y {
			ok++
			okSec++
			continue
		}
		for _, x := range p.r.sec {
			if x == p.c {
				okSec++
			}
		}
	}
	f1 := 0.0
	for c := 0; c < 23; c++ {
		var tp, fp, fn int
		for d := 0; d < 23; d++ {
			if c == d {
				tp = cm[c][c]
			} else {
				fn += cm[c][d]
				fp += cm[d][c]
			}
		}
		f := 2 * float64(tp) / float64(2*tp+fp+fn)
		f1 += f / 23
		if *show != "" {
			fmt.Printf("%-14s n=%3d F1 %.2f  P %.2f R %.2f\n", lexicon.Role(c), tp+fn, f, float64(tp)/float64(tp+fp), float64(tp)/float64(tp+fn))
		}
	}
	fmt.Printf("all n=%d acc %.3f sec %.3f F1 %.3f\n", tot, float64(ok)/float64(tot), float64(okSec)/float64(tot), f1)
	if *show != "" {
		sort.SliceStable(preds, func(i, j int) bool { return preds[i].r.y < preds[j].r.y })
		for _, p := range preds {
			vis := false
			for _, c := range *show {
				if int(c-'0') == p.r.fold {
					vis = true
				}
			}
			if vis && p.c != p.r.y {
				fmt.Printf("%s %v → %s %.2f (%s %.2f) %s\n", p.r.Label, p.r.Secondary, lexicon.Role(p.c), p.p, lexicon.Role(p.top[1]), p.topp[1], p.r.URL)
			}
		}
	}
}
