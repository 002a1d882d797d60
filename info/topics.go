package info

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Topic is a topic that articles can have.
type Topic struct {
	ID    Category          `json:"id"`
	Names map[string]string `json:"names"` // for readers, by language: ko and en
	// Strong keywords suffice for the topic, weak ones only in a title or together with others; see newKeyword for the
	// notation.
	Strong []string `json:"strong"`
	Weak   []string `json:"weak"`
	// SourceCategories are the categories of sources that mean the topic, in lower case. Most have no equivalent:
	// "technology" is not AI, "science" is not energy.
	SourceCategories []string `json:"source_categories"`
}

// homonym is a word that means something else in texts with one of some keywords: "AI" beside bird flu.
type homonym struct {
	Word   string   `json:"word"`
	Beside []string `json:"beside"`
}

// topicsFile is a setting: another newsroom replaces it.
//
//go:embed topics.json
var topicsFile []byte

type topicsDocument struct {
	Topics     []Topic   `json:"topics"`
	Misleading []string  `json:"misleading"` // they contain keywords but mean something else
	Homonyms   []homonym `json:"homonyms"`
}

var document = func() topicsDocument {
	d, err := readTopics(topicsFile)
	if err != nil {
		panic("info/topics.json: " + err.Error()) // tests find it before a deployment does
	}
	return d
}()

// Topics lists the topics in the order of the API. In a tie the first one wins.
var Topics = document.Topics

// Categories lists the ids of Topics.
var Categories = func() (list []Category) {
	for _, t := range Topics {
		list = append(list, t.ID)
	}
	return list
}()

var topicID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// readTopics parses and checks topics.json.
func readTopics(text []byte) (d topicsDocument, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, err
	}
	known := map[Category]bool{All: true}
	for i, t := range d.Topics {
		switch {
		case !topicID.MatchString(string(t.ID)) || known[t.ID]:
			return d, fmt.Errorf("topics[%d].id is %q; use an id of its own of a-z, 0-9 and -, other than all", i, t.ID)
		case t.Names["ko"] == "" || t.Names["en"] == "":
			return d, fmt.Errorf("topics[%d].names lacks ko or en", i)
		}
		known[t.ID] = true
		for _, list := range [][]string{t.Strong, t.Weak} {
			for _, entry := range list {
				if strings.TrimSpace(entry) == "" || strings.Trim(entry, "*^") == "" {
					return d, fmt.Errorf("topics[%d] has an empty keyword", i)
				}
			}
		}
	}
	if len(d.Topics) == 0 {
		return d, fmt.Errorf("topics is empty")
	}
	return d, nil
}

// lexicon holds the parsed keywords.
type lexicon struct {
	topics     []Category
	keywords   []keyword
	misleading []keyword
	homonyms   []meaning
	categories map[string]Category // by those of sources
}

// meaning is a parsed homonym.
type meaning struct {
	word   string
	beside []keyword
}

// topicWords parses the keywords when they are first needed: readers never need them.
var topicWords = sync.OnceValue(func() *lexicon { return newLexicon(document) })

func newLexicon(d topicsDocument) *lexicon {
	l := &lexicon{misleading: read("", 0, d.Misleading), categories: map[string]Category{}}
	for _, t := range d.Topics {
		l.topics = append(l.topics, t.ID)
		l.keywords = append(l.keywords, read(t.ID, 2, t.Strong)...)
		l.keywords = append(l.keywords, read(t.ID, 1, t.Weak)...)
		for _, name := range t.SourceCategories {
			l.categories[name] = t.ID
		}
	}
	for _, h := range d.Homonyms {
		l.homonyms = append(l.homonyms, meaning{h.Word, read("", 0, h.Beside)})
	}
	return l
}

func read(c Category, points int, list []string) (read []keyword) {
	for _, entry := range list {
		k := newKeyword(entry)
		k.category, k.points = c, points
		read = append(read, k)
	}
	return read
}
