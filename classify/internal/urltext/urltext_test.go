package urltext

import (
	"reflect"
	"testing"

	"github.com/newsfork/seed-engine/classify/hosts"
)

func TestSplit(t *testing.T) {
	for url, want := range map[string]Parts{
		"https://www.example.com/a/b?c=d#e":       {"www.example.com", "/a/b", "c=d"},
		"HTTP://user:pw@Example.COM.:8080":        {"Example.COM", "", ""},
		"//example.com/x":                         {"example.com", "/x", ""},
		"example.com/x?u=https://other.example/y": {"example.com", "/x", "u=https://other.example/y"},
		"https://[::1]:80/x":                      {"[::1]", "/x", ""},
		"https://example.com/#!/news/1":           {"example.com", "//news/1", ""},
		"":                                        {},
	} {
		if got := Split(url); got != want {
			t.Errorf("%s: %+v, want %+v", url, got, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for url, want := range map[string][]Kind{
		"https://h/2026/01/28/a-title-of-many-words": {Year, MonthNo, Day, Slug},
		"https://h/en/news/12345":                    {Lang, Words, Number},
		"https://h/20260128/index.html":              {Date, HomePage},
		"https://h/d41d8cd98f00b204e9800998ecf8427e": {ID},
		"https://h/news/page/2":                      {Words, Words, Page},
		"https://h/1984/13":                          {Number, Number},
	} {
		r := Reading{Words: words(t)}
		r.Read(url, hosts.OtherSector)
		var got []Kind
		for i := range r.Path {
			got = append(got, r.Path[i].Kind)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

func TestSector(t *testing.T) {
	for host, want := range map[string]hosts.Sector{"www.EPA.gov": hosts.Government, "mit.edu": hosts.Education,
		"example.com": hosts.OtherSector} {
		r := Reading{Words: words(t)}
		r.Read("https://"+host+"/", hosts.OtherSector)
		if r.Sector != want {
			t.Errorf("%s: %d, want %d", host, r.Sector, want)
		}
	}
	r := Reading{Words: words(t)}
	if r.Read("https://example.com/", hosts.Government); r.Sector != hosts.Government {
		t.Error("the sector that the context names does not fill in")
	}
	if r.Read("https://mit.edu/", hosts.Government); r.Sector != hosts.Education {
		t.Error("the sector that the context names goes before that of the host")
	}
}

func TestPunycode(t *testing.T) {
	for label, want := range map[string]string{"xn--mnchen-3ya": "münchen", "xn--3e0b707e": "한국", "xn--p1ai": "рф",
		"plain": "plain", "xn--\x00": "xn--\x00"} {
		if got := string(appendPunycode(nil, label)); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}
