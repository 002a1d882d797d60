package discovery

import (
	"fmt"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/contract"
)

// Part is a summand of a priority, in words.
type Part struct {
	Points float64
	Why    string
}

// Parts returns the summands of the priority of a URL but for that of its date, see [Dated]: those of its type, host,
// form and method, with m as the least method. ok is false if the URL was excluded or is not recorded.
func (a *Analyser) Parts(url string, m Method) (parts []Part, date time.Time, ok bool) {
	r := a.seen.find(keyOf(url))
	if r == nil || r.rank == 0 {
		return nil, date, false
	}
	p := parsePage(url)
	rank := max(r.rank, rankOf(m))
	c := a.assess(&p, rank, r.lastmod)
	v := a.scorer.value(&p, c.class, r.lastmod)
	q := quality(&p)
	if at := a.scorer.dated(&p, r.lastmod); at > 0 {
		date = time.Unix(int64(at), 0)
	}
	return []Part{
		{relevanceWeight * v.Relevance, strings.ReplaceAll(string(c.class.Type()), "_", " ")},
		{valueWeight * authorityShare * v.Authority, hostWord(p.host)},
		{valueWeight * accessibilityShare * v.Accessibility, count(p.depth, "segment") + " deep"},
		{confidenceWeight * c.confidence, fmt.Sprintf("sure of its type by %.2f", c.confidence)},
		{qualityWeight * q, fmt.Sprintf("readable URL by %.1f", q)},
		{methodWeight * methodScore(methods[rank]), methodWords[methods[rank]]},
	}, date, true
}

// Dated returns the summand of a date, or of none, at now.
func Dated(date, now time.Time) Part {
	const timelinessWeight = valueWeight * timelinessShare
	if date.IsZero() {
		return Part{timelinessWeight * contract.Undated, "undated"}
	}
	return Part{timelinessWeight * contract.Timeliness(now.Sub(date)), "dated " + date.UTC().Format(time.DateOnly)}
}

// Sum writes summands in words, and the rest that is missing of a priority as others.
func Sum(parts []Part, priority float64, others string) string {
	rest := priority
	text := make([]string, 0, len(parts)+1)
	for _, p := range parts {
		rest -= p.Points
		text = append(text, fmt.Sprintf("%.3f %s", p.Points, p.Why))
	}
	sum := strings.Join(text, " + ")
	switch sign := "+"; {
	case rest < -leastRest:
		sign = "-"
		rest = -rest
		fallthrough
	case rest > leastRest:
		sum += fmt.Sprintf(" %s %.3f %s", sign, rest, others)
	}
	return sum
}

// leastRest is more than what the news value and the priority are rounded by.
const leastRest = 0.003

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func hostWord(host string) string {
	switch hosts.SectorOf(host) {
	case hosts.Government:
		return "government host"
	case hosts.Education:
		return "education host"
	case hosts.Organisation:
		return "host of an organisation"
	}
	return "host of no sector"
}

var methodWords = map[Method]string{FromFeed: "in a feed", FromNewsSitemap: "in a news sitemap",
	FromResearch: "named by Research", FromSitemap: "in a sitemap", FromLink: "linked",
	Generated: "made from a pattern"}
