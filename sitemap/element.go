package sitemap

import "bytes"

// element is a tag name that means something here.
type element uint8

const (
	none element = iota

	// Roots.
	tagURLSet
	tagIndex
	tagRSS
	tagRDF
	tagFeed
	tagHTML // of a web page

	// Entries.
	tagURL
	tagSitemap
	tagItem
	tagEntry

	// Fields of entries.
	tagLoc
	tagLastmod
	tagChangefreq
	tagPriority
	tagTitle
	tagLink
	tagGUID // RSS guid, Atom id
	tagPubDate
	tagChanged
	tagPublished
	tagDCDate
	tagPublicationDate
	tagName
	tagLanguage

	// Elements with fields of their own, which are not the entry's.
	tagNews
	tagImage
	tagVideo
	tagEmbedded

	// Pictures of feed items.
	tagEnclosure
	tagThumbnail

	elementCount
)

// elements are the names in lower case.
var elements = map[string]element{
	"urlset": tagURLSet, "sitemapindex": tagIndex, "rss": tagRSS, "rdf": tagRDF, "feed": tagFeed,
	"html": tagHTML,
	"url":  tagURL, "sitemap": tagSitemap, "item": tagItem, "entry": tagEntry,
	"loc": tagLoc, "lastmod": tagLastmod, "changefreq": tagChangefreq, "priority": tagPriority,
	"title": tagTitle, "link": tagLink, "guid": tagGUID, "id": tagGUID,
	"pubdate": tagPubDate, "updated": tagChanged, "modified": tagChanged,
	"published": tagPublished, "issued": tagPublished, "created": tagPublished, "date": tagDCDate,
	"publication_date": tagPublicationDate, "name": tagName, "language": tagLanguage,
	"news": tagNews, "image": tagImage, "video": tagVideo,
	"source": tagEmbedded, "content": tagEmbedded, "summary": tagEmbedded, "description": tagEmbedded,
	"encoded":   tagEmbedded,
	"enclosure": tagEnclosure, "thumbnail": tagThumbnail,
	"author": tagEmbedded, "contributor": tagEmbedded, "group": tagEmbedded, "textinput": tagEmbedded,
}

// key is the first eight bytes of a name, the first the lowest: enough to distinguish most names while
// a tag is scanned.
type key uint64

// with adds byte i of the name.
func (k key) with(c byte, i int) key { return k | key(c)<<(8*uint(i)) }

const slotBits = 7

func (k key) slot() uint64 { return uint64(k) * 0x9e3779b97f4a7c15 >> (64 - slotBits) }

// slots is a hash table of the names, with linear probing; it is at most half full.
var slots = func() (t [1 << slotBits]struct {
	key  key
	name string
	e    element
}) {
	for name, e := range elements {
		var k key
		for i := range len(name) {
			k = k.with(name[i], i)
		}
		at := k.slot()
		for t[at].e != none {
			at = (at + 1) % uint64(len(t))
		}
		t[at].key, t[at].name, t[at].e = k, name, e
	}
	return t
}()

// element returns the element of the name whose key k is. A name of less than eight bytes is its
// key, and need not be given.
func (k key) element(name []byte) element {
	for at := k.slot(); slots[at].e != none; at = (at + 1) % uint64(len(slots)) {
		if s := &slots[at]; s.key == k && (len(s.name) < 8 || s.name == string(name)) {
			return s.e
		}
	}
	return none
}

// space is the namespace of a prefix.
type space uint8

const (
	ownNS space = iota // the document's own format
	newsNS
	imageNS
	videoNS
	linkNS // XHTML links and Atom in RSS
	dateNS // Dublin Core
	otherNS
)

// byURI recognises a namespace by its name, in any version and with any scheme.
func byURI(uri []byte) space {
	has := func(s string) bool { return bytes.Contains(uri, []byte(s)) }
	switch {
	case has("sitemap-news"):
		return newsNS
	case has("sitemap-image"):
		return imageNS
	case has("sitemap-video"):
		return videoNS
	case has("1999/xhtml"), has("/Atom"), has("purl.org/atom"):
		return linkNS
	case has("purl.org/dc"):
		return dateNS
	case has("schemas/sitemap/"), has("purl.org/rss"):
		return ownNS
	}
	return otherNS
}

// byPrefix recognises a namespace by its customary prefix; documents forget to declare namespaces, and
// declare wrong ones.
func byPrefix(prefix []byte) space {
	switch string(prefix) {
	case "news":
		return newsNS
	case "image":
		return imageNS
	case "video":
		return videoNS
	case "xhtml", "atom", "atom10", "a10":
		return linkNS
	case "dc", "dcterms":
		return dateNS
	case "sm", "sitemap", "ns", "ns0", "ns1", "rss":
		return ownNS
	}
	return otherNS
}

// namespaces are the prefixes that a document declares.
type namespaces struct {
	prefix [maxNamespaces][]byte
	space  [maxNamespaces]space
	n      int
}

const maxNamespaces = 16

// declare notes a prefix. The name of the namespace decides if it is recognised, else the prefix.
func (s *namespaces) declare(prefix, uri []byte) {
	sp := byURI(uri)
	if sp == otherNS {
		sp = byPrefix(prefix)
	}
	for i := range s.n {
		if bytes.Equal(s.prefix[i], prefix) {
			s.space[i] = sp
			return
		}
	}
	if s.n < maxNamespaces {
		s.prefix[s.n] = append(s.prefix[s.n][:0], prefix...)
		s.space[s.n] = sp
		s.n++
	}
}

func (s *namespaces) of(prefix []byte) space {
	if len(prefix) == 0 {
		return ownNS
	}
	for i := range s.n {
		if bytes.Equal(s.prefix[i], prefix) {
			return s.space[i]
		}
	}
	return byPrefix(prefix)
}
