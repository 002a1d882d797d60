package urltext

// extension returns the offset of the extension in a file name, after the last dot, or the length of the name.
func extension(name []byte) int {
	for i := len(name) - 1; i > 0 && i >= len(name)-9; i-- {
		if name[i] == '.' {
			return i + 1
		}
	}
	return len(name)
}

func extensionClass(ext []byte) (name string, class uint8) {
	if len(ext) == 0 || len(ext) > 8 {
		return "", extNone
	}
	var low [8]byte
	for i, c := range ext {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	e := extensions[string(low[:len(ext)])]
	return e.name, e.class
}

// Extension classes.
const (
	extNone = iota
	extPage
	extScript
	extPDF
	extText
	extSheet
	extArchive
	extData
	extImage
	extSound
	extCalendar
	extSlides
)

// extensions are the endings recognised as file types, with their class; "page-1.6" and "nd.gov" have none. The
// name is stored so that finding it in a URL does not allocate.
var extensions = func() map[string]fileType {
	m := map[string]fileType{}
	for class, list := range map[uint8]string{
		extPage:     "html htm shtml xhtml page amp ece",
		extScript:   "php php3 asp aspx jsp jspx jhtml do action cfm cgi pl nsf cms mvc ashx axd",
		extPDF:      "pdf epub",
		extText:     "doc docx odt rtf txt hwp hwpx",
		extSlides:   "ppt pptx odp pps",
		extSheet:    "xls xlsx xlsm ods csv tsv",
		extArchive:  "zip rar 7z gz tar tgz exe apk dmg iso",
		extData:     "json xml rdf geojson kml kmz shp rss atom css js map woff woff2 ttf",
		extImage:    "jpg jpeg png gif svg webp bmp tif tiff ico",
		extSound:    "mp3 mp4 m4a m4v avi mov wmv flv webm ogg ogv wav wma mpg mpeg m3u8",
		extCalendar: "ics vcf",
	} {
		for e := range wordSet(list) {
			m[e] = fileType{e, class}
		}
	}
	return m
}()

type fileType struct {
	name  string
	class uint8
}

// isDocument reports whether an extension is that of files that are downloaded, not browsed.
func isDocument(class uint8) bool {
	switch class {
	case extPDF, extText, extSlides, extSheet, extArchive:
		return true
	}
	return false
}

// isSheet reports whether an extension is that of data or archives.
func isSheet(class uint8) bool { return class == extSheet || class == extArchive }
