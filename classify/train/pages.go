package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/pagetext"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
	"github.com/newsfork/seed-engine/page"
)

// Labelled pages with their evidence: lines like those of the other files, with "page" beside "url", as "seedctl
// inspect --page --json" prints it. Their domains are in no other file of labelled URLs, so what the model says about
// their URLs is what it says about unseen ones. Written pages are like those of authorities, of which few are saved, on
// made-up hosts. None of the files has to exist.
const (
	pagesSet     = "testdata/pages.jsonl"
	pagesHeldOut = "testdata/pages_heldout.jsonl"
	pagesWritten = "train/written/pages.jsonl"
)

// pageExample is a page with its label.
type pageExample struct {
	*example
	evidence *page.Evidence
	known    pagetext.Known
	without  [linear.Classes]float64 // scores of its URL and texts
	features []uint32
	alone    lexicon.Role // type by URL alone
}

// readPages reads the labelled pages of a file.
func readPages(dir fs.FS, name string) ([]*pageExample, error) {
	data, err := fs.ReadFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := parseLabelled(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	never, err := readUnseen(dir)
	if err != nil {
		return nil, err
	}
	if err := never.refuse(name, rows); err != nil {
		return nil, err
	}
	var all []*pageExample
	for line := range bytes.Lines(data) {
		e := rows[len(all)]
		var row struct{ Page *page.Evidence }
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if row.Page == nil {
			return nil, fmt.Errorf("%s: %s: no page", name, e.url)
		}
		row.Page.Bound()
		e.set, e.fold = name, foldOf(e.url)
		all = append(all, &pageExample{example: e, evidence: row.Page})
	}
	return all, nil
}

// prepare scores the URLs of pages by a model, and extracts the features of their evidence, as classify does. Home
// pages, which keep the type of their URL, are left out.
func prepare(all []*pageExample, weights []byte, words *lexicon.Words) ([]*pageExample, error) {
	m, err := linear.Parse(weights)
	if err != nil {
		return nil, err
	}
	r := urltext.Reading{Words: words}
	var x pagetext.Extractor
	var f urltext.Features
	kept := all[:0]
	for _, e := range all {
		r.Read(e.url, hosts.OtherSector)
		if r.IsFront() {
			continue
		}
		r.Extract(&f)
		sums := m.Score(&f)
		best := sums.Best()
		e.alone = lexicon.Role(best)
		title, heading := pagetext.Texts(e.evidence, "", "", m.Confidence(&sums, best))
		if title != "" || heading != "" {
			r.ReadText(title, heading)
			r.ExtractText(&f)
			m.Add(&sums, &f)
			m.Temper(&sums)
			best = sums.Best()
		}
		e.known = pagetext.Known{Class: uint8(best), Confidence: m.Confidence(&sums, best)}
		e.without = m.Logits(&sums)
		e.features = append([]uint32(nil), x.Extract(&r, e.evidence, e.known)...)
		kept = append(kept, e)
	}
	return kept, nil
}

// pageSettings are those of the training of evidence.
type pageSettings struct {
	rounds  int
	rate    float64
	penalty float64 // of weights, a page
	dropout float64
	least   int     // pages that a feature must occur in
	fits    int     // whose mean is taken; cross-validation has one a fold
	written float64 // weight of written pages
	balance float64 // power of a type's rarity by which its pages count more, see weights
}

var pageDefaults = pageSettings{rounds: 20, rate: 0.1, penalty: 5e-5, dropout: 0.35, least: 3, fits: 5, written: 2,
	balance: 0.5}

// mostWeight bounds the weight of a page of a rare type.
const mostWeight = 3

// weights returns the weight of a page of each type: the rarer the type, the more, by a power of its share.
func (set pageSettings) weights(all []*pageExample) (weights [linear.Classes]float64) {
	var counts [linear.Classes]int
	for _, e := range all {
		counts[e.label]++
	}
	even := float64(len(all)) / float64(linear.Classes)
	for c, n := range counts {
		weights[c] = min(math.Pow(even/float64(max(n, 1)), set.balance), mostWeight)
	}
	return weights
}

// fitPages learns the weights of evidence: the mean of fits that differ by chance.
func fitPages(all []*pageExample, set pageSettings) *linear.PageWeights {
	parts := make([]*linear.PageWeights, set.fits)
	var wait sync.WaitGroup
	for seed := range parts {
		wait.Go(func() { parts[seed] = fitPagesOnce(all, set, uint64(seed)) })
	}
	wait.Wait()
	mean := &linear.PageWeights{}
	share := 1 / float64(set.fits)
	for _, w := range parts {
		for b := range w.Keep {
			mean.Keep[b] += float64(share * w.Keep[b])
		}
		for f := range w.Rows {
			for c := range w.Rows[f] {
				mean.Rows[f][c] += float64(share * w.Rows[f][c])
			}
		}
	}
	return mean
}

// fitPagesOnce learns the weights of evidence, beside scores that stay as they are but for a factor that depends on how
// sure they are. It is deterministic.
func fitPagesOnce(all []*pageExample, set pageSettings, seed uint64) *linear.PageWeights {
	w := &linear.PageWeights{}
	for b := range w.Keep {
		w.Keep[b] = 1
	}
	if len(all) == 0 {
		return w
	}
	counts := make([]int, pagetext.Size)
	for _, e := range all {
		for _, f := range e.features {
			counts[f]++
		}
	}
	squares, keepSquares := make([]float64, pagetext.Size), [pagetext.Buckets]float64{}
	weights := set.weights(all)
	order := append([]*pageExample(nil), all...)
	x := expander{state: 7 + seed}
	out := uint64(set.dropout*(1<<32)) << 32
	var features []uint32
	steps, step := set.rounds*len(order), 0
	for range set.rounds {
		for i := len(order) - 1; i > 0; i-- {
			j := x.next(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		for _, e := range order {
			rate := set.rate * (1 - float64(step)/float64(steps))
			step++
			features = features[:0]
			for _, f := range e.features {
				if counts[f] >= set.least && x.bits() >= out {
					features = append(features, f)
				}
			}
			bucket := e.known.Bucket()
			s := e.without
			for c := range s {
				s[c] *= w.Keep[bucket]
			}
			for _, f := range features {
				row := &w.Rows[f]
				for c := range s {
					s[c] += row[c]
				}
			}
			linear.Softmax(&s)
			e.subtractTarget(&s)
			share := weights[e.label]
			if e.set == pagesWritten {
				share *= set.written
			}
			for c := range s {
				s[c] *= share
			}
			norm, slope := 0.0, 0.0
			for c := range s {
				norm += float64(s[c] * s[c])
				slope += float64(s[c] * e.without[c])
			}
			keepSquares[bucket] += float64(slope * slope)
			w.Keep[bucket] -= float64(rate * 0.1 * slope / math.Sqrt(keepSquares[bucket]+firstSquares))
			w.Keep[bucket] = min(max(w.Keep[bucket], 0.1), 1.5)
			for _, f := range features {
				squares[f] += norm
				r := rate / math.Sqrt(squares[f]+firstSquares)
				row, penalty := &w.Rows[f], set.penalty*float64(counts[f])
				for c := range s {
					row[c] -= float64(r * (s[c] + float64(penalty*row[c])))
				}
			}
		}
	}
	return w
}

// subtractTarget turns probabilities into the gradient of the cross entropy.
func (e *pageExample) subtractTarget(s *[linear.Classes]float64) {
	const smooth = 0.2
	share := 0.0
	if n := len(e.secondary); n > 0 {
		share = smooth
		for _, other := range e.secondary {
			s[other] -= smooth / float64(n)
		}
	}
	s[e.label] -= 1 - share
}

// predictPages scores pages by quantised weights.
func predictPages(data []byte, all []*pageExample) ([]*prediction, error) {
	p, err := linear.ParsePages(data)
	if err != nil {
		return nil, err
	}
	var predictions []*prediction
	for _, e := range all {
		predictions = append(predictions, &prediction{e.example, p.Scores(e.without, e.features, e.known), 1})
	}
	return predictions, nil
}

// crossValidatePages predicts each page by weights of evidence that were learnt without its fold, but with the written
// pages: by one fit, as a mean of five in each fold takes half a minute.
func crossValidatePages(all, written []*pageExample, set pageSettings) ([]*prediction, error) {
	var parts [folds][]*prediction
	var failed [folds]error
	var wait sync.WaitGroup
	for fold := range folds {
		wait.Go(func() {
			training, measured := slices.Clone(written), []*pageExample(nil)
			for _, e := range all {
				if e.fold == fold {
					measured = append(measured, e)
				} else {
					training = append(training, e)
				}
			}
			parts[fold], failed[fold] = predictPages(linear.QuantisePages(fitPagesOnce(training, set, 0)), measured)
		})
	}
	wait.Wait()
	return slices.Concat(parts[:]...), errors.Join(failed[:]...)
}

// calibratePages divides weights by the temperature that fits predictions for domains that they were not learnt from.
func calibratePages(w *linear.PageWeights, predictions []*prediction) {
	if len(predictions) == 0 {
		return
	}
	best, least := 1.0, math.Inf(1)
	for t := 0.6; t <= 3; t += 0.05 {
		loss := 0.0
		for _, p := range predictions {
			loss -= math.Log(max(p.probabilities(t)[p.label], 1e-9))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	for b := range w.Keep {
		w.Keep[b] /= best
	}
	for f := range w.Rows {
		for c := range w.Rows[f] {
			w.Rows[f][c] /= best
		}
	}
}

// trainPages returns the weights of evidence, nil without labelled pages, and a table of what evidence adds to URLs.
func trainPages(dir fs.FS, weights []byte, set pageSettings) (data []byte, table string, err error) {
	all, err := readPages(dir, pagesSet)
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	held, err := readPages(dir, pagesHeldOut)
	if err != nil {
		return nil, "", err
	}
	words, err := readLexicon(dir)
	if err != nil {
		return nil, "", err
	}
	if all, err = prepare(all, weights, words); err != nil {
		return nil, "", err
	}
	if held, err = prepare(held, weights, words); err != nil {
		return nil, "", err
	}
	written, err := readPages(dir, pagesWritten)
	if err != nil {
		return nil, "", err
	}
	if written, err = prepare(written, weights, words); err != nil {
		return nil, "", err
	}
	predictions, err := crossValidatePages(all, written, set)
	if err != nil {
		return nil, "", err
	}
	w := fitPages(slices.Concat(all, written), set)
	calibratePages(w, predictions)
	data = linear.QuantisePages(w)
	predictedHeld, err := predictPages(data, held)
	if err != nil {
		return nil, "", err
	}
	return data, "| pages | known of the page | accuracy | with secondary | macro-F1 | calibration error |\n" +
		"| --- | --- | --- | --- | --- | --- |\n" +
		pageRows("cross-validated", all, predictions) + pageRows("held out", held, predictedHeld) +
		pageRows("of these, other than news", held, filter(predictedHeld, func(p *prediction) bool {
			return p.label != lexicon.News
		})), nil
}

// pageRows are the rows of a table that show what evidence adds to URLs.
func pageRows(name string, all []*pageExample, predictions []*prediction) string {
	if len(all) == 0 {
		return ""
	}
	by := map[*example]*pageExample{}
	for _, e := range all {
		by[e.example] = e
	}
	row := func(known string, guess func(*prediction) lexicon.Role) string {
		f := measure(predictions, guess)
		return fmt.Sprintf("| %s (%d) | %s | %.3f | %.3f | %.3f |", name, f.n, known, f.accuracy, f.secondary,
			f.macroF1)
	}
	return row("URL", func(p *prediction) lexicon.Role { return by[p.example].alone }) + " |\n" +
		row("URL and evidence", (*prediction).best) + fmt.Sprintf(" %.3f |\n", calibrationError(predictions))
}

// calibrationError is the mean difference between confidence and share of right answers, in ten ranges of confidence.
func calibrationError(predictions []*prediction) (sum float64) {
	var difference [10]float64
	for _, p := range predictions {
		confidence := p.confidence()
		bin := min(int(confidence*10), 9)
		difference[bin] += confidence
		if p.best() == p.label {
			difference[bin]--
		}
	}
	for _, d := range difference {
		sum += math.Abs(d)
	}
	return sum / float64(len(predictions))
}
