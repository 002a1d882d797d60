package discovery

import "slices"

// Hint is the change frequency and priority of a URL in a sitemap
// (https://www.sitemaps.org/protocol.html#xmlTagDefinitions); the zero Hint is that of a URL in no sitemap. It is a
// pair of ranks; where two sitemaps disagree, the higher rank of each counts.
type Hint uint8

// changefreqs are the words of the protocol, by rank.
var changefreqs = [...]string{"", "never", "yearly", "monthly", "weekly", "daily", "hourly", "always"}

// usualPriority is the protocol's default for a URL without a priority.
const usualPriority = 0.5

// SitemapHint returns the hint for the values of a sitemap; changefreq is "", and priority negative, where it has
// none.
func SitemapHint(changefreq string, priority float32) Hint {
	if priority < 0 {
		priority = usualPriority
	}
	tenths := int(min(priority, 1)*10 + 0.5)
	return Hint(max(slices.Index(changefreqs[:], changefreq), 0)<<4 | tenths + 1)
}

// or merges the hints of two sitemaps.
func (h Hint) or(o Hint) Hint { return max(h&0xf0, o&0xf0) | max(h&0x0f, o&0x0f) }

// valid reports whether SitemapHint can have made the hint.
func (h Hint) valid() bool { return int(h>>4) < len(changefreqs) && h&0x0f <= 11 }

func (h Hint) changefreq() string { return changefreqs[h>>4] }

// priority is from 0 to 1; ok is false when no sitemap lists the URL.
func (h Hint) priority() (p float64, ok bool) {
	if h&0x0f == 0 {
		return 0, false
	}
	return float64(h&0x0f-1) / 10, true
}

// frequency is the frequency for a page with too few dates, "" where the sitemap has none.
func (h Hint) frequency() Frequency {
	switch h.changefreq() {
	case "always", "hourly":
		return RealTime
	case "daily":
		return Daily
	case "weekly":
		return Weekly
	case "monthly":
		return Monthly
	case "yearly":
		return Yearly
	case "never":
		return Static
	}
	return ""
}
