// Package lexicon maps words in URLs to meanings: some 20,000 words in about 50 languages, each with the kind of
// content that it indicates. It finds such words in a segment of a path or a label of a host. The words are in
// data/, one file for each group of languages.
package lexicon

// Role is the meaning of a word: one of the 23 content types, or a property of the page that helps to distinguish
// them.
type Role uint8

// The content types come first, in the order of the discovery document; the order is that of the
// model's classes and must not change without retraining.
const (
	News Role = iota
	PressRelease
	FAQ
	Policy
	Guide
	Announcement
	Legislation
	Regulation
	Statistics
	Report
	Publication
	Event
	Service
	Contact
	About
	Archive
	Search
	Multimedia
	Download
	Form
	Calendar
	Directory
	Unknown

	// Types is the number of content types.
	Types = int(Unknown) + 1
)

// The other roles.
const (
	Section  = Unknown + 1 + iota // a section of a newspaper: sports, economy
	Tag                           // pages that collect others: tag, author, topic
	Legal                         // the small print: privacy, imprint, cookies
	Home                          // index, home, default page
	Account                       // login, profile, cart
	Feed                          // machine readable: rss, api
	Article                       // one item is shown: article, view, detail
	List                          // items are listed: list, board, overview
	Docs                          // where files are stored: documents, uploads
	Month                         // the name of a month
	Topic                         // theme, project, campaign
	Covid                         // the pandemic, whose pages are data and guidance
	Gov                           // ministry, city, parliament
	Life                          // for residents, families
	Question                      // how, what, can
	Org                           // institute, university, association
	Media                         // host of a news medium
	GovHost                       // host of a public body
	Video                         // host of a video, audio or photo platform
	Scholar                       // host of a library, journal or repository
	Law                           // host of a legal database
	Stat                          // host of a statistical office or data portal

	// Roles is the number of roles.
	Roles = int(Stat) + 1
)

var roleNames = [Roles]string{
	"news", "press_release", "faq", "policy", "guide", "announcement", "legislation", "regulation",
	"statistics", "report", "publication", "event", "service", "contact", "about", "archive", "search",
	"multimedia", "download", "form", "calendar", "directory", "unknown",
	"section", "tag", "legal", "home", "account", "feed", "article", "list", "docs", "month", "topic",
	"covid", "gov", "life", "question", "org", "media", "govhost", "video", "scholar", "law", "stat",
}

// String returns the name of the role in the data files and, for types, in the contract.
func (r Role) String() string {
	if int(r) < Roles {
		return roleNames[r]
	}
	return "invalid"
}

// IsType reports whether the role is one of the content types.
func (r Role) IsType() bool { return r <= Unknown }

// ParseRole finds a role by its name.
func ParseRole(name string) (Role, bool) {
	for i, n := range roleNames {
		if n == name {
			return Role(i), true
		}
	}
	return 0, false
}

// Strength is the reliability with which a word indicates its role.
type Strength uint8

// The strengths, weakest first, with the mark of the data files' section headers.
const (
	Weak   Strength = iota // "?": many other meanings
	Normal                 // ""
	Strong                 // "+": hardly any other meaning
)
