package pagetext

import (
	_ "embed"
	"strings"
	"sync"
)

// concepts is the number of things that biographies of office-holders tell, in whatever language: office, group,
// constituency, birth, career, family.
const concepts = 6

//go:embed biography.txt
var biographyText string

// BiographyWords returns the words for each concept. A word counts only beside others, so many that occur elsewhere too
// are among them.
func BiographyWords() (all [concepts][]string) {
	i := -1
	for line := range strings.Lines(biographyText) {
		switch line[0] {
		case '#':
		case '[':
			i++
		default:
			all[i] = append(all[i], strings.Fields(line)...)
		}
	}
	return all
}

// biography maps words, folded, to their concepts, a bit each.
var biography = sync.OnceValue(func() map[string]byte {
	all := make(map[string]byte, 1500)
	var w wordReader
	for i, words := range BiographyWords() {
		for _, text := range words {
			w.read(text, func(word []byte) { all[string(word)] |= 1 << i })
		}
	}
	return all
})
