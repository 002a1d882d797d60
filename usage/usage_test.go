package usage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// summary writes directives and a rule on one line.
func summary(list []contract.UsageDirective, rule *contract.TDMRule) string {
	var words []string
	for _, d := range list {
		words = append(words, d.Source+" "+d.Name)
	}
	if rule != nil {
		words = append(words, line(rule))
	}
	return strings.Join(words, "; ")
}

func TestOfPage(t *testing.T) {
	h := func(fields ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(fields); i += 2 {
			h.Add(fields[i], fields[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		html   string
		want   string
	}{
		"nothing": {h(), "<title>x</title>", ""},
		"header":  {h("X-Robots-Tag", "noai, NoImageAI"), "", "header noai; header noimageai"},
		"two fields": {h("X-Robots-Tag", "noai", "X-Robots-Tag", "noindex"), "",
			"header noai; header noindex"},
		"another crawler":   {h("X-Robots-Tag", "GPTBot: noai, noindex"), "", ""},
		"ours":              {h("X-Robots-Tag", "GPTBot: noindex, NewsforkBot: noai"), "", "header noai"},
		"all, then another": {h("X-Robots-Tag", "noai, GPTBot: noindex"), "", "header noai"},
		"a date with colons": {h("X-Robots-Tag", "unavailable_after: Sat, 25 Jun 2044 15:00:00 PST, noai"), "",
			"header noai"},
		"a value":          {h("X-Robots-Tag", "max-snippet:0,noai"), "", "header noai"},
		"unknown words":    {h("X-Robots-Tag", "index, follow, all, noaiplease"), "", ""},
		"meta":             {h(), `<META NAME=Robots content="noai,noimageai">`, "meta noai; meta noimageai"},
		"meta for us":      {h(), `<meta name="newsforkbot" content="noindex noai">`, "meta noindex; meta noai"},
		"meta for another": {h(), `<meta name="gptbot" content="noai">`, ""},
		"said twice":       {h("X-Robots-Tag", "noai"), `<meta name=robots content=noai>`, "header noai"},
		"in the body":      {h(), `<body><meta name=robots content=noai>`, ""},
		"in a script":      {h(), `<script>"<meta name=robots content=noai>"</script>`, ""},
		"in a comment":     {h(), `<!-- <meta name=robots content=noai> -->`, ""},
		"reserved":         {h("TDM-Reservation", "1"), "", "header 1 /"},
		"not reserved":     {h("TDM-Reservation", " 0 "), "", "header 0 /"},
		"a protocol error": {h("TDM-Reservation", "2"), "", ""},
		"policy": {h("TDM-Reservation", "1", "TDM-Policy", "https://a.example/p"), "",
			"header 1 / https://a.example/p"},
		"policy is no URL":    {h("TDM-Reservation", "1", "TDM-Policy", "/p"), "", "header 1 /"},
		"policy is dangerous": {h("TDM-Reservation", "1", "TDM-Policy", "javascript:alert(1)"), "", "header 1 /"},
		"meta wins": {h("TDM-Reservation", "0"),
			`<meta name=tdm-reservation content=1><meta name=tdm-policy content=https://a.example/>`,
			"meta 1 / https://a.example/"},
		"a policy alone": {h(), `<meta name=tdm-policy content=https://a.example/>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, rule := OfPage(c.header, []byte(c.html), "NewsforkBot")
			if got := summary(list, rule); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestOfFile(t *testing.T) {
	long := "/" + strings.Repeat("x", 300)
	for name, c := range map[string]struct{ file, want string }{
		"none": {`[]`, ""},
		"all": {`[{"location":"/","tdm-reservation":1,"tdm-policy":"https://a.example/p.json"}]`,
			"/ 1 https://a.example/p.json"},
		"in order": {
			`[{"location":"/free/*","tdm-reservation":0},{"location":"/","tdm-reservation":1}]`,
			"/free/* 0; / 1"},
		"one rule": {"\ufeff" + ` {"location":"/","tdm-reservation":1} `, "/ 1"},
		"text":     {`[{"location":"/","tdm-reservation":"1"}]`, "/ 1"},
		"error values": {
			`[{"location":"/","tdm-reservation":2},{"location":"/a","tdm-reservation":null},{"location":"/b"}]`,
			""},
		"odd items": {
			`[null,7,"x",[],{"location":3,"tdm-reservation":1},{"location":"/","tdm-reservation":1}]`,
			"/ 1"},
		"no path": {
			`[{"location":"https://a.example/","tdm-reservation":1},{"location":"/a b","tdm-reservation":1}]`,
			""},
		"policy of a free place": {`[{"location":"/","tdm-reservation":0,"tdm-policy":"https://a.example/"}]`,
			"/ 0"},
		"long and reserved": {`[{"location":"` + long + `$","tdm-reservation":1}]`, long[:maxLocation] + " 1"},
		"long and free":     {`[{"location":"` + long + `","tdm-reservation":0}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := OfFile([]byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rules {
				text := fmt.Sprint(r.Location, " ", map[bool]int{true: 1}[r.Reserved])
				if r.Policy != nil {
					text += " " + *r.Policy
				}
				got = append(got, text)
			}
			if got := strings.Join(got, "; "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for _, file := range []string{"", "<!doctype html>", `"x"`, `[{"location":"/"`, "null x"} {
		if rules, err := OfFile([]byte(file)); err == nil {
			t.Errorf("%q: %v", file, rules)
		}
	}
}

// TestOfFile_Limits: a limit never lifts a reservation.
func TestOfFile_Limits(t *testing.T) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"location":"/free-%d","tdm-reservation":0}`, i))
	}
	file := func(last int) []byte {
		return []byte("[" + strings.Join(list,
			",") + fmt.Sprintf(`,{"location":"/paid","tdm-reservation":%d}]`, last))
	}
	for last, want := range map[int]bool{0: false, 1: true} {
		rules, err := OfFile(file(last))
		if err != nil || len(rules) >= contract.MaxTDMRules {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		of := NewSite(Encode(&contract.Usage{TDM: rules}), "").Of("https://a.example/paid")
		if got := of != nil && *of.TDMReserved; got != want {
			t.Errorf("reserved %v, want %v: %v", got, want, rules)
		}
	}
}

func TestSite(t *testing.T) {
	rules, err := OfFile([]byte(`[{"location":"/free/","tdm-reservation":0},{"location":"/exact$","tdm-reservation":0},
		{"location":"/*/paid","tdm-reservation":1,"tdm-policy":"https://a.example/p"}]`))
	if err != nil {
		t.Fatal(err)
	}
	u := contract.Usage{CheckedAt: contract.At(time.Date(2026, 1, 28, 0, 0, 0, 0, time.UTC)), TDM: rules,
		Directives: []contract.UsageDirective{{Name: "noimageai", Source: "meta"}, {Name: "noindex", Source: "header"}}}
	if got := Decode(Encode(&u)); !reflect.DeepEqual(got, u) {
		t.Errorf("%+v, want %+v", got, u)
	}
	site := NewSite(Encode(&u), "ai-train=no,search=yes")
	for url, want := range map[string]string{
		"https://a.example/free/paid": `false,"tdm_policy":null`,
		"https://a.example/exact":     `false,"tdm_policy":null`,
		"https://a.example/exactly":   `null,"tdm_policy":null`,
		"https://a.example/x/paid?y":  `true,"tdm_policy":"https://a.example/p"`,
	} {
		want = `{"content_signals":{"ai-train":"no","search":"yes"},"noai":false,"noimageai":true,"tdm_reserved":` +
			want + `}`
		if got, _ := json.Marshal(site.Of(url)); string(got) != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if of := NewSite(Encode(&contract.Usage{CheckedAt: u.CheckedAt}), "").Of("https://a.example/"); of != nil {
		t.Errorf("a site that says nothing: %+v", of)
	}
}
