package urltext

import (
	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/urlword"
)

// Features are the model's input, each present or absent. A tied feature is evidence for one content type of a kind
// that all types share ("a strong word of this type is the whole last segment"), so its weight is learned once for
// all types. A plain feature has a weight for each type.
type Features struct {
	Tied  []Tied
	Plain []uint16 // in no particular order; only words of titles occur twice
	host  HostKind

	seen     [PlainFeatures/64 + 1]uint64
	seenTied [lexicon.Types][TiedFeatures/64 + 1]uint64
}

// Tied is a tied feature: evidence of kind At for type For.
type Tied struct {
	For uint8
	At  uint16
}

// HostKind is the kind of host that the words of a URL are combined with.
type HostKind uint8

// The kinds of hosts.
const (
	OtherHost HostKind = iota
	GovernmentHost
	MediaHost
	hostKinds
)

// place is the position of a word in a URL.
type place uint8

const (
	lastExact     place = iota // is the whole last meaningful segment, nothing follows
	lastExactItem              // the same, and a number, key or date follows
	lastHead                   // begins a last segment of a few words
	lastTail                   // ends it, or is within it
	lastItem                   // part of a last segment of a few words, and a number, key or date follows
	slugHead                   // begins a title
	slugInside                 // within a title
	parentOfSlug               // is the segment before a title
	parentOfSlugPart
	parentOfWords    // is the segment before words without a type
	parentOfHits     // is the segment before words with a type
	parentOfHitsPart // part of it
	farOfSlug        // further up, before a title
	farOfWords       // further up
	queryKey
	queryValue
	subdomain
	hostName
	subdomainHosts // in the list of words for hosts
	hostNameHosts
	fileName   // in the name of a document: a PDF, a text, a sheet
	fileParent // in the segment before such a name
	fileFar    // further up
	dataFile   // anywhere in the path of a data file, which is a download regardless of its words
	titleWhole // the words of the page's title are the whole of it
	titleHead  // they begin it
	titlePart  // they are within it
	anchorWhole
	anchorHead
	anchorPart
	afterTitle // in what follows the title: names of sections and of the site
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
	tiedFileName   // the name of a document has a word of the type, the best evidence
	tiedFilePath   // its name has no such word, the path before it has
	tiedFileOpaque // neither has one: a download
	tiedCombined   // from here on places combined with their surroundings, see below
)

// What the place of a word is combined with, and the number of cases.
const (
	withHost  = tiedCombined                          // the kind of host
	withCover = withHost + int(places)*int(hostKinds) // the share of its segment that the word covers
	withTypes = withCover + int(places)*covers        // the number of types in the path
	withExt   = withTypes + int(places)*typesMax      // the file extension
	withWords = withExt + int(places)*extGroups       // the length of the title
	withOrder = withWords + int(places)*wordsMax      // not a place: order of the types from the right
	tiedRule  = withOrder + ordersMax*3*2             // a rule of rules.go implies the type, by kind
	tiedURL   = tiedRule + rules                      // from here on the same of URLs with a text beside them
	// TiedFeatures is the number of tied features.
	TiedFeatures = 2 * tiedURL
)

const (
	covers    = 3
	typesMax  = 4
	extGroups = 6
	wordsMax  = 5
	ordersMax = 4
)

// Plain features: a dense part in which each has a meaning, then the hashed part.
const (
	plainRolePlace = 0
	plainStructure = plainRolePlace + lexicon.Roles*int(places)
	structureSize  = 256
	plainURL       = plainStructure + structureSize // from here on the same of URLs with a text beside them
	plainHashed    = 2 * plainURL
	hashedSize     = 61440
	// PlainFeatures is the number of plain features.
	PlainFeatures = plainHashed + hashedSize
)

// Group is a kind of plain features, for which training has a penalty each.
type Group uint8

// The groups.
const (
	RolePlace Group = iota // a word with a role at a place
	Structure              // the form of the URL
	Hashed                 // words, parts of words, and what occurs together
)

// IsCombined reports whether a tied feature combines the place of a word with its surroundings.
func IsCombined(tied int) bool {
	tied %= tiedURL
	return tied >= withHost && tied < tiedRule
}

// GroupOf returns the group of a plain feature.
func GroupOf(feature int) Group {
	switch {
	case feature >= plainHashed:
		return Hashed
	case feature%plainURL >= plainStructure:
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

// hashed adds a hashed feature. The hash is FNV-1a over space and text.
func (f *Features) hashed(space byte, text []byte) { f.plain(plainHashed + bucket(space, text)) }

// cross adds a feature for things that occur together.
func (f *Features) cross(space byte, parts ...byte) { f.hashed(space, parts) }

// hashedPair adds a feature for two texts in their order.
func (f *Features) hashedPair(space byte, first, second []byte) {
	h := appendHash(appendHash(spaceHash(space), first)*fnvPrime, second)
	f.plain(plainHashed + bucketOf(h))
}

func bucket(space byte, text []byte) int { return bucketOf(appendHash(spaceHash(space), text)) }

const fnvPrime = 16777619

func spaceHash(space byte) uint32 { return (2166136261 ^ uint32(space)) * fnvPrime }

func appendHash(h uint32, text []byte) uint32 {
	for _, c := range text {
		h = (h ^ uint32(c)) * fnvPrime
	}
	return h
}

func bucketOf(h uint32) int {
	h ^= h >> 15
	return int(h % hashedSize)
}

// hit adds a word at a place. It returns the type of the word.
func (f *Features) hit(h lexicon.Sense, p place) (t lexicon.Role, ok bool) {
	f.plain(plainRolePlace + int(h.Role)*int(places) + int(p))
	if t, ok = typeOf(h.Role); ok {
		f.tied(t, int(p)*3+int(h.Strength))
		f.tied(t, withHost+int(p)*int(hostKinds)+int(f.host))
	}
	return t, ok
}

// hitOutside adds a word outside the path, combined with the number of types in the path.
func (f *Features) hitOutside(h lexicon.Sense, p place, v view) {
	if t, ok := f.hit(h, p); ok {
		n := 0
		if v.types > 0 {
			n = 1 + min(v.types, 2)
		}
		f.tied(t, withTypes+int(p)*typesMax+n)
	}
}

// typeOf returns the type that a role is evidence for: the small print, collections by tag, accounts and machine
// interfaces are pages without a type of their own.
func typeOf(r lexicon.Role) (lexicon.Role, bool) {
	switch r {
	case lexicon.Tag, lexicon.Legal, lexicon.Account, lexicon.Feed, lexicon.Home:
		return lexicon.Unknown, true
	}
	return r, r < lexicon.Unknown
}

// Extract sets f to the features of the URL.
func (r *Reading) Extract(f *Features) { r.extract(f, true) }

func (r *Reading) extract(f *Features, title bool) {
	f.reset()
	v := r.view()
	f.host = r.hostKind()
	r.pathFeatures(f, v)
	r.queryFeatures(f, v)
	r.hostFeatures(f, v)
	shape{r}.structure(f, v)
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

// view is a summary of the path.
type view struct {
	last     int  // index of the last segment with meaning, -1 when there is none
	trailing Kind // what follows it: Words when nothing does
	title    bool // it is a title
	file     bool // the path ends in the name of a document
	sheet    bool // that is a file of data
	hasHits  bool // the path has words of a type
	right    lexicon.Sense
	rightSet bool // right is the sense of the rightmost hit that has a type
	second   lexicon.Role
	types    int // the number of types in the path
	media    bool
}

func meaningful(k Kind) bool { return k == Words || k == Slug }

func (r *Reading) view() view {
	v := view{last: -1}
	for i := range r.Path {
		if meaningful(r.Path[i].Kind) && !urlword.IsPage(r.Path[i].Text) {
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
			continue // words of a title are about its subject
		}
		for j := len(s.Hits) - 1; j >= 0; j-- {
			h := s.Hits[j]
			role, ok := typeOf(h.Role)
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

// crosses adds what occurs together.
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

// tokens adds the words themselves, and parts of them, except those of a title at the end.
func (r *Reading) tokens(f *Features, v view) {
	for i := range r.Path {
		s := &r.Path[i]
		if s.Kind == Number || s.Kind == ID || s.Kind == Date || i == v.last && v.title {
			continue
		}
		r.beforeKey(f, i)
		if i >= v.last {
			f.words(s, lastSpace)
		} else {
			f.words(s, beforeSpace)
		}
	}
	for i := range r.Sub {
		f.hashed('b', r.Sub[i].Text)
	}
}

// beforeKey adds a segment before a number, a date or a key, together with the kinds of that and of the last segment:
// "/article/123", "/node/7/edit".
func (r *Reading) beforeKey(f *Features, i int) {
	n := len(r.Path) - 1
	if i == n || meaningful(r.Path[i+1].Kind) && i+1 < n || !meaningful(r.Path[i].Kind) {
		return
	}
	f.hashedPair('P', r.Path[i].Text, []byte{byte(r.Path[i+1].Kind), byte(r.Path[n].Kind)})
}

// The spaces of hashed words: each counts where it stands, and once more wherever it stands.
const (
	lastSpace   = 'l' // last segments
	beforeSpace = 'w' // the segments before
	titleSpace  = 'T' // titles of pages
	anchorSpace = 'A' // texts of links
	anySpace    = 'u'
)

// words adds the words of a segment or text in a space and anywhere, pairs of neighbours, their parts, and the
// beginning and end of long ones.
func (f *Features) words(s *Segment, space byte) {
	previous := []byte(nil)
	for word := range s.tokens() {
		f.hashed(space, word)
		f.hashed(anySpace, word)
		if previous != nil {
			f.hashedPair('B', previous, word)
		}
		previous = word
		f.grams(word)
		if len(word) >= 6 {
			f.hashed('4', word[:4])
			f.hashed('5', word[:5])
			f.hashed('e', word[len(word)-4:])
		}
	}
}

// titleWords adds the words of a title at the end of a URL. They count beside equal ones elsewhere in the URL, so that
// the title and its frame add up to the whole.
func (f *Features) titleWords(s *Segment) {
	for word := range s.tokens() {
		f.Plain = append(f.Plain, titleFeature(word))
	}
}

func titleFeature(word []byte) uint16 { return uint16(plainHashed + bucket(anySpace, word)) }

// tokens yields the first words of a segment but for numbers and short ones.
func (s *Segment) tokens() func(func([]byte) bool) {
	return func(yield func([]byte) bool) { s.eachToken(yield) }
}

const (
	maxTokens = 8
	minToken  = 3 // bytes
)

func (s *Segment) eachToken(yield func([]byte) bool) {
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
		if n++; n > maxTokens {
			return
		}
		if len(word) < minToken {
			continue
		}
		if !yield(word) {
			return
		}
	}
}

// grams adds the sequences of letters of a word, in which compounds and inflected words resemble others: four letters,
// or two of a script that does not set words apart.
func (f *Features) grams(word []byte) {
	const limit = 24
	length := 4
	if lexiconUnspaced(word) {
		length = 2
	}
	begin, end := 0, 0
	for ; length > 0 && end < len(word); length-- {
		end += runeSize(word[end])
	}
	if length > 0 {
		return
	}
	for range limit {
		f.hashed('g', word[begin:end])
		if end == len(word) {
			return
		}
		begin += runeSize(word[begin])
		end += runeSize(word[end])
	}
}

// runeSize is the number of bytes of the rune that begins with a byte.
func runeSize(first byte) int {
	switch {
	case first < 0x80:
		return 1
	case first < 0xE0:
		return 2
	case first < 0xF0:
		return 3
	}
	return 4
}
