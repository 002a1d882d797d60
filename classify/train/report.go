package main

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
)

// baselineRules are the substring rules of the crawler that this classifier replaces, in their order.
var baselineRules = []struct {
	substring string
	role      lexicon.Role
}{
	{"/news", lexicon.News}, {"/newsroom", lexicon.News}, {"/press", lexicon.PressRelease},
	{"/media", lexicon.PressRelease},
	{"/faq", lexicon.FAQ}, {"/questions", lexicon.FAQ}, {"/policy", lexicon.Policy}, {"/regulation", lexicon.Policy},
	{"/guide", lexicon.Guide}, {"/help", lexicon.Guide}, {"/announcement", lexicon.Announcement},
	{"/notice", lexicon.Announcement},
}

func baseline(p *prediction) lexicon.Role {
	url := strings.ToLower(p.url)
	for _, rule := range baselineRules {
		if strings.Contains(url, rule.substring) {
			return rule.role
		}
	}
	return lexicon.Unknown
}

// printFigures prints the quality of the predictions, and the wrong ones of some folds.
func printFigures(w io.Writer, predictions []*prediction, errors string) {
	all := from(labelled, predictions)
	for fold := range folds {
		part := filter(all, func(p *prediction) bool { return p.fold == fold })
		fmt.Fprintf(w, "fold %d  %s\n", fold, measure(part, (*prediction).best))
	}
	for _, set := range []string{firstSet, secondSet} {
		part := filter(all, inSet(set))
		fmt.Fprintf(w, "%s  %s\n", path.Base(set), measure(part, (*prediction).best))
	}
	fmt.Fprintf(w, "all     %s\n", measure(all, (*prediction).best))
	for _, set := range []string{firstTexts, secondTexts, thirdTexts, fourthTexts, thirdSet} {
		pairs, alone := filter(from(pair, predictions), inSet(set)), filter(from(bare, predictions), inSet(set))
		fmt.Fprintf(w, "%s  %s\n        %s  without them\n", path.Base(set), measure(pairs, (*prediction).best),
			measure(alone, (*prediction).best))
	}
	for name, o := range map[string]origin{"pairs": pair, "alone": bare} {
		fmt.Fprintf(w, "%s   %s\n", name, measure(from(o, predictions), (*prediction).best))
	}
	fmt.Fprintf(w, "temperatures %+v\n%s%s", calibrate(predictions),
		reliabilityTable(slices.Concat(all, from(bare, predictions)), from(pair, predictions)),
		languageTable(from(pair, predictions)))
	if errors == "" {
		return
	}
	wrong := filter(append(all, from(pair, predictions)...), func(p *prediction) bool {
		return p.best() != p.label && strings.Contains(errors, fmt.Sprint(p.fold))
	})
	sort.SliceStable(wrong, func(i, j int) bool { return wrong[i].label < wrong[j].label })
	for _, p := range wrong {
		fmt.Fprintf(w, "%s %v → %s %.2f %s %s%s\n", p.label, p.secondary, p.best(), p.confidence(), p.url, p.title,
			p.anchor)
	}
}

func (f figures) String() string {
	return fmt.Sprintf("n=%3d  accuracy %.3f  with secondary %.3f  macro-F1 %.3f", f.n, f.accuracy, f.secondary,
		f.macroF1)
}

// inSet reports whether a prediction is for an example of a set.
func inSet(set string) func(*prediction) bool {
	return func(p *prediction) bool { return p.set == set }
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

// guideTables returns the tables of docs/classification.md by the names of their marks. held are the predictions for
// the URLs that are held out; pages is the table of trainPages.
func guideTables(held []*prediction, pages string) map[string]string {
	var b strings.Builder
	b.WriteString("| known of the page | accuracy | with secondary | macro-F1 |\n| --- | --- | --- | --- |\n")
	for _, row := range []struct {
		known string
		from  origin
	}{{"URL", bare}, {"URL and title", pair}} {
		f := measure(from(row.from, held), (*prediction).best)
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f |\n", row.known, f.accuracy, f.secondary, f.macroF1)
	}
	return map[string]string{
		"quality":     b.String(),
		"pages":       pages,
		"reliability": reliabilityTable(from(bare, held), from(pair, held)),
	}
}

// tables returns the tables of NOTES.md by the names of their marks. Predictions are calibrated; held are those for
// the URLs that are held out, by the model with its calibration.
func tables(predictions, held []*prediction) map[string]string {
	all := from(labelled, predictions)
	return map[string]string{
		"texts":            textTable(predictions),
		"held texts":       textTable(held),
		"summary":          summaryTable(all, held),
		"types":            typeTable(all, predictions, held),
		"languages":        languageTable(all),
		"text languages":   languageTable(from(pair, predictions)),
		"reliability":      reliabilityTable(slices.Concat(all, from(bare, predictions)), from(pair, predictions)),
		"held people":      peopleTable(held),
		"held reliability": reliabilityTable(from(bare, held), from(pair, held)),
		"confusion":        confusionTable(all),
		"held confusion":   confusionTable(from(pair, held)),
	}
}

func summaryTable(all, held []*prediction) string {
	var b strings.Builder
	b.WriteString("| | accuracy | with secondary | macro-F1 |\n| --- | --- | --- | --- |\n")
	row := func(name string, f figures) {
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f |\n", name, f.accuracy, f.secondary, f.macroF1)
	}
	row("substring rules", measure(all, baseline))
	row("classifier, all folds", measure(all, (*prediction).best))
	for i, set := range []string{firstSet, secondSet} {
		part := filter(all, inSet(set))
		row(fmt.Sprintf("set %d (%d URLs)", i+1, len(part)), measure(part, (*prediction).best))
	}
	for fold := range folds {
		part := filter(all, func(p *prediction) bool { return p.fold == fold })
		row(fmt.Sprintf("fold %d (%d URLs)", fold, len(part)), measure(part, (*prediction).best))
	}
	alone, pairs := from(bare, held), from(pair, held)
	row("held out, substring rules", measure(alone, baseline))
	row(fmt.Sprintf("**held out** (%d), URL alone", len(alone)), measure(alone, (*prediction).best))
	row(fmt.Sprintf("**held out** (%d), with its text", len(pairs)), measure(pairs, (*prediction).best))
	return b.String()
}

// textTable compares URLs with their texts and without, by how they were chosen.
func textTable(predictions []*prediction) string {
	var b strings.Builder
	b.WriteString(
		"| | URLs | accuracy | with secondary | macro-F1 | of the URL alone: accuracy | with secondary | macro-F1 " +
			"|\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	row := func(name string, kept func(p *prediction) bool) {
		with := measure(filter(from(pair, predictions), kept), (*prediction).best)
		alone := measure(filter(from(bare, predictions), kept), (*prediction).best)
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n",
			name, with.n, with.accuracy, with.secondary, with.macroF1, alone.accuracy, alone.secondary, alone.macroF1)
	}
	var ways []string
	for _, p := range predictions {
		if p.drawn != "" && !slices.Contains(ways, p.drawn) {
			ways = append(ways, p.drawn)
		}
	}
	sort.Strings(ways)
	for _, way := range ways {
		row("drawn "+way, func(p *prediction) bool { return p.drawn == way })
	}
	row("all", func(*prediction) bool { return true })
	return b.String()
}

// peopleTable compares the model with annotators on the URLs that are held out, whose labels were decided between two
// of them.
func peopleTable(held []*prediction) string {
	var b strings.Builder
	b.WriteString("| held out | accuracy | with secondary | macro-F1 |\n| --- | --- | --- | --- |\n")
	pairs, alone := from(pair, held), from(bare, held)
	first := func(p *prediction) lexicon.Role { return p.people.first }
	second := func(p *prediction) lexicon.Role { return p.people.second }
	person := func(p *prediction) lexicon.Role { return p.people.alone }
	row := func(name string, f figures) {
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f |\n", name, f.accuracy, f.secondary, f.macroF1)
	}
	row("first annotator, URL and text", measure(pairs, first))
	row("second annotator, URL and text", measure(pairs, second))
	row("the model, URL and text", measure(pairs, (*prediction).best))
	row("a person, URL alone", measure(alone, person))
	row("the model, URL alone", measure(alone, (*prediction).best))
	wrong := func(p *prediction) bool { return p.best() != p.label }
	row("a person, where the model is wrong from the URL alone", measure(filter(alone, wrong), person))
	row("a person, where it is right", measure(filter(alone, func(p *prediction) bool { return !wrong(p) }), person))
	row("the model, where a person is right from the URL alone",
		measure(filter(alone, func(p *prediction) bool { return person(p) == p.label }), (*prediction).best))
	return b.String()
}

func typeTable(all, predictions, held []*prediction) string {
	var b strings.Builder
	b.WriteString(
		"| type | URLs | precision | recall | F1 | F1 of the substring rules | URLs with texts | F1 | held out | F1 " +
			"of the URL alone | F1 with text |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for c := range lexicon.Role(linear.Classes) {
		of := func(part []*prediction) score { return scoreOf(c, part, (*prediction).best) }
		s, before, texts := of(all), scoreOf(c, all, baseline), of(from(pair, predictions))
		alone, with := of(from(bare, held)), of(from(pair, held))
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %.2f | %.2f | %d | %.2f | %d | %.2f | %.2f |\n",
			c, s.n, s.precision, s.recall, s.f1, before.f1, texts.n, texts.f1, with.n, alone.f1, with.f1)
	}
	return b.String()
}

// score is the quality of the predictions of one type, of which there are n URLs.
type score struct {
	n                     int
	precision, recall, f1 float64
}

func scoreOf(c lexicon.Role, all []*prediction, guess func(*prediction) lexicon.Role) score {
	var n, both, guessed float64
	for _, p := range all {
		g := guess(p)
		if p.label == c {
			n++
			if g == c {
				both++
			}
		}
		if g == c {
			guessed++
		}
	}
	return score{int(n), both / max(guessed, 1), both / max(n, 1), 2 * both / max(n+guessed, 1)}
}

// languageTable makes a row of each language with at least minURLs; the others share one.
func languageTable(all []*prediction) string {
	const minURLs = 25
	byLang := map[string][]*prediction{}
	for _, p := range all {
		byLang[p.lang] = append(byLang[p.lang], p)
	}
	var langs []string
	var others []*prediction
	for _, p := range all {
		if len(byLang[p.lang]) < minURLs {
			others = append(others, p)
		}
	}
	for lang, part := range byLang {
		if len(part) >= minURLs {
			langs = append(langs, lang)
		}
	}
	sort.Slice(langs, func(i, j int) bool {
		a, b := len(byLang[langs[i]]), len(byLang[langs[j]])
		return a > b || a == b && langs[i] < langs[j]
	})
	var b strings.Builder
	b.WriteString(
		"| language | URLs | accuracy | with secondary | at 0.9 and more | right of these | accuracy of the " +
			"substring rules |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	row := func(name string, part []*prediction) {
		ours, before := measure(part, (*prediction).best), measure(part, baseline)
		sure := filter(part, func(p *prediction) bool { return p.confidence() >= 0.9 })
		right := measure(sure, (*prediction).best).accuracy
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %d | %.2f | %.2f |\n", name, len(part), ours.accuracy,
			ours.secondary,
			len(sure), right, before.accuracy)
	}
	for _, lang := range langs {
		row(lang, byLang[lang])
	}
	row("others", others)
	return b.String()
}

// reliabilityTable compares the confidence of predictions with the share that is right, of URLs alone and with texts.
func reliabilityTable(alone, pairs []*prediction) string {
	var b strings.Builder
	b.WriteString(
		"| confidence | URLs alone | mean confidence | right | with texts | mean confidence | right |\n| --- | --- | " +
			"--- | --- | --- | --- | --- |\n")
	for _, bin := range [][2]float64{{0, 0.3}, {0.3, 0.5}, {0.5, 0.7}, {0.7, 0.8}, {0.8, 0.9}, {0.9, 1.01}} {
		cells := func(all []*prediction) string {
			var n, sum, right float64
			for _, p := range all {
				if c := p.confidence(); c >= bin[0] && c < bin[1] {
					n++
					sum += c
					if p.best() == p.label {
						right++
					}
				}
			}
			return fmt.Sprintf("%.0f | %.2f | %.2f", n, sum/max(n, 1), right/max(n, 1))
		}
		fmt.Fprintf(&b, "| %.1f to %.1f | %s | %s |\n", bin[0], min(bin[1], 1), cells(alone), cells(pairs))
	}
	return b.String()
}

// confusionTable lists the confusions; the full matrix is nearly empty.
func confusionTable(all []*prediction) string {
	type pair struct{ label, guess lexicon.Role }
	counts, soft := map[pair]int{}, map[pair]int{}
	for _, p := range all {
		if g := p.best(); g != p.label {
			counts[pair{p.label, g}]++
			for _, s := range p.secondary {
				if s == g {
					soft[pair{p.label, g}]++
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("| labelled | taken for (of these with that secondary label) |\n| --- | --- |\n")
	for label := range lexicon.Role(linear.Classes) {
		var guesses []lexicon.Role
		for guess := range lexicon.Role(linear.Classes) {
			if counts[pair{label, guess}] > 0 {
				guesses = append(guesses, guess)
			}
		}
		sort.SliceStable(guesses, func(i, j int) bool {
			return counts[pair{label, guesses[i]}] > counts[pair{label,
				guesses[j]}]
		})
		var cells []string
		for _, guess := range guesses {
			cell := fmt.Sprintf("%s %d", guess, counts[pair{label, guess}])
			if n := soft[pair{label, guess}]; n > 0 {
				cell += fmt.Sprintf(" (%d)", n)
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", label, strings.Join(cells, ", "))
	}
	return b.String()
}

func curveTable(curve []point) string {
	var b strings.Builder
	b.WriteString(
		"| labelled URLs in training | accuracy | with secondary | macro-F1 | of URLs with texts: accuracy | with " +
			"secondary | macro-F1 |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i, p := range curve {
		fmt.Fprintf(&b, "| %d %% | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", i*100/(len(curve)-1),
			p.labelled.accuracy, p.labelled.secondary, p.labelled.macroF1, p.texts.accuracy, p.texts.secondary,
			p.texts.macroF1)
	}
	return b.String()
}

// fillIn writes the tables between their marks in a page: "<!-- train: types -->" and "<!-- end -->".
func fillIn(page []byte, parts map[string]string) ([]byte, error) {
	for name, table := range parts {
		mark := []byte("<!-- train: " + name + " -->\n")
		i := bytes.Index(page, mark)
		if i < 0 {
			return nil, fmt.Errorf("the page has no mark for table %q", name)
		}
		i += len(mark)
		j := bytes.Index(page[i:], []byte("<!-- end -->"))
		if j < 0 {
			return nil, fmt.Errorf("table %q has no end", name)
		}
		page = append(append(bytes.Clone(page[:i]), table...), page[i+j:]...)
	}
	return page, nil
}
