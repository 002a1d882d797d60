package discovery

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/classify"
)

// minAssessed is how many pages of a group must have been assessed for the others to be counted like them.
const minAssessed = 3

// group is the URLs of a pattern that are of one type by their shapes.
type group struct {
	node  nodeID
	class classify.Class
}

// categories sum up by type. The assessed URLs count by the type that they have with the texts by which they are known, and
// the site. There are too many others to be assessed: where most of the assessed ones of their group are of another type
// than the group, they count as these do, else by their shapes.
func (a *Analyser) categories(assessed []candidate) map[classify.Type]Category {
	sums := a.classes
	var examples [classify.Classes][]candidate
	groups := map[group]*[classify.Classes]int{}
	for i := range assessed {
		c := &assessed[i]
		examples[c.class] = append(examples[c.class], *c)
		r := a.seen.find(keyOf(c.url))
		if r == nil {
			continue
		}
		g := group{a.tree.home(r.node), r.class}
		if groups[g] == nil {
			groups[g] = new([classify.Classes]int)
		}
		groups[g][c.class]++
		if r.class != c.class {
			p := parsePage(c.url)
			from := a.estimate(&p, r.rank, r.lastmod)
			sums[r.class].move(&sums[c.class], 1, from.priority, c.priority)
		}
	}
	for g, found := range groups {
		to, others := a.usual(g, found)
		if to == g.class || others <= 0 {
			continue
		}
		from := &a.classes[g.class]
		average := from.priority / max(from.count, 1)
		gain := thousandths(relevanceOf[to]*relevanceWeight) - thousandths(relevanceOf[g.class]*relevanceWeight)
		sums[g.class].move(&sums[to], others, average, average+gain)
	}
	list := map[classify.Type]Category{}
	for i := range sums {
		s := &sums[i]
		if s.count == 0 {
			continue
		}
		average := float64(s.priority) / 1000 / float64(s.count)
		category := Category{Count: s.count, AveragePriority: round(min(max(average, 0), 1)), Examples: []string{}} // another model may have made the sum
		slices.SortFunc(examples[i], func(x, y candidate) int { return cmp.Or(y.priority-x.priority, better(x, y)) })
		for _, e := range examples[i][:min(len(examples[i]), categoryExamples)] {
			category.Examples = append(category.Examples, e.url)
		}
		list[classify.Class(i).Type()] = category
	}
	return list
}

// move makes n URLs of k those of another class, where they have another priority.
func (k *class) move(to *class, n, before, after int) {
	k.count, k.priority = k.count-n, k.priority-n*before
	to.count, to.priority = to.count+n, to.priority+n*after
}

// usual returns the class of most of the assessed URLs of a group, its own if there is none, and the number of its URLs
// that were not assessed. found counts those that were, by class.
func (a *Analyser) usual(g group, found *[classify.Classes]int) (most classify.Class, others int) {
	assessed := 0
	for c, n := range found {
		assessed += n
		if n > found[most] {
			most = classify.Class(c)
		}
	}
	if g.node == noNode || assessed < minAssessed || 2*found[most] <= assessed {
		return g.class, 0
	}
	return most, int(a.surveyed().own[g.node].of[g.class]) - assessed
}
