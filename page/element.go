package page

import (
	"strings"

	"github.com/newsfork/seed-engine/markup"
)

// role is a set of meanings that an element gives to the text inside it. It includes the roles of the enclosing
// elements.
type role uint16

const (
	mainPart    role = 1 << iota // of the page
	article                      // the text itself
	boilerplate                  // menus, headers, footers: alike on every page
	crumbs                       // the breadcrumb
	hidden                       // not read by people
	link
	heading
	firstHeading // h1
	inTime
)

// A form determines how the tags of an element are read.
type form uint8

const (
	inline form = iota
	void        // without content
	block       // begins a line
	item        // a block that the next of its kind ends
	raw         // without tags inside
)

// element describes the elements of one name.
type element struct {
	form form
	role role
}

// elements are the kinds that mean something.
var elements = map[string]element{
	"main": {block, mainPart}, "article": {block, mainPart},
	"nav": {block, boilerplate}, "header": {block, boilerplate}, "footer": {block, boilerplate},
	"aside": {block, boilerplate}, "menu": {block, boilerplate}, "dialog": {block, boilerplate | hidden},
	"h1": {block, heading | firstHeading}, "h2": {block, heading}, "h3": {block, heading}, "h4": {block, heading},
	"h5": {form: block}, "h6": {form: block},
	"div": {form: block}, "section": {form: block}, "ul": {form: block}, "ol": {form: block}, "dl": {form: block},
	"table": {form: block}, "tbody": {form: block}, "thead": {form: block}, "form": {form: block},
	"fieldset": {form: block}, "blockquote": {form: block}, "pre": {form: block}, "figure": {form: block},
	"figcaption": {form: block}, "address": {form: block}, "details": {form: block}, "summary": {form: block},
	"center": {form: block}, "hgroup": {form: block},
	"p": {form: item}, "li": {form: item}, "dt": {form: item}, "dd": {form: item}, "tr": {form: item},
	"td": {form: item}, "th": {form: item}, "option": {item, hidden},
	"a": {role: link}, "time": {role: inTime}, "noscript": {role: hidden}, "select": {role: hidden},
	"button": {role: hidden}, "svg": {role: hidden}, "object": {role: hidden}, "canvas": {role: hidden},
	"audio": {role: hidden}, "video": {role: hidden}, "map": {role: hidden}, "datalist": {role: hidden},
	"math": {role: hidden},
	"area": {form: void}, "base": {form: void}, "br": {form: void}, "col": {form: void}, "embed": {form: void},
	"hr": {form: void}, "img": {form: void}, "input": {form: void}, "link": {form: void}, "meta": {form: void},
	"param": {form: void}, "source": {form: void}, "track": {form: void}, "wbr": {form: void},
	"script": {form: raw}, "style": {form: raw}, "template": {form: raw}, "iframe": {form: raw},
	"textarea": {form: raw}, "title": {form: raw}, "xmp": {form: raw}, "noembed": {form: raw},
	"noframes": {form: raw},
}

// longestElement is the length of the longest name in elements.
const longestElement = 10

// elementOf returns what is known of an element, and its name in lower case; "" for one of which nothing is known.
func elementOf(t *markup.Tag) (name string, e element) {
	if len(t.Name) > longestElement {
		return "", e
	}
	var lower [longestElement]byte
	b := markup.AppendLower(lower[:0], t.Name)
	e, ok := elements[string(b)]
	if !ok {
		return "", e
	}
	return string(b), e
}

// attributes are those of a tag that say what it is for, as written.
type attributes struct {
	id, class, role, itemprop, label, style []byte
	hidden                                  bool
}

// attributesOf reads those of a tag.
func attributesOf(t *markup.Tag) (a attributes) {
	for list := t.Attributes(); len(list) > 0; {
		name, value := list.Next()
		switch {
		case markup.EqualFold(name, "class"):
			a.class = value
		case markup.EqualFold(name, "id"):
			a.id = value
		case markup.EqualFold(name, "role"):
			a.role = value
		case markup.EqualFold(name, "itemprop"):
			a.itemprop = value
		case markup.EqualFold(name, "aria-label"):
			a.label = value
		case markup.EqualFold(name, "style"):
			a.style = value
		case markup.EqualFold(name, "hidden"):
			a.hidden = true
		case name == nil:
			return a
		}
	}
	return a
}

// roles returns the roles that the attributes give to an element, and whether they name a paywall.
func (a *attributes) roles() (r role, paywall bool) {
	switch string(a.role) {
	case "main":
		r |= mainPart
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar":
		r |= boilerplate
	}
	if a.hidden || hides(a.style) {
		r |= hidden
	}
	if string(a.itemprop) == "articleBody" {
		r |= mainPart | article
	}
	named := func(word string) {
		r |= namedRoles[word]
		paywall = paywall || paywallNames[word]
	}
	eachName(a.id, named)
	eachName(a.class, named)
	eachName(a.label, func(word string) { r |= namedRoles[word] & crumbs })
	return r, paywall
}

// hides reports whether a style hides an element.
func hides(style []byte) bool {
	const maxStyle = 200
	s := strings.ToLower(string(style[:min(len(style), maxStyle)]))
	i := strings.Index(s, "display:")
	return i >= 0 && strings.HasPrefix(strings.TrimLeft(s[i+len("display:"):], " "), "none")
}

// Limits on the class and id names that are read.
const (
	maxNames      = 300 // bytes of an attribute
	longestName   = 24
	shortestWhole = 3
)

// eachName calls fn with each name in an attribute, in lower case without its hyphens and underscores.
func eachName(value []byte, fn func(string)) {
	var name [longestName]byte
	n := 0
	end := func() {
		if n >= shortestWhole && n <= longestName {
			fn(string(name[:n]))
		}
		n = 0
	}
	for _, c := range value[:min(len(value), maxNames)] {
		switch {
		case c <= ' ':
			end()
		case c == '-', c == '_', c == ':':
		default:
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			if n < longestName {
				name[n] = c
			}
			n++
		}
	}
	end()
}

// namedRoles are the roles of elements by the names that sites give them.
var namedRoles = func() map[string]role {
	roles := map[string]role{}
	for r, names := range map[role]string{
		crumbs: "breadcrumb breadcrumbs breadcrumbscontainer breadcrumbcontainer breadcrumbwrapper breadcrumblist" +
			" breadcrumbnav breadcrumbnavigation breadcrumbwrap sitebreadcrumbs pagebreadcrumb crumb crumbs" +
			" crumbtrail breadcrumbtrail pathway yoastbreadcrumbs" +
			" filariane ariane topicpath pankuzu brotkrumen brotkrumennavigation brotkrume krumelpfad migasdepan" +
			" rutadenavegacion kruimelpad kruimelpadnavigatie okruszki locationbar pagelocation contlocation" +
			" navipath subpath pagepath rootline youarehere",
		boilerplate: "nav navbar navigation navigationmain mainnav mainnavigation sitenav topnav menu " +
			"mainmenu topmenu" +
			" submenu sidemenu gnb lnb snb header siteheader pageheader masthead topbar footer sitefooter pagefooter" +
			" colophon sidebar leftsidebar rightsidebar sidenav toc cookie cookies cookiebanner " +
			"cookieconsent cookienotice" +
			" consent gdpr newsletter subscribe share sharing sharebuttons social socialshare sns skip skiplink" +
			" skiplinks skipnav skipnavigation comments comment commentlist respond related relatedposts " +
			"relatedarticles" +
			" recommended popular trending advertisement advert ads banner banners popup modal search searchform" +
			" searchbox pagination pager paging languageswitcher langswitch copyright tagcloud widgetarea",
		hidden: "visuallyhidden screenreadertext sronly sronly blind offscreen hide noprint",
		mainPart: "main maincontent content contents contentmain mainbody articlecontent primarycontent pagecontent" +
			" contentarea contentarticle sitecontent contenido inhalt contenu",
		mainPart | article: "article articlebody entrycontent postcontent postbody storybody storycontent articletext" +
			" newsbody newstext newscontent articlebodycontent articleviewcontent viewcontent boardview bbsview" +
			" articlecontents contentbody textbody fieldnamebody artikel artikeltext pressrelease",
	} {
		for _, name := range strings.Fields(names) {
			roles[name] |= r
		}
	}
	return roles
}()

// paywallNames are names of elements that stand for the rest of a text.
var paywallNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields("paywall paywalled paywallcontainer paywallbox paywalloverlay paywallwrapper" +
		" articlepaywall regwall subscriptionwall subscriberonly subscribersonly subscribeonly premiumwall" +
		" contentpaywall paywallcontent paywallactive metercontainer piano pianopaywall tppaywall tpcontainerinner" +
		" memberonly membersonly regiwall offerpaywall paywallmessage") {
		names[name] = true
	}
	return names
}()
