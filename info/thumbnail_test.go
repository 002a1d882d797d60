package info

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestPageImage_Fixtures(t *testing.T) {
	for file, want := range map[string]string{
		"og_basic": "https://img.example/basic.jpg", "og_reversed": "https://img.example/rev.jpg",
		"og_empty_content": "", "og_none": "",
		"og_entities":          "https://img.example/a.jpg?w=1200&h=630&sig=x%2Fy",
		"og_http_image":        "http://img.example/insecure.jpg",
		"og_protocol_relative": "https://img.example/pr.jpg",
		"og_relative_path":     "https://news.example/upload/rel.jpg",
		"og_twitter_only":      "https://img.example/tw.jpg",
	} {
		f, err := os.Open("testdata/" + file + ".html")
		if err != nil {
			t.Fatal(err)
		}
		got, err := PageImage(f, "text/html", "https://news.example/2026/a.html")
		if f.Close(); err != nil || got != want {
			t.Errorf("%s: %q %v, not %q", file, got, err, want)
		}
	}
}

func TestPageImage(t *testing.T) {
	const image = `<meta property="og:image" content="https://img.example/x.jpg">`
	for name, c := range map[string]struct{ page, want string }{
		"behind 100 kB": {"<head><style>" + strings.Repeat("a{}", 40_000) + "</style>" + image,
			"https://img.example/x.jpg"},
		"in a comment": {"<head><!-- " + image + " -->", ""},
		"in a script":  {"<head><script>var s = '" + image + "'</script>", ""},
		"a data URL":   {`<meta property=og:image content="data:image/png;base64,xx">`, ""},
		"a script URL": {`<meta property=og:image content="javascript:alert(1)">`, ""},
		"the first usable": {
			`<meta property=og:image content=""><meta property="og:image:url" content="/a.jpg"><meta ` +
				`property=og:image content="/b.jpg">`, "https://news.example/a.jpg"},
		"better than a card": {
			`<meta name="twitter:image" content="/t.jpg"><meta name="og:image" content="/o.jpg">`,
			"https://news.example/o.jpg"},
		"with a base": {`<base href="https://cdn.example/x/"><meta property=og:image content="o.jpg">`,
			"https://cdn.example/x/o.jpg"},
		"image_src":       {`<link rel=image_src href="/i.jpg">`, "https://news.example/i.jpg"},
		"behind the head": {"<head></head><body>" + image, ""},
		"in EUC-KR": {"<meta charset=euc-kr><title>\xc8\xaf\xb0\xe6</title><meta property=og:image " +
			"content=\"/\xc8\xaf\xb0\xe6.jpg\">", "https://news.example/%ED%99%98%EA%B2%BD.jpg"},
		"split between pieces":   {strings.Repeat(" ", 16<<10-20) + image, "https://img.example/x.jpg"},
		"longer than any head":   {strings.Repeat("<p>x</p>", 100_000) + image, ""},
		"no page at all":         {"\x00\x01\x02", ""},
		"with capital letters":   {`<META PROPERTY="OG:Image" CONTENT="/c.jpg">`, "https://news.example/c.jpg"},
		"credentials in the URL": {`<meta property=og:image content="https://u:p@img.example/x">`, ""},
	} {
		if got, err := PageImage(strings.NewReader(c.page), "text/html", "https://news.example/a/b"); got != c.want ||
			err != nil {
			t.Errorf("%s: %q %v, not %q", name, got, err, c.want)
		}
	}
	broken := io.MultiReader(strings.NewReader("<head>"), failing{})
	if got, err := PageImage(broken, "", "https://news.example/"); got != "" || err == nil {
		t.Errorf("a page that breaks off: %q %v", got, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The image by HTTPS is preferred, wherever it stands.
func TestPageImage_Secure(t *testing.T) {
	const plain = `<meta property="og:image" content="http://i.example/x">`
	const secure = `<meta property="og:image:secure_url" content="https://i.example/x">`
	for _, page := range []string{plain + secure, secure + plain} {
		got, err := PageImage(strings.NewReader(page), "text/html", "https://a.example/")
		if err != nil || got != "https://i.example/x" {
			t.Errorf("%s: %q %v", page, got, err)
		}
	}
}
