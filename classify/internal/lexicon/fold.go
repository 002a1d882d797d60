package lexicon

import "unicode/utf8"

// Fold maps a rune to the form in which words are compared: lower case, Latin letters without marks, full-width
// forms narrow. Letters that are also written as two (ß, æ) result in a and b; for others b is 0. a is -1 for a
// mark that is dropped.
func Fold(r rune) (a, b rune) {
	switch {
	case r < 0x80:
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A', 0
		}
		return r, 0
	case r < 0x250:
		return foldLatin(r)
	case r >= 0x300 && r < 0x370: // combining marks
		return -1, 0
	case r >= 0x370 && r < 0x400:
		return foldGreek(r), 0
	case r >= 0x400 && r < 0x530:
		return foldCyrillic(r), 0
	case r >= 0x600 && r < 0x700:
		return foldArabic(r), 0
	case r >= 0x1E00 && r < 0x1F00: // Vietnamese and other Latin with two marks
		if b := latinAdditional[r-0x1E00]; b != ' ' {
			return rune(b), 0
		}
		return r, 0
	case r >= 0x1F00 && r < 0x2000:
		return foldGreekExtended(r), 0
	case r >= 0xFF01 && r <= 0xFF5E:
		return Fold(r - 0xFEE0)
	}
	return r, 0
}

// asciiWord maps ASCII to folded letters and digits, 0 for what is not part of a word.
var asciiWord = func() (t [128]byte) {
	for c := range t {
		if a, _ := Fold(rune(c)); IsWord(a) {
			t[c] = byte(a)
		}
	}
	return t
}()

// FoldASCII folds a byte below 0x80. It returns 0 for one that is not part of a word.
func FoldASCII(c byte) byte { return asciiWord[c&0x7F] }

// latin1 and latinExtended list the base letters of U+00C0–U+024F, ' ' for signs without one.
const latin1 = "aaaaaaaceeeeiiiidnooooo ouuuuytsaaaaaaaceeeeiiiidnooooo ouuuuyty"

const latinExtended = "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrssss" +
	"ssssttttttuuuuuuuu" +
	"uuuuwwyyyzzzzzzs b            ee ff    i        oo             uu    zz                      aaiioouuuuuuuuuueaa" +
	"aaaaggggkkoooo  j   gg  nnaaaaooaaaaeeeeiiiioooorrrruuuusstt  hh      aaeeooooooooyy                            "

// latinAdditional lists the base letters of U+1E00–U+1EFF.
const latinAdditional = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrr" +
	"rrrrssssssssssttttttttuuuuuuuuuuvvvv" +
	"wwwwwwwwwwxxxxyyzzzzzzhtwy s  s " +
	"aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy      "

func foldLatin(r rune) (a, b rune) {
	switch {
	case r == 'ß':
		return 's', 's'
	case r == 'æ' || r == 'Æ':
		return 'a', 'e'
	case r == 'œ' || r == 'Œ':
		return 'o', 'e'
	case r >= 0xC0 && r < 0x100:
		if c := latin1[r-0xC0]; c != ' ' {
			return rune(c), 0
		}
	case r >= 0x100 && int(r-0x100) < len(latinExtended):
		if c := latinExtended[r-0x100]; c != ' ' {
			return rune(c), 0
		}
	}
	return r, 0
}

func foldGreek(r rune) rune {
	switch r {
	case 'Ά', 'ά':
		return 'α'
	case 'Έ', 'έ':
		return 'ε'
	case 'Ή', 'ή':
		return 'η'
	case 'Ί', 'ί', 'ϊ', 'ΐ', 'Ϊ':
		return 'ι'
	case 'Ό', 'ό':
		return 'ο'
	case 'Ύ', 'ύ', 'ϋ', 'ΰ', 'Ϋ':
		return 'υ'
	case 'Ώ', 'ώ':
		return 'ω'
	case 'ς':
		return 'σ'
	}
	if r >= 0x391 && r <= 0x3A9 {
		return r + 0x20
	}
	return r
}

// foldGreekExtended maps the accented vowels that NFC leaves in the extended block.
func foldGreekExtended(r rune) rune {
	switch {
	case r == 0x1F71 || r < 0x1F10:
		return 'α'
	case r == 0x1F73 || r < 0x1F20:
		return 'ε'
	case r == 0x1F75 || r < 0x1F30:
		return 'η'
	case r == 0x1F77 || r < 0x1F40:
		return 'ι'
	case r == 0x1F79 || r < 0x1F50:
		return 'ο'
	case r == 0x1F7B || r < 0x1F60:
		return 'υ'
	case r == 0x1F7D || r < 0x1F70:
		return 'ω'
	}
	return r
}

func foldCyrillic(r rune) rune {
	switch {
	case r == 'Ё' || r == 'ё':
		return 'е'
	case r >= 0x400 && r < 0x410:
		return r + 0x50
	case r >= 0x410 && r < 0x430:
		return r + 0x20
	case r >= 0x460 && r < 0x530 && r&1 == 0 && r != 0x4C0:
		return r + 1
	}
	return r
}

// foldArabic equates spellings that are used interchangeably: alef with and without hamza, final yeh and teh
// marbuta, the Persian yeh and kaf; vowel signs and tatweel are dropped.
func foldArabic(r rune) rune {
	switch r {
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى', 'ی':
		return 'ي'
	case 'ة':
		return 'ه'
	case 'ک':
		return 'ك'
	case 0x640:
		return -1
	}
	if r >= 0x64B && r <= 0x65F {
		return -1
	}
	return r
}

// IsWord reports whether a folded rune belongs to words: letters, marks of scripts that need them, and digits.
func IsWord(r rune) bool {
	switch {
	case r < 0x80:
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	case r < 0xC0:
		return false
	case r == 0xD7 || r == 0xF7 || r == utf8.RuneError:
		return false
	case r >= 0x2000 && r < 0x2C00: // punctuation, symbols
		return false
	case r >= 0x3000 && r < 0x3005 || r >= 0x3008 && r < 0x3021 || r == 0x30FB:
		return false
	case r >= 0xFF00 && r < 0xFF66 || r >= 0xE000 && r < 0xF900 || r >= 0xFE00 && r < 0xFE70:
		return false
	case r == '،' || r == '؛' || r == '؟' || r == '٪':
		return false
	}
	return true
}

// Unspaced reports whether a rune belongs to a script that is written without spaces, so that words
// may begin anywhere: Han, kana, hangul, Thai, Lao, Khmer, Burmese.
func Unspaced(r rune) bool {
	switch {
	case r < 0xE00:
		return false
	case r < 0x1100:
		return r < 0xF00 || r >= 0x1000 && r < 0x10A0
	case r < 0x1200:
		return true
	case r < 0x2E80:
		return r >= 0x1780 && r < 0x1800
	case r < 0xA000:
		return true
	}
	return r >= 0xAC00 && r < 0xD7B0 || r >= 0xF900 && r < 0xFB00 || r >= 0xFF66 && r < 0xFFA0 ||
		r >= 0x20000 && r < 0x32000
}
