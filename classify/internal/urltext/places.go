package urltext

import (
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// pathFeatures adds the places of the path's words.
func (r *Reading) pathFeatures(f *Features, v view) {
	for i := range r.Path {
		s := &r.Path[i]
		if len(s.Hits) == 0 || i == v.last && v.title {
			continue
		}
		exact := s.Exact()
		for _, h := range s.Hits {
			if v.file && h.Role == lexicon.Download {
				h.Role = lexicon.Docs // the extension says that it is a file already
			}
			p := r.placeOf(i, h, exact, v)
			t, ok := f.hit(h.Sense, p)
			if !ok {
				continue
			}
			f.tied(t, withCover+int(p)*covers+s.cover(h))
			f.tied(t, withTypes+int(p)*typesMax+min(v.types, typesMax-1))
			f.tied(t, withExt+int(p)*extGroups+extGroup(r.Path[len(r.Path)-1].extClass))
		}
	}
	r.order(f, v)
	if v.rightSet {
		f.tied(v.right.Role, tiedRightmost)
		if r.Path[v.last].Exact() {
			f.tied(v.right.Role, tiedRightmostExact)
		}
		r.countTypes(f, v)
	}
}

// cover returns the share of the segment that a word covers: less than half (0), more (1), or all (2).
func (s *Segment) cover(h Hit) int {
	n := len(s.Text) - s.extBytes
	switch own := h.End - h.Start; {
	case own >= n:
		return 2
	case 2*own >= n:
		return 1
	}
	return 0
}

func extGroup(class uint8) int {
	switch class {
	case extNone:
		return 0
	case extPage:
		return 1
	case extScript:
		return 2
	case extPDF:
		return 3
	case extText, extSlides:
		return 4
	}
	return 5
}

// order adds the order of the types in the path before its title, from the right.
func (r *Reading) order(f *Features, v view) {
	var seen uint32
	n := 0
	for i := v.last; i >= 0; i-- {
		if i == v.last && v.title {
			continue
		}
		hits := r.Path[i].Hits
		for j := len(hits) - 1; j >= 0; j-- {
			role, ok := typeOf(hits[j].Role)
			if !ok || seen&(1<<role) != 0 {
				continue
			}
			seen |= 1 << role
			at := withOrder + (n*3+int(hits[j].Strength))*2
			if v.title {
				at++
			}
			f.tied(role, at)
			if n++; n == ordersMax {
				return
			}
		}
	}
}

// placeOf returns the place of a word of segment i, which is not the title.
func (r *Reading) placeOf(i int, h Hit, exact bool, v view) place {
	if v.sheet {
		return dataFile
	}
	s := &r.Path[i]
	if i >= v.last {
		switch {
		case isDocument(s.extClass):
			return fileName
		case v.trailing == Words || v.trailing == HomePage:
			switch {
			case exact:
				return lastExact
			case h.First && !h.Last:
				return lastHead
			}
			return lastTail
		case exact:
			return lastExactItem
		}
		return lastItem
	}
	distance := 0
	for j := i + 1; j <= v.last; j++ {
		if meaningful(r.Path[j].Kind) {
			distance++
		}
	}
	switch {
	case distance == 1 && v.file:
		return fileParent
	case v.file:
		return fileFar
	case v.title && distance == 1 && exact:
		return parentOfSlug
	case v.title && distance == 1:
		return parentOfSlugPart
	case v.title:
		return farOfSlug
	case distance > 1:
		return farOfWords
	case !hasType(r.Path[v.last].Hits):
		return parentOfWords
	case exact:
		return parentOfHits
	}
	return parentOfHitsPart
}

// fileFeatures adds the type of the name of a document, or else of the path before it.
func (r *Reading) fileFeatures(f *Features) {
	n := len(r.Path) - 1
	at := tiedFileName
	for i := n; i >= 0; i-- {
		best, found := lexicon.Sense{}, false
		for _, h := range r.Path[i].Hits {
			if role, ok := typeOf(h.Role); ok && role != lexicon.Download && role != lexicon.Unknown &&
				(!found || h.Strength >= best.Strength) {
				best, found = lexicon.Sense{Role: role, Strength: h.Strength}, true
			}
		}
		if found && (best.Strength > lexicon.Weak || i == n) {
			f.tied(best.Role, at)
			return
		}
		at = tiedFilePath
	}
	f.tied(lexicon.Download, tiedFileOpaque)
}

func hasType(hits []Hit) bool {
	for _, h := range hits {
		if _, ok := typeOf(h.Role); ok {
			return true
		}
	}
	return false
}

// countTypes adds types that occur in two segments, types that are the only one, and the order of the types of a
// phrase.
func (r *Reading) countTypes(f *Features, v view) {
	var counts [lexicon.Types]uint8
	distinct := 0
	for i := 0; i <= v.last; i++ {
		s := &r.Path[i]
		if i == v.last && v.title {
			break
		}
		var inSegment uint32
		for _, h := range s.Hits {
			if role, ok := typeOf(h.Role); ok && inSegment&(1<<role) == 0 {
				inSegment |= 1 << role
				counts[role]++
				if counts[role] == 1 {
					distinct++
				}
			}
		}
	}
	for role, n := range counts {
		switch {
		case n > 0 && distinct == 1:
			f.tied(lexicon.Role(role), tiedOnly)
		}
		if n > 1 {
			f.tied(lexicon.Role(role), tiedTwice)
		}
	}
	hits := r.Path[v.last].Hits
	if v.title || len(hits) == 0 {
		return
	}
	var first, last *Hit
	for i := range hits {
		h := &hits[i]
		if _, ok := typeOf(h.Role); ok {
			if first == nil {
				first = h
			}
			last = h
		}
	}
	if first != nil && first.Start != last.Start {
		t, _ := typeOf(first.Role)
		f.tied(t, tiedFirstOfTwo)
		t, _ = typeOf(last.Role)
		f.tied(t, tiedLastSense)
	}
	if first != nil && first.Start == last.Start && first == last {
		t, _ := typeOf(first.Role)
		f.tied(t, tiedSoleRole)
	}
}

func (r *Reading) queryFeatures(f *Features, v view) {
	for i := range r.Query {
		q := &r.Query[i]
		for _, h := range q.Key.Hits {
			if q.Key.Exact() {
				f.hitOutside(h.Sense, queryKey, v)
			}
		}
		for _, h := range q.Value.Hits {
			f.hitOutside(h.Sense, queryValue, v)
		}
		f.hashed('q', q.Key.Text)
	}
}

func (r *Reading) hostFeatures(f *Features, v view) {
	for i := range r.Sub {
		for _, h := range r.Sub[i].Hits {
			f.hitOutside(h.Sense, subdomain, v)
		}
	}
	for _, h := range r.Name.Hits {
		f.hitOutside(h.Sense, hostName, v)
	}
	for _, h := range r.subSenses {
		f.hitOutside(h, subdomainHosts, v)
	}
	for _, h := range r.nameSenses {
		f.hitOutside(h, hostNameHosts, v)
	}
}
