package discovery

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/classify"
)

// minAssessed is the number of assessed pages of a group from which the others count like them.
const minAssessed = 3

// group is the URLs of a pattern that are of one type by their shapes.
type group struct {
	node  nodeID
	class classify.Class
}

// outcomes counts the assessed URLs of each group by their assessed class.
type outcomes map[group]*perClass

// outcomesOf returns the outcomes of the assessed URLs.
func (a report) outcomesOf(assessed []candidate) outcomes {
	o := outcomes{}
	for i := range assessed {
		r := a.seen.find(keyOf(assessed[i].url))
		if r == nil {
			continue
		}
		g := group{a.tree.current(r.node), r.class}
		if o[g] == nil {
			o[g] = new(perClass)
		}
		o[g][assessed[i].class]++
	}
	return o
}

// outcomeOf returns the class of most assessed URLs of a group, or the group's own, and the number of URLs that were
// not assessed.
func (o outcomes) outcomeOf(g group, size int) (most classify.Class, others int) {
	found := o[g]
	if found == nil {
		return g.class, 0
	}
	assessed, most := found.total(), found.mostFrequent()
	if assessed < minAssessed || 2*int(found[most]) <= assessed {
		return g.class, 0
	}
	return most, max(size-assessed, 0)
}

// classOf returns the class of most of a pattern's URLs, of which own are by their shapes.
func (o outcomes) classOf(n nodeID, own *votes) classify.Class {
	of := own.of
	for c, k := range own.of {
		g := group{n, classify.Class(c)}
		to, others := o.outcomeOf(g, int(k))
		of[c] -= int32(others)
		of[to] += int32(others)
		if found := o[g]; found != nil {
			for to, k := range found {
				of[c] -= k
				of[to] += k
			}
		}
	}
	return of.mostFrequent()
}

// categories returns the counts by type. Assessed URLs count by their assessed type. The others, too many to be
// assessed, count by the type of most assessed URLs of their group, or else by their shapes.
func (a report) categories(assessed []candidate, o outcomes) map[classify.Type]Category {
	sums := a.classes
	var examples [classify.Classes][]candidate
	for i := range assessed {
		c := &assessed[i]
		examples[c.class] = append(examples[c.class], *c)
		if r := a.seen.find(keyOf(c.url)); r != nil && r.class != c.class {
			p := parsePage(c.url)
			from := a.estimate(&p, r.rank, r.lastmod)
			sums[r.class].move(&sums[c.class], 1, from.priority, c.priority)
		}
	}
	own := siteView(a).survey().own
	for g := range o {
		if g.node == noNode {
			continue
		}
		to, others := o.outcomeOf(g, int(own[g.node].of[g.class]))
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
		// another model may have made the sum
		category := Category{Count: s.count, AveragePriority: round(min(max(average, 0), 1)), Examples: []string{}}
		slices.SortFunc(examples[i], func(x, y candidate) int { return cmp.Or(y.priority-x.priority, better(&x, &y)) })
		for _, e := range examples[i][:min(len(examples[i]), categoryExamples)] {
			category.Examples = append(category.Examples, e.url)
		}
		list[classify.Class(i).Type()] = category
	}
	return list
}

// move moves n URLs from k to another class, and changes their priority.
func (k *classSummary) move(to *classSummary, n, before, after int) {
	k.count, k.priority = k.count-n, k.priority-n*before
	to.count, to.priority = to.count+n, to.priority+n*after
}
