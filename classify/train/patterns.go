package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Patterns describe common site layouts as kinds of host and path with placeholders for words:
// "gov /{policy}/{slug} [news]". Each is expanded into a few URLs with words of the lexicon in all languages, so
// that the model learns what a role means at a place, not single words. Under a header of several types, {type}
// is each of them in turn; "news.gov" is a host with a word for news before its name.

// expander makes URLs from patterns. It has a random generator of its own with a fixed seed: the same files
// always result in the same URLs.
type expander struct {
	state  uint64
	words  map[string][]string // of the lexicon, by role; of hosts, by "host:" and role
	topics []string
	titles [][]string // by language
}

// copies is the number of URLs made from a pattern.
const copies = 3

func readPatterns(dir fs.FS) ([]*example, error) {
	x := &expander{state: 1, words: map[string][]string{}}
	if err := x.readWords(dir); err != nil {
		return nil, err
	}
	files, err := fs.Glob(dir, "train/patterns/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*example
	for _, name := range files {
		err := readSections(dir, name, func(labels []string, line string) error {
			before, others, _ := strings.Cut(line, " [")
			host, pattern, ok := strings.Cut(before, " ")
			if !ok {
				return errors.New("not \"host /path [types]\"")
			}
			for _, label := range labels {
				first, secondary, err := types(label, strings.Fields(strings.Trim(others, "]")))
				if err != nil {
					return err
				}
				own := strings.NewReplacer("{type}", "{"+label+"}", ":type}", ":"+label+"}")
				for range copies {
					url, err := x.expand(host, own.Replace(pattern))
					if err != nil {
						return err
					}
					all = append(all, &example{url: url, label: first, secondary: secondary, origin: fromPattern,
						fold: everyFold})
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readWords reads the words of the lexicon by role, without the sites (their words are names), and
// the neutral words.
func (x *expander) readWords(dir fs.FS) error {
	files, err := fs.Glob(dir, "internal/lexicon/data/*.txt")
	if err != nil {
		return err
	}
	for _, name := range files {
		prefix := ""
		switch path.Base(name) {
		case "sites.txt":
			continue
		case "hosts.txt":
			prefix = "host:"
		}
		lines, err := wordLines(dir, name)
		if err != nil {
			return err
		}
		role := ""
		for _, line := range lines {
			if line[0] == '[' {
				role = strings.Trim(line, "[]+")
				continue
			}
			if strings.HasSuffix(role, "?") {
				continue // words of many meanings are no evidence
			}
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "*") || strings.HasSuffix(word, "*") && prefix == "" {
					continue // stems do not occur as names of pages
				}
				word = strings.Trim(word, "*")
				x.words[prefix+role] = append(x.words[prefix+role], word)
			}
		}
	}
	lines, err := wordLines(dir, "train/words/topics.txt")
	if err != nil {
		return err
	}
	for _, line := range lines {
		x.topics = append(x.topics, strings.Fields(line)...)
	}
	if lines, err = wordLines(dir, "train/words/titles.txt"); err != nil {
		return err
	}
	for _, line := range lines {
		x.titles = append(x.titles, strings.Fields(line))
	}
	return nil
}

func wordLines(dir fs.FS, name string) ([]string, error) {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all, nil
}

// next returns a random number below n (SplitMix64).
func (x *expander) next(n int) int { return int(x.bits() % uint64(n)) }

//go:norace
func (x *expander) bits() uint64 {
	x.state += 0x9E3779B97F4A7C15
	z := x.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (x *expander) pick(from []string) string { return from[x.next(len(from))] }

// expand makes one URL from a pattern.
func (x *expander) expand(host, pattern string) (string, error) {
	var b strings.Builder
	name, err := x.host(host)
	if err != nil {
		return "", err
	}
	b.WriteString("https://" + name)
	for after := pattern; after != ""; {
		i := strings.IndexByte(after, '{')
		if i < 0 {
			b.WriteString(after)
			break
		}
		b.WriteString(after[:i])
		j := strings.IndexByte(after, '}')
		if j < i {
			return "", fmt.Errorf("no end of %q", after[i:])
		}
		word, err := x.place(after[i+1 : j])
		if err != nil {
			return "", err
		}
		b.WriteString(word)
		after = after[j+1:]
	}
	return b.String(), nil
}

var tops = strings.Fields("com org net de fr es it nl jp kr cn co.uk com.br pl ru id vn th")

func (x *expander) host(kind string) (string, error) {
	topic := x.pick(x.topics)
	if topic[0] >= 0x80 || strings.ContainsAny(topic, "éèíçü") {
		topic = "lumen"
	}
	www := x.pick([]string{"www.", "www.", ""})
	if role, after, ok := strings.Cut(kind, "."); ok {
		if len(x.words["host:"+role]) == 0 {
			return "", fmt.Errorf("no words of hosts for %q", role)
		}
		www, kind = strings.ToLower(x.pick(x.words["host:"+role]))+".", after
	}
	if kind == "any" {
		kind = x.pick([]string{"gov", "gov", "org", "com", "edu"})
	}
	switch kind {
	case "gov":
		return www + topic +
			x.pick(
				strings.Fields(
					".gov .gov.uk .go.kr .go.jp .gov.au .gouv.fr .gob.mx .gov.br .gov.cn .gov.vn .go.id .go.th "+
						".gov.tr .gov.pl .gov.in .bund.de .admin.ch")), nil
	case "org":
		return www + topic + x.pick(strings.Fields(".org .org .or.kr .org.uk .eu .int")), nil
	case "edu":
		return www + topic + x.pick(strings.Fields(".edu .edu .ac.uk .ac.kr .ac.jp .edu.cn")), nil
	case "com":
		return www + topic + "." + x.pick(tops), nil
	case "media", "video", "scholar", "law", "stat":
		return www + strings.ToLower(x.pick(x.words["host:"+kind])) + "." + x.pick(tops), nil
	}
	return "", fmt.Errorf("no kind of host %q", kind)
}

// place returns text for one placeholder of a pattern.
func (x *expander) place(what string) (string, error) {
	const hexadecimal = "0123456789abcdef"
	digits := func(format string, from, span int) string { return fmt.Sprintf(format, from+x.next(span)) }
	what, inside, _ := strings.Cut(what, ":")
	switch what {
	case "topic":
		return x.pick(x.topics), nil
	case "slug":
		return x.title(inside)
	case "word": // of any type
		return x.place(lexicon.Role(x.next(int(lexicon.Unknown))).String())
	case "name":
		return x.pick(strings.Fields("maria john anna peter luis elena taro minh")) + "-" +
			x.pick(strings.Fields("smith schmidt garcia rossi novak tanaka nguyen silva")), nil
	case "num":
		return digits("%d", []int{1, 100, 10000, 1000000}[x.next(4)], 90000), nil
	case "year":
		return digits("%d", 2008, 18), nil
	case "month":
		return digits("%02d", 1, 12), nil
	case "day":
		return digits("%02d", 1, 28), nil
	case "date":
		return digits("%d", 2008, 18) + digits("%02d", 1, 12) + digits("%02d", 1, 28), nil
	case "lang":
		return x.pick(strings.Fields("en de fr es it pt nl ja ko zh vi id ru ar")), nil
	case "tracking":
		return "utm_source=" + x.pick(x.topics), nil
	case "key":
		key := make([]byte, 24)
		for i := range key {
			key[i] = hexadecimal[x.next(16)]
		}
		return string(key), nil
	}
	if _, ok := lexicon.ParseRole(what); !ok || len(x.words[what]) == 0 {
		return "", fmt.Errorf("no words for %q", what)
	}
	return strings.ReplaceAll(x.pick(x.words[what]), "_", "-"), nil
}

// title makes a title of four to nine words in one language, one of them of the role, unless that is "".
func (x *expander) title(role string) (string, error) {
	words := x.titles[x.next(len(x.titles))]
	from := x.next(len(words) - 9)
	words = append([]string(nil), words[from:from+4+x.next(6)]...)
	if role != "" {
		word, err := x.place(role)
		if err != nil {
			return "", err
		}
		words[x.next(len(words))] = word
	}
	return strings.Join(words, "-"), nil
}
