package urltext

import (
	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Structural features, offsets into the dense part.
const (
	sDepth      = 0              // 0..8
	sTrailing   = sDepth + 9     // by trailing kind
	sLastKind   = sTrailing + 12 // by kind of the last segment
	sMeaning    = sLastKind + 12 // words of the last meaningful segment 0..5
	sExt        = sMeaning + 6   // by class of extension
	sSector     = sExt + 12      // by sector
	sFlag       = sSector + 4    // flags below
	sQueryCount = sFlag + 32     // 0..4
	sHits       = sQueryCount + 5
	sMediaLast  = sHits + 4 // media host × last kind
	sGovLast    = sMediaLast + 12
	sMediaDepth = sGovLast + 12
	sNoHits     = sMediaDepth + 9 // no word of the lexicon × last kind
	sNoHitsGov  = sNoHits + 12
	sNoHitsMed  = sNoHitsGov + 12
	sSlugWords  = sNoHitsMed + 12 // 4..9
	sEnd        = sSlugWords + 8
)

var _ [structureSize - sEnd]struct{}

const (
	flagMedia = iota
	flagSlash
	flagLang
	flagDatePath
	flagYearMonth
	flagYearOnly
	flagDateInSlug
	flagIDQuery
	flagSearchQuery
	flagPageQuery
	flagTracking
	flagDigitsInLast
	flagPercent
	flagUnspacedLast
	flagSectionOnly
	flagFile
	flagVideoHost
	flagScholarHost
	flagLawHost
	flagStatHost
	flagGovWords
	flagSubdomain
	flagQuestion
	flagLastYear
	flagNewsTLD
	flagOpaqueFile
	flagDescriptiveFile
	flagSheet
	flagTitle
	flagAnchor
)

// Keys of the query that indicate what a page does.
var (
	searchKeys = wordSet(
		"q s query search keyword keywords searchword searchterm searchtext srch k text wd term terms suche " +
			"suchbegriff recherche busca buscar pesquisa cerca ricerca sok zoek searchkey searchvalue searchquery " +
			"searchstring szukaj arama keys schstr stext find kw")
	trackingKeys = wordSet(
		"utmsource utmmedium utmcampaign utmterm utmcontent fbclid gclid cmpid ref refurl from src source mcid mceid " +
			"icid ito ocid smid share xtor wtmc")
	pageKeys = wordSet("page p pageno pageindex pagenum paged start offset seite pagina currentpage cp pg")
)

// shape extracts the features of a URL's form.
type shape struct{ *Reading }

// structure adds the form of the URL, apart from its words. The order of the features is part of the model, since
// sums of floating-point weights depend on it in training.
func (r shape) structure(f *Features, v view) {
	p := r.pathForm()
	r.shapeOfPath(f, v, p)
	r.shapeOfQuery(f)
	r.pathFlags(f, v, p)
	r.hostFlags(f)
	r.lastKindByHost(f, v, p)
	if v.file {
		last := &r.Path[len(r.Path)-1]
		descriptive := v.rightSet || hasType(last.Hits)
		f.flag(!descriptive && !v.sheet, flagOpaqueFile)
		f.flag(descriptive && !v.sheet, flagDescriptiveFile)
		f.flag(v.sheet, flagSheet)
	}
	f.flag(v.last >= 0 && sectionOnly(r.Path[:v.last+1]), flagSectionOnly)
}

func (f *Features) flag(on bool, which int) {
	if on {
		f.plain(plainStructure + sFlag + which)
	}
}

// put adds a value of a structural feature, at most limit.
func (f *Features) put(offset, value, limit int) {
	f.plain(plainStructure + offset + min(value, limit))
}

// pathForm counts the parts of the path, without home pages and languages.
type pathForm struct {
	depth                int
	years, months, dates int
	dateInSlug           bool
	digitsLast           bool // in the last segment counted
	escaped              bool // some segment begins with a percent escape
	lastKind             Kind // of the last segment; an empty path is a home page
}

func (r shape) pathForm() pathForm {
	p := pathForm{lastKind: HomePage}
	for i := range r.Path {
		s := &r.Path[i]
		p.lastKind = s.Kind
		switch s.Kind {
		case HomePage, Lang:
			continue
		case Year:
			p.years++
		case MonthNo:
			p.months++
		case Date, Day:
			p.dates++
		}
		p.depth++
		p.dateInSlug = p.dateInSlug || s.Kind == Slug && s.hasDate()
		p.digitsLast = s.Digits > 0
		p.escaped = p.escaped || startsEscaped(s)
	}
	return p
}

// shapeOfPath adds the depth of the path, its end, and the length of its title.
func (r shape) shapeOfPath(f *Features, v view, p pathForm) {
	f.put(sDepth, p.depth, 8)
	f.put(sTrailing, int(v.trailing), 11)
	ext := extNone
	if n := len(r.Path); n > 0 {
		last := &r.Path[n-1]
		if last.Ext != "" {
			ext = int(last.extClass)
		}
		f.flag(p.digitsLast, flagDigitsInLast)
		f.flag(lexiconUnspaced(last.Text), flagUnspacedLast)
	}
	f.put(sLastKind, int(p.lastKind), 11)
	f.put(sExt, ext, 11)
	f.put(sSector, int(r.Sector), 3)
	if v.last >= 0 {
		s := &r.Path[v.last]
		f.put(sMeaning, s.Words, 5)
		if s.Kind == Slug {
			f.put(sSlugWords, max(s.Words-4, 0), 7)
		}
	}
}

// shapeOfQuery adds the number of fields of the query, and their purpose by their keys.
func (r shape) shapeOfQuery(f *Features) {
	f.put(sQueryCount, len(r.Query), 4)
	for i := range r.Query {
		q := &r.Query[i]
		key := q.Key.Text
		switch {
		case searchKeys[string(key)]:
			f.flag(true, flagSearchQuery)
		case trackingKeys[string(key)]:
			f.flag(true, flagTracking)
		case pageKeys[string(key)]:
			f.flag(true, flagPageQuery)
		default:
			f.flag(q.Value.Kind == Number || q.Value.Kind == ID, flagIDQuery)
		}
	}
}

func (r shape) pathFlags(f *Features, v view, p pathForm) {
	f.flag(v.media, flagMedia)
	f.flag(r.Slash, flagSlash)
	f.flag(p.years > 0 && p.months > 0, flagDatePath)
	f.flag(p.years > 0 && p.months > 0 && p.dates == 0, flagYearMonth)
	f.flag(p.years > 0 && p.months == 0, flagYearOnly)
	f.flag(p.dateInSlug || p.dates > 0, flagDateInSlug)
	f.flag(p.escaped, flagPercent)
	f.flag(len(r.Sub) > 0, flagSubdomain)
	for i := range r.Path {
		f.flag(r.Path[i].Kind == Lang, flagLang)
	}
	f.flag(p.lastKind == Year, flagLastYear)
}

// hostFlags adds the roles of the host by the words for hosts.
func (r shape) hostFlags(f *Features) {
	for _, senses := range [2][]lexicon.Sense{r.subSenses, r.nameSenses} {
		for _, h := range senses {
			switch h.Role {
			case lexicon.Video:
				f.flag(true, flagVideoHost)
			case lexicon.Scholar:
				f.flag(true, flagScholarHost)
			case lexicon.Law:
				f.flag(true, flagLawHost)
			case lexicon.Stat:
				f.flag(true, flagStatHost)
			case lexicon.GovHost:
				f.flag(true, flagGovWords)
			}
		}
	}
}

// lastKindByHost adds the end of the path combined with the kind of host, in any case and where the path has no
// word of a type.
func (r shape) lastKindByHost(f *Features, v view, p pathForm) {
	lastKind := int(p.lastKind)
	if v.media {
		f.put(sMediaLast, lastKind, 11)
		f.put(sMediaDepth, p.depth, 8)
	}
	if r.Sector == hosts.Government {
		f.put(sGovLast, lastKind, 11)
	}
	if v.hasHits {
		f.put(sHits, 0, 3)
		return
	}
	f.put(sNoHits, lastKind, 11)
	switch {
	case v.media:
		f.put(sNoHitsMed, lastKind, 11)
	case r.Sector == hosts.Government:
		f.put(sNoHitsGov, lastKind, 11)
	}
}

// sectionOnly reports whether a path consists of sections of a newspaper.
func sectionOnly(path []Segment) bool {
	found := false
	for i := range path {
		s := &path[i]
		if !meaningful(s.Kind) {
			continue
		}
		section := false
		for _, h := range s.Hits {
			section = section || h.Role == lexicon.Section
		}
		if !section || !s.Exact() {
			return false
		}
		found = true
	}
	return found
}
