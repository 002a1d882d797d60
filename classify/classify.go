// Package classify finds out from a URL alone which of 23 content types it leads to, how certain that is,
// and what in the URL speaks for it. docs/classification.md describes the types, the method and its quality.
package classify

import (
	"slices"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

//go:generate go run ./train

// Type is one of the 23 content types, as the contract writes it.
type Type string

// The content types. docs/classification.md says where one ends and the next begins.
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

// Context is what is known of a domain besides the URL.
type Context struct {
	// Authority is the kind of source that discovery named, such as "gov", "edu" or "org"; "" when
	// unknown. It fills in where the suffix of the host says nothing.
	Authority string
}

// Classification tells what a URL leads to.
type Classification struct {
	PrimaryType    Type     `json:"primary_type"`
	SecondaryTypes []Type   `json:"secondary_types"` // likely too, most likely first; never nil
	Confidence     float64  `json:"confidence"`      // probability that the primary type is right, 0 to 1, two decimals
	Evidence       Evidence `json:"evidence"`
}

// Evidence is what in the URL speaks for its type. No list is nil.
type Evidence struct {
	URLPatterns     []string `json:"url_patterns"`     // segments of the path that mean something: "/newsroom", "/{year}"
	KeywordMatches  []string `json:"keyword_matches"`  // words of the lexicon, in the form in which they are compared
	StructuralHints []string `json:"structural_hints"` // "depth_3", "year_pattern", "pdf_file"
	DomainContext   []string `json:"domain_context"`   // "government", "news_media"
}

// Classify tells what a URL leads to, and why. It is for a few URLs: for many, use a Classifier.
func Classify(url string, c Context) Classification {
	return NewClassifier(c).Classify(url)
}

// Classifier classifies the URLs of a domain one after the other. It reuses its memory, so it must
// not be used by two goroutines at once.
type Classifier struct {
	model    *linear.Model
	sector   hosts.Sector
	reading  urltext.Reading
	features urltext.Features
}

// NewClassifier makes a classifier for URLs of a domain of which c is known.
func NewClassifier(c Context) *Classifier {
	return &Classifier{model: linear.Embedded(), sector: hosts.SectorNamed(c.Authority)}
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

func (c *Classifier) sums(url string) linear.Sums {
	c.reading.Read(url, c.sector)
	c.reading.Extract(&c.features)
	return c.model.Score(&c.features)
}

// secondaryLeast is the probability from which on another type is named as a secondary type.
const secondaryLeast = 0.15

// Classify tells what a URL leads to, and why.
func (c *Classifier) Classify(url string) Classification {
	sums := c.sums(url)
	best, confidence := c.best(&sums)
	p := c.model.Probabilities(&sums)
	answer := Classification{
		PrimaryType:    types[best],
		SecondaryTypes: []Type{},
		Confidence:     confidence,
		Evidence:       evidence(&c.reading),
	}
	p[best] = 0
	p[lexicon.Unknown] = 0 // "unknown as well" tells nothing
	for range 2 {
		next := 0
		for t := range p {
			if p[t] > p[next] {
				next = t
			}
		}
		if p[next] < secondaryLeast {
			break
		}
		answer.SecondaryTypes = append(answer.SecondaryTypes, types[next])
		p[next] = 0
	}
	return answer
}
