package robots

import (
	"slices"
	"strings"
)

// search is the matching of one path. It is used again, so that its memory is.
type search struct {
	m    *matcher
	path string
	best int32 // rank of the best rule so far

	steps int     // of Group.Cost
	ends  []int32 // longest word of chains that ends at each byte of the path but the first, or less than 0

	// The words of chains that occur, and by the number of a word where it first and last begins. That is
	// never at 0, where the path has its slash.
	found       []int32
	first, last []int32

	lists  []list // by number, if places is filled
	places []int32
	stack  []visit
}

// list is the part of search.places that has all places of a word.
type list struct{ from, number int32 }

// visit is a node of the chains to go on from: the parts up to there end at a place.
type visit struct{ node, at int32 }

// findWords runs through the path. Where a word of chains was met, those that it ends with were too.
func (s *search) findWords() {
	a := s.m.words
	if s.first == nil {
		s.first, s.last = make([]int32, len(a.words)), make([]int32, len(a.words))
	}
	path := s.path[1:]
	ends := slices.Grow(s.ends[:0], len(path))[:len(path)]
	s.ends = ends
	// calls, and fields behind pointers, are slow in WebAssembly
	rows, width, classes, found, linked, ranks := a.rows, a.width, &a.classes, a.found, a.linked, a.ranks
	first, best := s.first, s.best
	state, slow := 0, 0
	for i := range ends {
		c := path[i]
		if row := state * width; row < len(rows) {
			state = int(rows[row+int(classes[c])])
		} else {
			state = int(a.step(int32(state), c))
			slow++
		}
		w := found[state]
		if w >= 0 {
			best = min(best, ranks[w])
			if w = linked[w]; w >= 0 && first[w] == 0 {
				s.meet(w, int32(i+2))
			}
		}
		ends[i] = w
	}
	s.best = best
	s.steps += slow
	missing := len(s.found)
	for i := len(ends) - 1; i >= 0 && missing > 0; i-- {
		for w := ends[i]; w >= 0 && s.last[w] == 0; w = a.words[w].shorter {
			s.last[w] = int32(i+2) - a.lengths[w]
			missing--
		}
	}
	s.steps += 2 * len(s.found)
}

// meet notes the first place of a word that ends there, and of those that it ends with.
func (s *search) meet(w, end int32) {
	for a := s.m.words; w >= 0 && s.first[w] == 0; w = a.words[w].shorter {
		s.first[w] = end - a.lengths[w]
		s.found = append(s.found, w)
	}
}

// forget makes the search ready for another path.
func (s *search) forget() {
	for _, w := range s.found {
		s.first[w], s.last[w] = 0, 0
	}
	if len(s.places) > 0 {
		for _, w := range s.found {
			s.lists[w] = list{}
		}
	}
	s.found, s.places = s.found[:0], s.places[:0]
}

// matchChains follows the chains behind a start and those that it begins with. Taking the first place
// where a part fits is enough: what follows a later one also follows the first.
func (s *search) matchChains(start int32) {
	if len(s.found) == 0 {
		return
	}
	for ; start >= 0; start = s.m.begins[start].parent {
		if e := &s.m.begins[start]; e.chains > 0 && s.mayDecide(e.chains, int32(len(e.text))) {
			s.stack = append(s.stack, visit{e.chains, int32(len(e.text))})
		}
	}
	for len(s.stack) > 0 {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		s.follow(v)
	}
}

// follow visits the parts that may come next. If there are more of them than words left in the path, it looks the
// words up instead.
func (s *search) follow(v visit) {
	if !s.mayDecide(v.node, v.at) { // a better rule was found since
		return
	}
	low, high := s.m.chains.children(v.node)
	for high-low == 1 { // so most of a long pattern goes
		s.steps++
		if s.last[s.m.chains.labels[low].word()] < v.at {
			return
		}
		at, ok := s.enter(low, v.at)
		if !ok {
			return
		}
		v = visit{low, at}
		low, high = s.m.chains.children(low)
	}
	if int(high-low) <= 8*len(s.found) {
		tried := 0
		for i, p := range s.m.chains.labels[low:high] {
			if s.last[p.word()] >= v.at {
				tried++
				s.try(low+int32(i), v.at)
			}
		}
		s.steps += 1 + int(high-low)/8 + tried/2
		return
	}
	s.steps += 8 * len(s.found)
	for _, w := range s.found {
		if s.last[w] < v.at {
			continue
		}
		p := part(w) << 1
		for child := s.m.chains.search(v.node, p); child < high && s.m.chains.labels[child] <= p+1; child++ {
			s.try(child, v.at)
		}
	}
}

// try follows a part of a chain that occurs at a place or behind, if it can decide.
func (s *search) try(node, at int32) {
	if behind, ok := s.enter(node, at); ok {
		s.stack = append(s.stack, visit{node, behind})
	}
}

// enter takes the first place of a part, which occurs at a place or behind. ok reports whether a better rule may follow
// behind it.
func (s *search) enter(node, at int32) (behind int32, ok bool) {
	if !s.mayDecide(node, at) {
		return 0, false
	}
	p := s.m.chains.labels[node]
	length := s.m.words.lengths[p.word()]
	rank := s.m.nodes[node].rank
	if p.last() {
		if int(s.last[p.word()]+length) == len(s.path) {
			s.best = min(s.best, rank)
		}
		return 0, false
	}
	s.best = min(s.best, rank)
	if low, high := s.m.chains.children(node); low == high {
		return 0, false
	}
	behind = s.next(p.word(), at) + length
	return behind, true
}

// mayDecide reports whether a pattern that ends at a node or below, and has yet to match what stands at a
// place or behind, can be better than the best so far.
func (s *search) mayDecide(node, at int32) bool {
	n := &s.m.nodes[node]
	return n.strongest < s.best && (n.tail < 0 || s.last[n.tail] >= at)
}

// next returns the first position of a word from at on, if any.
func (s *search) next(word, at int32) int32 {
	s.steps++
	if s.first[word] >= at {
		return s.first[word]
	}
	if s.last[word] == at {
		return at
	}
	s.steps++
	if len(s.places) == 0 {
		s.list()
	}
	l := s.lists[word]
	if l.number == 0 { // one of many that end with one another
		next := at + int32(strings.Index(s.path[at:], s.m.words.words[word].text))
		s.steps += int(next-at) / 8
		return next
	}
	low, high := l.from, l.from+l.number
	for low < high {
		if middle := int32(uint32(low+high) / 2); s.places[middle] < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return s.places[low]
}

// list notes where the words of chains occur, all places of each.
func (s *search) list() {
	if s.lists == nil {
		s.lists = make([]list, len(s.first))
	}
	words := s.m.words.words
	for _, w := range s.ends {
		if w >= 0 {
			for w = words[w].listed; w >= 0; w = words[w].shorter {
				s.lists[w].number++
			}
		}
	}
	total := int32(0)
	for _, w := range s.found {
		l := &s.lists[w]
		l.from, total, l.number = total, total+l.number, 0
	}
	s.places = slices.Grow(s.places[:0], int(total))[:total]
	for i, w := range s.ends {
		if w >= 0 {
			for w = words[w].listed; w >= 0; w = words[w].shorter {
				l := &s.lists[w]
				s.places[l.from+l.number] = int32(i + 2 - len(words[w].text))
				l.number++
			}
		}
	}
	s.steps += 2 * int(total)
}
