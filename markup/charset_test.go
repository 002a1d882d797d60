package markup

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

func TestDecode(t *testing.T) {
	titles := map[string]string{
		"ru": "Выборы в субботу пройдут по всей стране",
		"ko": "정부, 새로운 경제 정책 발표… 시민들 기대",
		"ja": "政府は新しい経済政策を発表しました、市民の期待",
		"zh": "政府宣布新的经济政策，市民充满期待",
		"tw": "行政院宣布新的經濟政策，市民充滿期待",
		"fr": "L’été à Besançon : « œuvre » inaugurée",
		"pl": "Zażółć gęślą jaźń",
		"el": "Η κυβέρνηση ανακοίνωσε",
		"tr": "Şehirde yağmur bekleniyor",
	}
	utf16 := func(e unicode.Endianness, p unicode.BOMPolicy) encoding.Encoding { return unicode.UTF16(e, p) }
	const none = ""
	for _, c := range []struct {
		name     string
		enc      encoding.Encoding
		declared string // in the XML declaration
		header   string // in the Content-Type
		lang     string
		charset  string
	}{
		{"UTF-8", encoding.Nop, "UTF-8", none, "ko", "utf-8"},
		{"UTF-8, undeclared", encoding.Nop, none, none, "ja", "utf-8"},
		{"UTF-8, declared Latin-1", encoding.Nop, "ISO-8859-1", none, "fr", "utf-8"},
		{"UTF-8, declared EUC-KR", encoding.Nop, "euc-kr", none, "ko", "utf-8"},
		{"UTF-8, declared UTF-16", encoding.Nop, "utf-16", none, "ru", "utf-8"},
		{"UTF-8, header Latin-1", encoding.Nop, "utf-8", "text/xml; charset=ISO-8859-1", "fr", "utf-8"},
		{"UTF-8, unknown label", encoding.Nop, "x-none", none, "zh", "utf-8"},
		{"UTF-8 with BOM, declared 1251", unicode.UTF8BOM, "windows-1251", none, "ru", "utf-8"},
		{"UTF-16LE with BOM", utf16(unicode.LittleEndian, unicode.UseBOM), "UTF-16", none, "ko", "utf-16le"},
		{"UTF-16BE with BOM", utf16(unicode.BigEndian, unicode.UseBOM), "UTF-8", none, "ko", "utf-16be"},
		{"UTF-16LE", utf16(unicode.LittleEndian, unicode.IgnoreBOM), none, none, "ja", "utf-16le"},
		{"UTF-16BE", utf16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16", none, "ru", "utf-16be"},
		{"windows-1251", charmap.Windows1251, "windows-1251", none, "ru", "windows-1251"},
		{"windows-1251, header", charmap.Windows1251, none, `text/xml; charset="Windows-1251"; x=y`, "ru",
			"windows-1251"},
		{"windows-1251, guessed", charmap.Windows1251, none, none, "ru", "windows-1251"},
		{"windows-1251, declared UTF-8, header right", charmap.Windows1251, "UTF-8", "text/xml;charset=windows-1251",
			"ru",
			"windows-1251"},
		{"KOI8-R", charmap.KOI8R, "koi8-r", none, "ru", "koi8-r"},
		{"ISO-8859-5", charmap.ISO8859_5, "ISO-8859-5", none, "ru", "iso-8859-5"},
		{"windows-1252", charmap.Windows1252, "windows-1252", none, "fr", "windows-1252"},
		{"Latin-1 is windows-1252", charmap.Windows1252, "ISO-8859-1", none, "fr", "windows-1252"},
		{"windows-1252, undeclared, left to repair", charmap.Windows1252, none, none, "fr", "utf-8"},
		{"windows-1250", charmap.Windows1250, "windows-1250", none, "pl", "windows-1250"},
		{"ISO-8859-2", charmap.ISO8859_2, "iso-8859-2", none, "pl", "iso-8859-2"},
		{"windows-1253", charmap.Windows1253, "windows-1253", none, "el", "windows-1253"},
		{"ISO-8859-9", charmap.ISO8859_9, "ISO-8859-9", none, "tr", "windows-1254"},
		{"EUC-KR", korean.EUCKR, "EUC-KR", none, "ko", "euc-kr"},
		{"EUC-KR, odd label", korean.EUCKR, "ks_c_5601-1987", none, "ko", "euc-kr"},
		{"EUC-KR, guessed", korean.EUCKR, none, none, "ko", "euc-kr"},
		{"EUC-KR, declared UTF-8", korean.EUCKR, "utf-8", none, "ko", "euc-kr"},
		{"Shift_JIS", japanese.ShiftJIS, "Shift_JIS", none, "ja", "shift_jis"},
		{"Shift_JIS, guessed", japanese.ShiftJIS, none, none, "ja", "shift_jis"},
		{"EUC-JP", japanese.EUCJP, "euc-jp", none, "ja", "euc-jp"},
		{"EUC-JP, guessed", japanese.EUCJP, none, none, "ja", "euc-jp"},
		{"GBK", simplifiedchinese.GBK, "GBK", none, "zh", "gb18030"},
		{"Big5", traditionalchinese.Big5, "Big5", none, "tw", "big5"},
		{"Big5, header", traditionalchinese.Big5, none, "text/html; charset=big5-hkscs", "tw", "big5"},
		{"GB2312, guessed", simplifiedchinese.GBK, none, none, "zh", "gb18030"},
	} {
		t.Run(c.name, func(t *testing.T) {
			declaration := "<?xml version='1.0'?>"
			if c.declared != none {
				declaration = fmt.Sprintf("\n<?xml version=\"1.0\" encoding=\"%s\"?>", c.declared)
			}
			title := titles[c.lang]
			if c.enc == charmap.KOI8R || c.enc == charmap.ISO8859_9 {
				title = strings.NewReplacer("’", "'", "…", "...").Replace(title)
			}
			want := declaration + "<urlset><url><loc>/1</loc><news:news><news:title>" + title +
				"</news:title></news:news></url><url><loc>/2</loc></url></urlset>"
			doc, err := c.enc.NewEncoder().String(want)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []io.Reader{strings.NewReader(doc), iotest.OneByteReader(strings.NewReader(doc))} {
				text, charset := Decode(r, c.header)
				b, err := io.ReadAll(text)
				if got := string(AppendUTF8(nil, b)); err != nil || got != want || charset != c.charset {
					t.Errorf("from %s, %v: %q, want %q", charset, err, got, want)
				}
			}
		})
	}
}

// HTML names its charset in a meta element; what the server says counts more, unless the bytes contradict it.
func TestDecode_Meta(t *testing.T) {
	for _, c := range []struct {
		name, meta, header string
		enc                encoding.Encoding
		title, charset     string
	}{
		{"charset", `<META CHARSET=Big5>`, "text/html", traditionalchinese.Big5, "行政院", "big5"},
		{"http-equiv", `<meta content='text/html; charset=EUC-KR' http-equiv="Content-Type"/>`, "", korean.EUCKR, "정부",
			"euc-kr"},
		{"other metas first", `<meta name=a content="charset=utf-8"><meta charset="shift_jis" />`, "",
			japanese.ShiftJIS,
			"政府は", "shift_jis"},
		{"the header is right", `<meta charset="utf-8">`, "text/html; charset=windows-1251", charmap.Windows1251,
			"Выборы",
			"windows-1251"},
		{"the header is wrong", `<meta charset="windows-1250">`, "text/html; charset=utf-8", charmap.Windows1250,
			"Zażółć gęślą", "windows-1250"},
		{"both are wrong", `<meta charset="euc-kr">`, "text/html; charset=iso-8859-1", encoding.Nop, "정부", "utf-8"},
		{"UTF-16 cannot be", `<meta charset="utf-16">`, "", encoding.Nop, "정부", "utf-8"},
	} {
		doc, err := c.enc.NewEncoder().String("<!DOCTYPE html><html><head>" + c.meta + "<title>" + c.title + "</title>")
		if err != nil {
			t.Fatal(err)
		}
		text, charset := Decode(strings.NewReader(doc), c.header)
		b, err := io.ReadAll(text)
		if err != nil || charset != c.charset || !strings.Contains(string(b), "<title>"+c.title+"</title>") {
			t.Errorf("%s: from %s, %v: %q", c.name, charset, err, b)
		}
	}
}

// An error of the reader comes through, behind what was read before it.
func TestDecode_Failure(t *testing.T) {
	broken := errors.New("connection reset")
	for _, contentType := range []string{"", "text/xml; charset=windows-1251"} {
		text, _ := Decode(io.MultiReader(strings.NewReader("<a>\xc2\xfb</a>"), iotest.ErrReader(broken)), contentType)
		if b, err := io.ReadAll(text); err != broken || !strings.HasPrefix(string(b), "<a>") {
			t.Errorf("%q: %q, %v", contentType, b, err)
		}
	}
}

// FuzzGuess: detection only returns names that charset recognises.
func FuzzGuess(f *testing.F) {
	f.Add([]byte("\xc1\xa4\xba\xce, \xbb\xf5\xb7\xce\xbf\xee"))
	f.Add([]byte("<?xml encoding="))
	f.Fuzz(func(t *testing.T, b []byte) {
		name := guess(b)
		if again, enc := charset(name); again != name || (enc == nil) != (name == utf8Name) {
			t.Errorf("guessed %q", name)
		}
		xmlEncoding(b)
		charsetParam(string(b))
		metaCharset(b)
		if good, bad := countUTF8(b); utf8.Valid(b) && bad > 0 || good+bad > len(b) {
			t.Errorf("%d and %d of %d bytes", good, bad, len(b))
		}
	})
}
