package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// example is a URL with its label.
type example struct {
	url       string
	title     string // of the page, "" when the URL stands alone
	anchor    string // of links to it
	lang      string
	label     lexicon.Role
	secondary []lexicon.Role // other types that would be right as well
	origin    origin
	set       string // the file of labelled URLs, "" for others
	drawn     string // how it was chosen, if it has a text
	people    people // only of URLs that are held out
	derived   bool   // made from another, by withTexts
	lone      bool   // bare, and was labelled without a text
	number    int    // of its line
	fold      int    // everyFold for URLs made from patterns, whose hosts are invented
	features  urltext.Features
}

// people are the types that annotators gave a page without seeing each other's: two by its URL and text, one by its
// URL alone.
type people struct{ first, second, alone lexicon.Role }

// origin is the origin of an example. Only labelled examples are measured; the others are for training only.
type origin uint8

const (
	labelled    origin = iota // firstSet and secondSet
	written                   // train/written
	fromPattern               // train/patterns
	pair                      // firstTexts to fourthTexts, and those held out
	bare                      // the URLs of pairs alone, and those of their files that have no text
	inferred                  // inferredTexts
)

// The labelled URLs. Those that are held out share no domain with the others, nor with what is written for training.
const (
	firstSet  = "testdata/urls.jsonl"
	secondSet = "testdata/urls2.jsonl"
	heldOut   = "testdata/heldout.jsonl"
	// URLs with the title of the page or the text of a link to it
	firstTexts  = "testdata/texts.jsonl"
	secondTexts = "testdata/texts2.jsonl"
	thirdTexts  = "testdata/texts3.jsonl"
	fourthTexts = "testdata/texts4.jsonl"
	thirdSet    = "testdata/urls3.jsonl" // collected together with fourthTexts, and read as its URLs without texts are
)

// inferredTexts are titles, texts of links and URLs without labels. An earlier model inferred the type of each text
// from the URL alone, that of each URL from the text alone, with a confidence of at least 0.85; a model learns from
// them what pages of a type are called.
const inferredTexts = "train/inferred.tsv"

// unseenDomains are the hashes of domains with which quality is measured outside: nothing of them is learned, chosen
// or measured by here, so that it stays unseen.
const unseenDomains = "train/unseen.txt"

// everyFold is the fold of examples that every fold trains on.
const everyFold = -1

// folds is the number of parts of the cross-validation.
const folds = 5

// foldOf returns the fold of a URL: all URLs of a registrable domain share one, including written ones.
func foldOf(u string) int {
	h := fnv.New32a()
	h.Write([]byte(domainOf(u)))
	return int(h.Sum32() % folds)
}

func domainOf(u string) string {
	host := u
	if p, err := url.Parse(u); err == nil {
		host = p.Hostname()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// readExamples reads the labelled URLs of both sets and the written ones. It rejects written URLs that equal a
// labelled one up to case, numbers and a final slash, and leaves out those of domains that are held out.
func readExamples(dir fs.FS) ([]*example, error) {
	words, err := readLexicon(dir)
	if err != nil {
		return nil, err
	}
	held, err := readLabelled(dir, heldOut)
	if err != nil {
		return nil, err
	}
	all, err := readLabelled(dir, firstSet, secondSet)
	if err != nil {
		return nil, err
	}
	heldDomains := map[string]bool{}
	for _, e := range held {
		heldDomains[domainOf(e.url)] = true
	}
	never, err := readUnseen(dir)
	if err != nil {
		return nil, err
	}
	if err := never.refuse(heldOut, held); err != nil {
		return nil, err
	}
	outlines := map[string]bool{}
	for _, e := range all {
		if heldDomains[domainOf(e.url)] {
			return nil, fmt.Errorf("%s: %s: its domain is held out", e.set, e.url)
		}
		outlines[outline(e.url)] = true
	}
	files, err := fs.Glob(dir, "train/written/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		more, err := readWritten(dir, name)
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			o := outline(e.url)
			if outlines[o] {
				return nil, fmt.Errorf("%s: %s: a copy of a URL that is there already", name, e.url)
			}
			outlines[o] = true
		}
		all = append(all, slices.DeleteFunc(more, func(e *example) bool { return heldDomains[domainOf(e.url)] })...)
	}
	texts, err := readTexts(dir, heldDomains)
	if err != nil {
		return nil, err
	}
	all = append(all, texts...)
	more, err := readInferred(dir, heldDomains)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	if err := never.refuse("the examples", all); err != nil {
		return nil, err
	}
	for _, e := range all {
		e.fold = foldOf(e.url)
	}
	more, err = readPatterns(dir)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	all = append(all, withTexts(all, words)...)
	r := urltext.Reading{Words: words}
	for _, e := range all {
		e.extract(&r)
	}
	return all, nil
}

// unseen are hashes of domains, see unseenDomains.
type unseen map[string]bool

func readUnseen(dir fs.FS) (unseen, error) {
	data, err := fs.ReadFile(dir, unseenDomains)
	if err != nil {
		return nil, err
	}
	never := unseen{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if raw, err := hex.DecodeString(line); err != nil || len(raw) != 8 {
			return nil, fmt.Errorf("%s: %q is not 16 hex digits", unseenDomains, line)
		}
		never[line] = true
	}
	if len(never) == 0 {
		return nil, fmt.Errorf("%s: no domains", unseenDomains)
	}
	return never, nil
}

// has reports whether a URL's domain is one of them.
func (never unseen) has(u string) bool {
	sum := sha256.Sum256([]byte(domainOf(u)))
	return never[hex.EncodeToString(sum[:8])]
}

// refuse fails if any of the examples has such a domain, and says how many do.
func (never unseen) refuse(from string, examples []*example) error {
	first, n := "", 0
	for _, e := range examples {
		if never.has(e.url) {
			if n++; n == 1 {
				first = e.url
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d are of domains that stay unseen (%s), the first is %s: take them out", from, n,
		len(examples), unseenDomains, first)
}

func (e *example) hasText() bool { return e.title != "" || e.anchor != "" }

// extract sets the features of the URL and, if it has a text, of both.
func (e *example) extract(r *urltext.Reading) {
	r.Read(e.url, hosts.OtherSector)
	r.Extract(&e.features)
	if !e.hasText() {
		return
	}
	alone := e.features
	alone.Plain, alone.Tied = slices.Clone(alone.Plain), slices.Clone(alone.Tied)
	r.ReadText(e.title, e.anchor)
	r.ExtractText(&e.features)
	e.features.Plain = append(alone.Plain, e.features.Plain...)
	e.features.Tied = append(alone.Tied, e.features.Tied...)
}

// withTexts returns the examples again, with the last words of their paths as text beside a URL without them: long
// ones as the title of the page, short ones as a link's text.
func withTexts(all []*example, words *lexicon.Words) []*example {
	r := urltext.Reading{Words: words}
	var more []*example
	for _, e := range all {
		if e.origin == pair || e.origin == bare || e.origin == inferred {
			continue
		}
		r.Read(e.url, hosts.OtherSector)
		url, text, long, ok := r.WithText()
		if !ok {
			continue
		}
		copied := *e
		copied.url, copied.derived = url, true
		if long {
			copied.title = text
		} else {
			copied.anchor = text
		}
		more = append(more, &copied)
	}
	return more
}

// readLabelled reads the labelled URLs of files.
func readLabelled(dir fs.FS, names ...string) ([]*example, error) {
	var all []*example
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		more, err := parseLabelled(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, e := range more {
			e.set, e.number = name, len(all)
			all = append(all, e)
		}
	}
	return all, nil
}

// readTexts reads the URLs with texts, each also without.
func readTexts(dir fs.FS, held map[string]bool) ([]*example, error) {
	pairs, err := readLabelled(dir, firstTexts, secondTexts, thirdTexts, fourthTexts, thirdSet)
	if err != nil {
		return nil, err
	}
	for _, e := range pairs {
		if held[domainOf(e.url)] {
			return nil, fmt.Errorf("%s: %s: its domain is held out", e.set, e.url)
		}
	}
	return withAndWithout(pairs), nil
}

// withAndWithout returns URLs with texts, each followed by the URL alone, and those that have none.
func withAndWithout(pairs []*example) (all []*example) {
	for _, e := range pairs {
		alone := *e
		alone.origin, alone.title, alone.anchor, alone.lone = bare, "", "", !e.hasText()
		if e.hasText() {
			e.origin = pair
			all = append(all, e)
		}
		all = append(all, &alone)
	}
	return all
}

// readInferred reads inferredTexts, lines of "type, title or anchor, host, text", as texts beside URLs that say
// nothing, and of "type, url, host, URL".
func readInferred(dir fs.FS, held map[string]bool) ([]*example, error) {
	data, err := fs.ReadFile(dir, inferredTexts)
	if err != nil {
		return nil, err
	}
	var all []*example
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s:%d: not four fields", inferredTexts, n)
		}
		e := &example{url: "https://" + fields[2] + "/a1010", origin: inferred}
		if e.label, _, err = types(fields[0], nil); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", inferredTexts, n, err)
		}
		switch fields[1] {
		case "title":
			e.title = fields[3]
		case "anchor":
			e.anchor = fields[3]
		case "url":
			e.url = fields[3]
		}
		if err := e.refuseAddress(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", inferredTexts, n, err)
		}
		if !held[domainOf(e.url)] {
			all = append(all, e)
		}
	}
	return all, nil
}

// readHeldOut reads the URLs that are held out, each with its text and once more without.
func readHeldOut(dir fs.FS) ([]*example, error) {
	words, err := readLexicon(dir)
	if err != nil {
		return nil, err
	}
	pairs, err := readLabelled(dir, heldOut)
	all := withAndWithout(pairs)
	r := urltext.Reading{Words: words}
	for _, e := range all {
		e.extract(&r)
	}
	return all, err
}

func readLexicon(dir fs.FS) (*lexicon.Words, error) {
	general, hosts, err := lexiconTexts(dir)
	if err != nil {
		return nil, err
	}
	return lexicon.NewWords(general, hosts)
}

func lexiconTexts(dir fs.FS) (general, hosts string, err error) {
	if dir, err = fs.Sub(dir, "internal/lexicon"); err != nil {
		return "", "", err
	}
	return lexicon.Texts(dir)
}

func parseLabelled(data []byte) ([]*example, error) {
	var all []*example
	for line := range bytes.Lines(data) {
		var row struct {
			URL, Title, Anchor, Label, Lang, Drawn string
			Secondary                              []string
			First, Second, Alone                   string
		}
		err := json.Unmarshal(line, &row)
		if err != nil {
			return nil, err
		}
		e := &example{url: row.URL, title: row.Title, anchor: row.Anchor, lang: row.Lang, drawn: row.Drawn}
		if e.label, e.secondary, err = types(row.Label, row.Secondary); err != nil {
			return nil, fmt.Errorf("%s: %w", row.URL, err)
		}
		if row.Alone != "" {
			if e.people, err = peopleOf(row.First, row.Second, row.Alone); err != nil {
				return nil, fmt.Errorf("%s: %w", row.URL, err)
			}
		}
		if err := e.refuseAddress(); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func peopleOf(first, second, alone string) (p people, err error) {
	for of, name := range map[*lexicon.Role]string{&p.first: first, &p.second: second, &p.alone: alone} {
		if *of, _, err = types(name, nil); err != nil {
			return p, err
		}
	}
	return p, nil
}

// addresses are those of mailboxes, and telephone numbers in links to a messenger.
var addresses = regexp.MustCompile(`[\pL\pN._%+-]+(@|%40)[\pL\pN-]+\.\pL{2,}|mailto:|//wa\.me/`)

// refuseAddress fails for an example that has the address of a person: the files are public, and nothing is learned
// from it.
func (e *example) refuseAddress() error {
	for _, text := range []string{e.url, e.title, e.anchor} {
		if addresses.MatchString(text) {
			return fmt.Errorf("%s: a mail address or telephone number", e.url)
		}
	}
	return nil
}

// readWritten reads a file of lines "language URL [other types]" under headers "[type]".
func readWritten(dir fs.FS, name string) (all []*example, err error) {
	err = readSections(dir, name, func(header []string, line string) error {
		before, others, _ := strings.Cut(line, " [")
		words := strings.Fields(before)
		if len(words) != 2 {
			return errors.New("not \"language URL [types]\"")
		}
		e := &example{lang: words[0], url: words[1], origin: written}
		if !strings.Contains(e.url, "://") {
			e.url = "https://" + e.url
		}
		all = append(all, e)
		e.label, e.secondary, err = types(strings.Join(header, " "), strings.Fields(strings.Trim(others, "]")))
		return err
	})
	return all, err
}

// readSections calls take with each line of a file and the words of the header "[…]" above it. Empty lines and
// comments are left out.
func readSections(dir fs.FS, name string, take func(header []string, line string) error) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var header []string
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			header = strings.Fields(strings.Trim(line, "[]"))
		default:
			if err := take(header, line); err != nil {
				return fmt.Errorf("%s:%d: %w", path.Base(name), n, err)
			}
		}
	}
	return lines.Err()
}

func types(label string, secondary []string) (lexicon.Role, []lexicon.Role, error) {
	first, ok := lexicon.ParseRole(label)
	if !ok || !first.IsType() {
		return 0, nil, fmt.Errorf("no type %q", label)
	}
	var others []lexicon.Role
	for _, s := range secondary {
		role, ok := lexicon.ParseRole(s)
		if !ok || !role.IsType() {
			return 0, nil, fmt.Errorf("no type %q", s)
		}
		if role != first {
			others = append(others, role)
		}
	}
	return first, others, nil
}

// outline is equal for near-duplicates: the URL in lower case, without scheme and www, with all numbers alike.
func outline(u string) string {
	u = strings.TrimSuffix(strings.ToLower(u), "/")
	if _, after, ok := strings.Cut(u, "://"); ok {
		u = after
	}
	u = strings.TrimPrefix(u, "www.")
	outlined := make([]byte, 0, len(u))
	for i := range len(u) {
		c := u[i]
		if '0' <= c && c <= '9' {
			if n := len(outlined); n > 0 && outlined[n-1] == '0' {
				continue
			}
			c = '0'
		}
		outlined = append(outlined, c)
	}
	return string(outlined)
}
