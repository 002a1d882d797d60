// Package urlword knows the segments of URLs that say nothing about the content of a page: codes of languages and
// countries, words before a page's number, and years. Patterns of a site (discovery) and the types of pages (classify)
// depend on the same words.
package urlword

import "strings"

// languages are codes of two or three letters as sites use them, which includes those of countries for their
// languages.
var languages = set(
	"en ko kr ja jp zh cn tw hk tc sc de fr es pt it nl id ms vi vn th ar ru uk ua pl cs cz sk tr sv se da dk no nb " +
		"nn " +
		"fi el gr hu ro bg hr sr sl et lv lt he fa hi bn ur ca eu gl cy ga mt is sq mk ka hy az kk uz " +
		"eng kor jpn chi chn chs cht fra fre deu ger spa ita rus por")

// scripts are the variants of a language that are not the code of a country.
var scripts = set("hans hant latn cyrl arab 419")

// names are languages that are written out.
var names = set("english korean zhhans zhhant")

// editions are codes of a site's editions for a country or the world.
var editions = set("us gb br mx gp int")

// pages are the words before a page's number.
var pages = set("page seite pagina pag p strona stranka sida side trang")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// longest is the length of the longest word here.
const longest = len("stranka")

// IsLanguage reports whether a segment, in any case, is the language of the pages below it, such as "ko", "en-GB" or
// "zh_Hans".
func IsLanguage(segment string) bool {
	var buffer [longest]byte
	code, ok := lower(&buffer, segment)
	switch {
	case !ok || len(code) < 2:
		return false
	case len(code) <= 3:
		return languages[string(code)]
	case len(code) >= 5 && (code[2] == '-' || code[2] == '_'):
		variant := code[3:]
		return languages[string(code[:2])] && (len(variant) == 2 && isLetter(variant[0]) && isLetter(variant[1]) ||
			scripts[string(variant)])
	}
	return names[string(code)]
}

// IsEdition reports whether a segment, in any case, stands for an edition of the site, such as "us" or "int". Many
// sites have sections with these names.
func IsEdition(segment string) bool {
	var buffer [longest]byte
	code, ok := lower(&buffer, segment)
	return ok && editions[string(code)]
}

// IsPage reports whether a segment, in any case, stands before the number of a page, as in /news/page/2.
func IsPage[S string | []byte](segment S) bool {
	var buffer [longest]byte
	word, ok := lower(&buffer, segment)
	return ok && pages[string(word)]
}

// lower returns a segment in lower case in buffer; ok is false for one that is too long.
func lower[S string | []byte](buffer *[longest]byte, segment S) (low []byte, ok bool) {
	if len(segment) > longest {
		return nil, false
	}
	for i := range len(segment) {
		c := segment[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buffer[i] = c
	}
	return buffer[:len(segment)], true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
