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

	buffer []byte
	ends   []int32 // longest word that ends at each byte of the path but the first, or -1
	words  []place // by number
	found  []int32 // the words of chains that occur
	listed bool    // all of their places
	places []int32
	stack  []visit
}

// place is where a word occurs. No word occurs at 0, where the path has its slash.
type place struct {
	first, last  int32 // where it begins
	from, number int32 // part of search.places that lists all, if listed
}

// visit is a node of the chains to go on from: the parts up to there end at a place.
type visit struct{ node, at int32 }

// matchEnd looks up rules that say how a path ends.
func (s *search) matchEnd() {
	if len(s.m.ends) == 0 {
		return
	}
	s.buffer = backwards(s.buffer[:0], s.path[1:])
	if e := s.m.ends.find(string(s.buffer)); e >= 0 {
		s.best = min(s.best, s.m.ends[e].begins)
	}
}

// findWords runs through the path. A word of chains that was met, those that it ends with were too.
func (s *search) findWords() {
	a := s.m.words
	if s.words == nil {
		s.words = make([]place, len(a.words))
	}
	s.ends = s.ends[:0]
	state := int32(0)
	for i := 1; i < len(s.path); i++ {
		state = a.step(state, s.path[i])
		w := a.found[state]
		s.ends = append(s.ends, w)
		if w < 0 {
			continue
		}
		s.best = min(s.best, a.words[w].rank)
		for w = a.words[w].linked; w >= 0 && s.words[w].first == 0; w = a.words[w].shorter {
			s.words[w].first = int32(i + 1 - len(a.words[w].text))
			s.found = append(s.found, w)
		}
	}
	if len(s.found) == 0 {
		return
	}
	for i := len(s.ends) - 1; i >= 0; i-- {
		if w := s.ends[i]; w >= 0 {
			for w = a.words[w].linked; w >= 0 && s.words[w].last == 0; w = a.words[w].shorter {
				s.words[w].last = int32(i + 2 - len(a.words[w].text))
			}
		}
	}
}

// forget makes the search ready for another path.
func (s *search) forget() {
	for _, w := range s.found {
		s.words[w] = place{}
	}
	s.found, s.listed = s.found[:0], false
}

// matchChains follows the chains behind a start and those that it begins with. Taking the first place
// where a part fits is enough, as whatever comes behind a later one comes behind the first as well.
func (s *search) matchChains(start int32) {
	if len(s.found) == 0 {
		return
	}
	for ; start >= 0; start = s.m.begins[start].parent {
		if e := &s.m.begins[start]; e.chains > 0 && s.comes(s.m.tails[e.chains], int32(len(e.text))) {
			s.stack = append(s.stack, visit{e.chains, int32(len(e.text))})
		}
	}
	for len(s.stack) > 0 {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		s.goOn(v)
	}
}

// goOn looks for the parts that may follow. Of a node with more of them than the path has words, it asks
// for those of the words.
func (s *search) goOn(v visit) {
	low, high := s.m.chains.children(v.node)
	if int(high-low) <= 8*len(s.found) {
		for child := low; child < high; child++ {
			s.try(child, v.at)
		}
		return
	}
	for _, w := range s.found {
		for p := part(w) << 1; p < part(w+1)<<1; p++ {
			if child := s.m.chains.child(v.node, p); child > 0 {
				s.try(child, v.at)
			}
		}
	}
}

// try follows a part of a chain if it occurs at a place or behind, and can decide.
func (s *search) try(node, at int32) {
	p := s.m.chains.labels[node]
	w := &s.words[p.word()]
	if w.last < at || s.m.strongest[node] >= s.best || !s.comes(s.m.tails[node], at) {
		return
	}
	length := int32(len(s.m.words.words[p.word()].text))
	if p.last() {
		if int(w.last+length) == len(s.path) {
			s.best = min(s.best, s.m.ranks[node])
		}
		return
	}
	s.best = min(s.best, s.m.ranks[node])
	if low, high := s.m.chains.children(node); low < high {
		s.stack = append(s.stack, visit{node, s.next(p.word(), at) + length})
	}
}

// comes reports whether a word, if it is one, occurs at a place or behind.
func (s *search) comes(word, at int32) bool { return word < 0 || s.words[word].last >= at }

// next gives the first place of a word from at on, where there is one.
func (s *search) next(word, at int32) int32 {
	w := &s.words[word]
	if w.first >= at {
		return w.first
	}
	if !s.listed {
		s.list()
	}
	if w.number == 0 { // one of many that end with one another
		return at + int32(strings.Index(s.path[at:], s.m.words.words[word].text))
	}
	places := s.places[w.from : w.from+w.number]
	i, _ := slices.BinarySearch(places, at)
	return places[i]
}

// list notes where the words of chains occur, all places of each.
func (s *search) list() {
	s.listed = true
	s.eachPlace(func(w *place, _ int32) { w.number++ })
	total := int32(0)
	for _, w := range s.found {
		p := &s.words[w]
		p.from, total, p.number = total, total+p.number, 0
	}
	s.places = slices.Grow(s.places[:0], int(total))[:total]
	s.eachPlace(func(w *place, at int32) {
		s.places[w.from+w.number] = at
		w.number++
	})
}

func (s *search) eachPlace(do func(w *place, at int32)) {
	words := s.m.words.words
	for i, w := range s.ends {
		if w < 0 {
			continue
		}
		for w = words[w].listed; w >= 0; w = words[w].shorter {
			do(&s.words[w], int32(i+2-len(words[w].text)))
		}
	}
}
