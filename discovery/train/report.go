package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// printFigures prints how good the predictions are, and the wrong ones of some folds.
func printFigures(w io.Writer, all []*prediction, errors string) {
	line := func(name string, of []*prediction) {
		f := measure(of, (*prediction).best)
		fmt.Fprintf(w, "%-16s n=%3d  accuracy %.3f  with secondary %.3f  macro-F1 %.3f\n", name, f.n, f.accuracy, f.secondary, f.macroF1)
	}
	for fold := range folds {
		line(fmt.Sprintf("fold %d", fold), filter(all, func(p *prediction) bool { return p.fold == fold }))
	}
	line("all", all)
	fmt.Fprintf(w, "temperature %.2f\n", temperature(all))
	if errors == "" {
		return
	}
	wrong := filter(all, func(p *prediction) bool {
		return !p.right() && strings.Contains(errors, fmt.Sprint(p.fold))
	})
	sort.SliceStable(wrong, func(i, j int) bool { return wrong[i].label < wrong[j].label })
	for _, p := range wrong {
		fmt.Fprintf(w, "%s %v → %s %.2f %s\n", p.label, p.secondary, p.best(), p.confidence(1), p.url)
	}
}

func filter(all []*prediction, keep func(*prediction) bool) []*prediction {
	var some []*prediction
	for _, p := range all {
		if keep(p) {
			some = append(some, p)
		}
	}
	return some
}
