// Package classify infers from a URL alone which of 23 content types its page has, how certain that is, and on
// what evidence. docs/classification.md describes the types, the method and its quality.
package classify

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/pagetext"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

//go:generate go run ./train

// Type is one of the 23 content types, as the contract writes it.
type Type string

// The content types. docs/classification.md draws the lines between them.
const (
	News         Type = "news"
	PressRelease Type = "press_release"
	FAQ          Type = "faq"
	Policy       Type = "policy"
	Guide        Type = "guide"
	Announcement Type = "announcement"
	Legislation  Type = "legislation"
	Regulation   Type = "regulation"
	Statistics   Type = "statistics"
	Report       Type = "report"
	Publication  Type = "publication"
	Event        Type = "event"
	Service      Type = "service"
	Contact      Type = "contact"
	About        Type = "about"
	Archive      Type = "archive"
	Search       Type = "search"
	Multimedia   Type = "multimedia"
	Download     Type = "download"
	Form         Type = "form"
	Calendar     Type = "calendar"
	Directory    Type = "directory"
	Unknown      Type = "unknown"
)

// types are the content types in the order of the model's classes.
var types = [linear.Classes]Type{
	News, PressRelease, FAQ, Policy, Guide, Announcement, Legislation, Regulation, Statistics, Report,
	Publication, Event, Service, Contact, About, Archive, Search, Multimedia, Download, Form, Calendar,
	Directory, Unknown,
}

// Class is a content type by its number, for tables with a row for each type.
type Class uint8

// Classes is the number of content types.
const Classes = len(types)

// Type returns the type of a class.
func (c Class) Type() Type { return types[c] }

// ClassOf returns the class of a type, and reports whether t is one of the content types.
func ClassOf(t Type) (c Class, ok bool) {
	i := slices.Index(types[:], t)
	return Class(max(i, 0)), i >= 0
}

// Context describes the domain that a URL belongs to.
type Context struct {
	// Authority is the kind of source that the raw file names, such as "gov", "edu" or "org"; "" for none. It is
	// used where the suffix of the host names no sector.
	Authority string
}

// Text holds the names that other pages give a page. Unknown ones are "".
type Text struct {
	Title   string // of the page: in a raw record, a feed's item, a news sitemap
	Anchor  string // of a link to the page, such as an entry of the home page's menu
	Section string // of a link to the section that the page belongs to; read where there is no Anchor
}

// Classification is the content type of a URL, with the alternatives and the evidence.
type Classification struct {
	PrimaryType    Type     `json:"primary_type"`
	SecondaryTypes []Type   `json:"secondary_types"` // alternatives, most probable first; never nil
	Confidence     float64  `json:"confidence"`      // probability that the primary type is right, 0 to 1, two decimals
	Evidence       Evidence `json:"evidence"`
}

// Evidence lists the parts of a URL that its classification is based on. No list is nil.
type Evidence struct {
	URLPatterns     []string `json:"url_patterns"`     // segments with a meaning: "/newsroom", "/{year}"
	KeywordMatches  []string `json:"keyword_matches"`  // words of the lexicon, in the form in which they are compared
	KeywordSources  []Source `json:"keyword_sources"`  // where each of these words stands
	StructuralHints []string `json:"structural_hints"` // "depth_3", "year_pattern", "pdf_file"
	DomainContext   []string `json:"domain_context"`   // "government", "news_media"
}

// Source names the text in which a keyword was found.
type Source string

// The sources of words.
const (
	FromURL    Source = "url"
	FromTitle  Source = "title"  // Text.Title
	FromAnchor Source = "anchor" // Text.Anchor
	FromSite   Source = "site"   // Text.Section
)

// Classifier classifies the URLs of a domain. It reuses its buffers, so it is not safe for concurrent use.
type Classifier struct {
	model     *linear.Model
	pages     *linear.Pages // nil if the model has no weights of evidence
	sector    hosts.Sector
	reading   urltext.Reading
	features  urltext.Features
	extractor *pagetext.Extractor
}

// Type returns the most likely type of a URL, as Classify does, without the evidence.
func (c *Classifier) Type(url string) Type {
	sums := c.sums(url)
	return types[sums.Best()]
}

// Best returns the most likely class of a URL and its confidence, as Classify does, without the evidence.
func (c *Classifier) Best(url string) (Class, float64) {
	sums := c.sums(url)
	return c.best(&sums)
}

func (c *Classifier) best(sums *linear.Sums) (Class, float64) {
	best := sums.Best()
	return Class(best), float64(int(c.model.Confidence(sums, best)*100+0.5)) / 100
}

// EndsInWords reports whether the last segment of a URL's path consists of words of the lexicon alone,
// as in "/news", unlike "/story-1".
func (c *Classifier) EndsInWords(url string) bool {
	c.reading.Read(url, c.sector)
	path := c.reading.Path
	return len(path) > 0 && path[len(path)-1].Exact() && path[len(path)-1].Digits == 0
}

// BestText is Best for a page of which more than the URL is known.
func (c *Classifier) BestText(url string, t Text) (Class, float64) { return c.BestIn(url, t, nil) }

// ClassifyText is Classify for a page of which more than the URL is known.
func (c *Classifier) ClassifyText(url string, t Text) Classification {
	return c.ClassifyIn(url, t, nil)
}

// BestIn is BestText for a page of a site of which other pages are known; s may be nil.
func (c *Classifier) BestIn(url string, t Text, s *Site) (Class, float64) {
	sums := c.sumsIn(url, t, s)
	return c.best(&sums)
}

// Verdict is what the classifier finds out about a page.
type Verdict struct {
	Class      Class
	Confidence float64
	SmallPrint bool // see isSmallPrint

	sums linear.Sums
}

// Judge is BestIn with what Explain needs.
func (c *Classifier) Judge(url string, t Text, s *Site) Verdict {
	v := Verdict{sums: c.sumsIn(url, t, s), SmallPrint: c.isSmallPrint()}
	v.Class, v.Confidence = c.best(&v.sums)
	return v
}

// Explain is ClassifyIn for a page with the verdict of Judge on the same URL, text and site.
func (c *Classifier) Explain(url string, t Text, v *Verdict) Classification {
	c.reading.Read(url, c.sector)
	c.readText(t)
	return c.classification(&v.sums, t.Anchor == "")
}

// ClassifyIn is ClassifyText for a page of a site of which other pages are known; s may be nil.
func (c *Classifier) ClassifyIn(url string, t Text, s *Site) Classification {
	sums := c.sumsIn(url, t, s)
	return c.classification(&sums, t.Anchor == "")
}

func (c *Classifier) readText(t Text) { c.reading.ReadText(t.Title, cmp.Or(t.Anchor, t.Section)) }

func (c *Classifier) sumsIn(url string, t Text, s *Site) linear.Sums {
	sums := c.sums(url)
	if t != (Text{}) {
		c.readText(t)
		c.reading.ExtractText(&c.features)
		c.model.Add(&sums, &c.features)
		c.model.Temper(&sums)
	}
	if s != nil {
		c.model.Shift(&sums, (*[Classes]float64)(s))
	}
	return sums
}

func (c *Classifier) sums(url string) linear.Sums {
	c.reading.Read(url, c.sector)
	c.reading.Extract(&c.features)
	return c.model.Score(&c.features)
}

// minSecondary is the probability that a type needs to be listed as a secondary type.
const minSecondary = 0.15

// Classify classifies a URL and lists the evidence.
func (c *Classifier) Classify(url string) Classification {
	sums := c.sums(url)
	return c.classification(&sums, false)
}

// classification is the result for the scores of the URL last read. section says that the text of a link is that of
// one to the page's section.
func (c *Classifier) classification(sums *linear.Sums, section bool) Classification {
	best, confidence := c.best(sums)
	p := c.model.Probabilities(sums)
	result := Classification{
		PrimaryType:    types[best],
		SecondaryTypes: []Type{},
		Confidence:     confidence,
		Evidence:       evidence(&c.reading, section),
	}
	p[best] = 0
	p[lexicon.Unknown] = 0 // "unknown as well" is no information
	for range 2 {
		next := 0
		for t := range p {
			if p[t] > p[next] {
				next = t
			}
		}
		if p[next] < minSecondary {
			break
		}
		result.SecondaryTypes = append(result.SecondaryTypes, types[next])
		p[next] = 0
	}
	return result
}
