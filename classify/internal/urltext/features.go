package urltext

import (
	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Features are what the model sees of a URL; all are present or absent. A tied feature speaks for one
// content type in a way that is the same for all types ("a strong word of this type is the whole last
// segment"), so its weight is learned once for all; a plain feature has a weight for each type.
type Features struct {
	Tied  []Tied
	Plain []uint16 // sorted by nothing, without duplicates
	host  HostKind

	seen     [PlainFeatures/64 + 1]uint64
	seenTied [lexicon.Types][TiedFeatures/64 + 1]uint64
}

// Tied is a tied feature: kind At speaks for type For.
type Tied struct {
	For uint8
	At  uint16
}

// HostKind is what matters of a host for the words of its URLs.
type HostKind uint8

// The kinds of hosts.
const (
	OtherHost HostKind = iota
	GovernmentHost
	MediaHost
	hostKinds
)

// place is where a word stands.
type place uint8

const (
	lastExact     place = iota // is the last segment that has meaning, nothing follows
	lastExactItem              // the same, and a number, key or date follows
	lastHead                   // begins a last segment of a few words
	lastTail                   // ends it, or stands within
	lastItem                   // part of a last segment of a few words, and a number, key or date follows
	slugHead                   // begins a title
	slugInside                 // within a title
	parentOfSlug               // is the segment before a title
	parentOfSlugPart
	parentOfWords    // is the segment before words that say nothing
	parentOfHits     // is the segment before words that say something
	parentOfHitsPart // part of it
	farOfSlug        // further up, before a title
	farOfWords       // further up
	queryKey
	queryValue
	subdomain
	hostName
	subdomainHosts // known by the words for hosts
	hostNameHosts
	fileName   // in the name of a document: a PDF, a text, a sheet
	fileParent // in the segment before such a name
	fileFar    // further up
	dataFile   // anywhere in the path of a file of data, which is a download whatever it says
	places
)

const (
	tiedPlaces    = int(places) * 3 // by strength
	tiedRightmost = tiedPlaces + iota - 1
	tiedRightmostExact
	tiedOnly
	tiedTwice
	tiedLastSense
	tiedFirstOfTwo
	tiedSoleRole
	tiedFileName   // the name of a document speaks for the type, most surely of all
	tiedFilePath   // its name speaks for none, what stands before it does
	tiedFileOpaque // nothing speaks for any: a download
	tiedCombined   // from here on places combined with what is around, see below
)

// What the place of a word is combined with, and how many cases that has.
const (
	withHost  = tiedCombined                          // the kind of host
	withCover = withHost + int(places)*int(hostKinds) // how much of its segment the word is
	withTypes = withCover + int(places)*covers        // how many types the path speaks of
	withExt   = withTypes + int(places)*typesMax      // the file extension
	withWords = withExt + int(places)*extGroups       // the length of the title
	withOrder = withWords + int(places)*wordsMax      // not a place: order of the types from the right
	tiedRule  = withOrder + ordersMax*3*2             // a rule of rules.go speaks for the type, by kind
	// TiedFeatures is how many tied features there are.
	TiedFeatures = tiedRule + rules
)

const (
	covers    = 3
	typesMax  = 4
	extGroups = 6
	wordsMax  = 5
	ordersMax = 4
)

// plain features: a dense part with meanings of its own, then the hashed part.
const (
	plainRolePlace = 0
	plainStructure = plainRolePlace + lexicon.Roles*int(places)
	structureSize  = 256
	plainHashed    = plainStructure + structureSize
	hashedSize     = 4096
	// PlainFeatures is how many plain features there are.
	PlainFeatures = plainHashed + hashedSize
)

// Group is a kind of plain features, for which training has a penalty each.
type Group uint8

// The groups.
const (
	RolePlace Group = iota // a word with a role at a place
	Structure              // what the URL looks like
	Hashed                 // words, parts of words, and what occurs together
)

// IsCombined tells the tied features that combine the place of a word with what is around it.
func IsCombined(tied int) bool { return tied >= withHost && tied < tiedRule }

// GroupOf is the group of a plain feature.
func GroupOf(feature int) Group {
	switch {
	case feature >= plainHashed:
		return Hashed
	case feature >= plainStructure:
		return Structure
	}
	return RolePlace
}

func (f *Features) reset() {
	for _, p := range f.Plain {
		f.seen[p/64] &^= 1 << (p % 64)
	}
	for _, t := range f.Tied {
		f.seenTied[t.For][t.At/64] &^= 1 << (t.At % 64)
	}
	f.Tied, f.Plain = f.Tied[:0], f.Plain[:0]
}

func (f *Features) plain(i int) {
	if f.seen[i/64]&(1<<(i%64)) != 0 {
		return
	}
	f.seen[i/64] |= 1 << (i % 64)
	f.Plain = append(f.Plain, uint16(i))
}

func (f *Features) tied(role lexicon.Role, at int) {
	seen := &f.seenTied[role][at/64]
	if *seen&(1<<(at%64)) != 0 {
		return
	}
	*seen |= 1 << (at % 64)
	f.Tied = append(f.Tied, Tied{uint8(role), uint16(at)})
}

// hashed notes a hashed feature. The hash is FNV-1a over space and text.
func (f *Features) hashed(space byte, text []byte) { f.plain(plainHashed + bucket(space, text)) }

// cross notes that several things occur together.
func (f *Features) cross(space byte, parts ...byte) { f.hashed(space, parts) }

func bucket(space byte, text []byte) int {
	h := uint32(2166136261)
	h = (h ^ uint32(space)) * 16777619
	for _, c := range text {
		h = (h ^ uint32(c)) * 16777619
	}
	h ^= h >> 15
	return int(h % hashedSize)
}

// hit notes a word at a place. It gives the type that the word speaks for.
func (f *Features) hit(h lexicon.Sense, p place) (t lexicon.Role, ok bool) {
	f.plain(plainRolePlace + int(h.Role)*int(places) + int(p))
	if t, ok = speaksFor(h.Role); ok {
		f.tied(t, int(p)*3+int(h.Strength))
		f.tied(t, withHost+int(p)*int(hostKinds)+int(f.host))
	}
	return t, ok
}

// hitOutside notes a word outside the path, which counts by what the path says: nothing, or so many types.
func (f *Features) hitOutside(h lexicon.Sense, p place, v view) {
	if t, ok := f.hit(h, p); ok {
		n := 0
		if v.types > 0 {
			n = 1 + min(v.types, 2)
		}
		f.tied(t, withTypes+int(p)*typesMax+n)
	}
}

// speaksFor is the type that a role speaks for: the small print, collections by tag, accounts and
// machine interfaces are pages without a type of their own.
func speaksFor(r lexicon.Role) (lexicon.Role, bool) {
	switch r {
	case lexicon.Tag, lexicon.Legal, lexicon.Account, lexicon.Feed, lexicon.Home:
		return lexicon.Unknown, true
	}
	return r, r < lexicon.Unknown
}

// Extract fills f with the features of the URL read.
func (r *Reading) Extract(f *Features) { r.extract(f, true) }

func (r *Reading) extract(f *Features, title bool) {
	f.reset()
	v := r.view()
	f.host = r.hostKind()
	r.pathFeatures(f, v)
	r.queryFeatures(f, v)
	r.hostFeatures(f, v)
	r.structure(f, v)
	r.crosses(f, v)
	r.tokens(f, v)
	if title && v.title {
		r.titleFeatures(f, &r.Path[v.last])
	}
	if kind, role, ok := r.rule(v); ok {
		f.tied(role, tiedRule+kind)
	}
	if v.file && !v.sheet {
		r.fileFeatures(f)
	}
}

// view is what the path comes down to.
type view struct {
	last     int  // index of the last segment with meaning, -1 when there is none
	trailing Kind // what follows it: Words when nothing does
	title    bool // it is a title
	file     bool // the path ends in the name of a document
	sheet    bool // that is a file of data
	hasHits  bool // the path has words that speak of a type
	right    lexicon.Sense
	rightSet bool // right is the sense of the rightmost hit that speaks of a type
	second   lexicon.Role
	types    int // how many types the path speaks of
	media    bool
}

func meaningful(k Kind) bool { return k == Words || k == Slug }

func (r *Reading) view() view {
	v := view{last: -1}
	for i := range r.Path {
		if meaningful(r.Path[i].Kind) && !isPage(&r.Path[i]) {
			v.last = i
		}
	}
	if n := len(r.Path); n > 0 && v.last < n-1 {
		v.trailing = r.Path[n-1].Kind
		if v.trailing == HomePage && n-2 > v.last {
			v.trailing = r.Path[n-2].Kind
		}
	}
	v.title = v.last >= 0 && r.Path[v.last].Kind == Slug
	if n := len(r.Path); n > 0 {
		v.file, v.sheet = isDocument(r.Path[n-1].extClass), isSheet(r.Path[n-1].extClass)
	}
	v.second = lexicon.Unknown
	var types uint32
	for i := v.last; i >= 0; i-- {
		s := &r.Path[i]
		if i == v.last && v.title {
			continue // words of a title speak of its subject
		}
		for j := len(s.Hits) - 1; j >= 0; j-- {
			h := s.Hits[j]
			role, ok := speaksFor(h.Role)
			if !ok || v.file && role == lexicon.Download {
				continue
			}
			v.hasHits = true
			if types&(1<<role) == 0 {
				types |= 1 << role
				v.types++
			}
			if !v.rightSet {
				v.right, v.rightSet = lexicon.Sense{Role: role, Strength: h.Strength}, true
			} else if v.second == lexicon.Unknown && role != v.right.Role {
				v.second = role
			}
		}
	}
	v.media = r.hostKind() == MediaHost
	return v
}

func (r *Reading) hostKind() HostKind {
	if r.Sector == hosts.Government {
		return GovernmentHost
	}
	for _, h := range r.nameSenses {
		if h.Role == lexicon.Media {
			return MediaHost
		}
	}
	return OtherHost
}

// crosses notes what occurs together.
func (r *Reading) crosses(f *Features, v view) {
	kind := byte(HomePage)
	if n := len(r.Path); n > 0 {
		kind = byte(r.Path[n-1].Kind)
	}
	host := byte(r.Sector)
	if v.media {
		host = 9
	}
	f.cross('h', host, kind)
	if !v.rightSet {
		f.cross('n', host, kind, byte(v.trailing), byte(min(len(r.Path), 4)))
		return
	}
	if n := len(r.Path); n > 0 {
		f.cross('x', byte(v.right.Role), r.Path[n-1].extClass)
	}
	f.cross('r', byte(v.right.Role), byte(v.right.Strength), byte(v.second))
	f.cross('k', byte(v.right.Role), kind)
	f.cross('m', byte(v.right.Role), host)
	f.cross('t', byte(v.right.Role), byte(v.trailing), kind)
}

// tokens notes the words themselves, and parts of them, but for those of a title at the end.
func (r *Reading) tokens(f *Features, v view) {
	for i := range r.Path {
		s := &r.Path[i]
		if s.Kind == Number || s.Kind == ID || s.Kind == Date || i == v.last && v.title {
			continue
		}
		if i >= v.last {
			f.words(s, 'l')
		} else {
			f.words(s, 'w')
		}
	}
	for i := range r.Sub {
		f.hashed('b', r.Sub[i].Text)
	}
}

// words notes the words of a segment, in the space 's' of titles, 'l' of last segments or 'w'; of
// long words also their beginning and end, but not of those of titles.
func (f *Features) words(s *Segment, space byte) {
	begin, n := 0, 0
	for j := 1; j <= len(s.Text); j++ {
		if !s.starts[j] {
			continue
		}
		word := s.Text[begin:j]
		begin = j
		if c := word[0]; '0' <= c && c <= '9' {
			continue
		}
		if n++; n > 8 {
			return
		}
		if len(word) < 3 {
			continue
		}
		f.hashed(space, word)
		if len(word) >= 6 && space != 's' {
			f.hashed('4', word[:4])
			f.hashed('5', word[:5])
			f.hashed('e', word[len(word)-4:])
		}
	}
}
