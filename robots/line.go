package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// kind is the kind of a line.
type kind uint8

const (
	unknown kind = iota
	userAgent
	allow
	disallow
	sitemap
	crawlDelay
	contentSignal
)

// keys are the names that lines start with. As in Google's parser a name counts when the key
// begins with it ("Disallowed: /x"), and its frequent misspellings count too.
var keys = [...]struct {
	name string
	kind kind
}{
	{"user-agent", userAgent}, {"useragent", userAgent}, {"user agent", userAgent},
	{"allow", allow},
	{"disallow", disallow}, {"dissallow", disallow}, {"dissalow", disallow},
	{"disalow", disallow}, {"diasllow", disallow}, {"disallaw", disallow},
	{"sitemap", sitemap}, {"site-map", sitemap},
	{"crawl-delay", crawlDelay}, {"crawldelay", crawlDelay}, {"crawl delay", crawlDelay},
	{"content-signal", contentSignal},
}

func kindOf(key string) kind {
	if key != "" {
		for i := range keys {
			k := &keys[i]
			if k.name[0] == key[0]|0x20 && hasPrefixFold(key, k.name) {
				return k.kind
			}
		}
	}
	return unknown
}

// parseLine splits a line into what it says and its value, without comment.
func parseLine(line string) (kind, string) {
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	line = trim(line)
	colon := strings.IndexByte(line, ':')
	key := line
	if colon >= 0 {
		key = line[:colon]
	}
	if blank := strings.IndexAny(key, " \t"); blank > 0 {
		// The colon may have been forgotten.
		k, value := kindOf(line[:blank]), trim(line[blank:])
		switch {
		case colon < 0 && strings.ContainsAny(value, " \t"):
			return unknown, "" // prose; that two words are a line is Google's rule
		case colon < 0,
			(k == allow || k == disallow) && (value[0] == '/' || value[0] == '*'), // Disallow /x:y
			k == sitemap && isAbsolute(value):                                     // Sitemap https://…
			return k, value
		}
	}
	if colon < 0 {
		return unknown, ""
	}
	k := kindOf(key)
	if k == unknown {
		return unknown, ""
	}
	return k, trim(line[colon+1:])
}

// trim removes spaces and tabs at both ends, and nothing else: to RFC 9309 (section 2.2) form feeds,
// no-break spaces or a byte order mark within the file are text.
func trim(s string) string { return strings.Trim(s, " \t") }

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// ProductToken takes the name that picks the robots.txt group out of a User-Agent header:
// "NewsforkBot" of "NewsforkBot/1.0 (+https://newsfork.com/bot)", and of the form that browsers
// made customary, "Mozilla/5.0 (compatible; NewsforkBot/1.0)".
func ProductToken(userAgent string) string {
	name := leading(trim(userAgent), isTokenByte)
	if strings.EqualFold(name, "Mozilla") {
		if _, bot, ok := strings.Cut(userAgent, "compatible;"); ok {
			if bot = leading(trim(bot), isTokenByte); bot != "" {
				return bot
			}
		}
	}
	return name
}

// isGlobal: the User-agent value speaks to every crawler. Google accepts text after "* ".
func isGlobal(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || value[1] == ' ' || value[1] == '\t')
}

// names: the User-agent value names the crawler with this product token. A token consists of
// letters, "-" and "_" (RFC 9309 section 2.2.1) and what follows it on the line, such as a version,
// is ignored; names with digits or dots in them (MJ12bot) are no tokens but in use.
func names(value, token string) bool {
	return token != "" &&
		(strings.EqualFold(leading(value, isLetterByte), token) ||
			strings.EqualFold(leading(value, isTokenByte), token))
}

func isLetterByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '_'
}

func isTokenByte(c byte) bool { return isLetterByte(c) || '0' <= c && c <= '9' || c == '.' }

// leading is the longest start of s with only such bytes.
func leading(s string, is func(byte) bool) string {
	for i := range len(s) {
		if !is(s[i]) {
			return s[:i]
		}
	}
	return s
}

// parseDelay reads a Crawl-delay value: seconds, with a decimal point or comma, and perhaps their
// name behind. Anything else is no delay.
func parseDelay(value string) (time.Duration, bool) {
	number := leading(value, func(c byte) bool { return '0' <= c && c <= '9' || c == '.' || c == ',' })
	switch strings.ToLower(trim(value[len(number):])) {
	case "", "s", "sec", "secs", "second", "seconds":
	default:
		return 0, false
	}
	seconds, err := strconv.ParseFloat(strings.Replace(number, ",", ".", 1), 64)
	if err != nil || seconds >= math.MaxInt64/float64(time.Second) { // more than fits a Duration
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// parseSignals reads a Content-Signal value (contentsignals.org), such as
// "search=yes, ai-train=no", into signals. Where a group says both, no stands: a reservation of
// rights is not lifted by a second line.
func parseSignals(value string, signals map[string]string) {
	for {
		left, right, ok := strings.Cut(value, "=")
		if !ok {
			return
		}
		left, right = trim(left), trim(right)
		start := len(left)
		for start > 0 && isTokenByte(left[start-1]) {
			start--
		}
		name, answer := strings.ToLower(left[start:]), leading(right, isTokenByte)
		value = right[len(answer):]
		switch answer = strings.ToLower(answer); {
		case name == "":
		case answer == "no", answer == "yes" && signals[name] == "":
			signals[name] = answer
		}
	}
}
