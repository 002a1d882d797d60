package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// alike generates files of similar records, with every kind of difference that the reader could miss.
type alike struct {
	*rand.Rand
	keys, values []string
	space        string
}

func (a *alike) one(list ...string) string { return list[a.IntN(len(list))] }

// value returns a JSON value; many share a prefix.
func (a *alike) value() string {
	switch a.IntN(12) {
	case 0:
		return a.one("1", "12", "123", "1.5", "1.5e3", "-1", "0", "1e999")
	case 1:
		return a.one("null", "true", "false", `""`, "[]", "{}", "[1]", "[1,2]", `{"url":"x"}`,
			`{"url":"x"`+","+`"url":"y"}`)
	case 2:
		return `"` + strings.Repeat("x", MaxFieldBytes-1+a.IntN(3)) + `"`
	}
	text := "https://www.example.gov.sg/news/2026/01/a-headline"[:a.IntN(50)]
	for range a.IntN(3) {
		text += a.one("a", "b", `\"`, `\\`, `\n`, `\u00e9`, `\ud83d\ude00`, `\ud800`, "é", "한국어", "\xff", "\x7f", ",",
			":", "}", "]", "{", "/", " ")
	}
	return `"` + text + a.one("", "z", "zz") + `"`
}

// next returns a record with at most a few changes from the previous one.
func (a *alike) next() string {
	for range a.IntN(4) {
		i := a.IntN(len(a.keys) + 1)
		switch {
		case i == len(a.keys) || a.IntN(8) == 0:
			key := a.one(`"url"`, `"raw_url"`, `"title"`, `"domain"`, `"language"`, `"source_type"`, `"confidence"`,
				`"confidences"`, `"x"`, `"u\u0072l"`, `"tit"`)
			a.keys = append(a.keys[:i:i], append([]string{key}, a.keys[i:]...)...)
			a.values = append(a.values[:i:i], append([]string{a.value()}, a.values[i:]...)...)
		case a.IntN(8) == 0:
			a.keys = append(a.keys[:i:i], a.keys[i+1:]...)
			a.values = append(a.values[:i:i], a.values[i+1:]...)
		default:
			a.values[i] = a.value()
		}
	}
	if len(a.keys) > maxMembers+8 {
		a.keys, a.values = a.keys[:2], a.values[:2]
	}
	if a.IntN(20) == 0 {
		a.space = a.one("", " ", "\n  ")
	}
	var b strings.Builder
	for i, key := range a.keys {
		fmt.Fprint(&b, ",", a.space, key, a.space, ":", a.one("", "", a.space), a.values[i])
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + a.space + "}"
}

// file makes a file of n records; one in four has a fault somewhere.
func (a *alike) file(n int) []byte {
	a.keys, a.values = []string{`"url"`, `"title"`}, []string{a.value(), a.value()}
	records := make([]string, n)
	for i := range records {
		records[i] = a.next()
	}
	file := []byte("[" + strings.Join(records, a.one(",", ",\n")) + "]")
	if a.IntN(4) == 0 {
		const odd = "\"\\,:{}[]1a \n\x00\x1f"
		file[a.IntN(len(file))] = odd[a.IntN(len(odd))]
	}
	return file
}

// Members that the reader does not parse again, because they equal the previous record's, match encoding/json.
func TestReader_SimilarRecords(t *testing.T) {
	a := &alike{Rand: rand.New(rand.NewPCG(7, 7))}
	r := NewReader(nil)
	for range 500 {
		file := a.file(1 + a.IntN(12))
		for how, src := range map[string]io.Reader{
			"whole":         bytes.NewReader(file),
			"byte by byte":  iotest.OneByteReader(bytes.NewReader(file)),
			"random pieces": &pieces{file, a.Rand},
		} {
			if diff := same(r, file, src); diff != "" {
				t.Fatalf("%s, %s: %s", how, file, diff)
			}
		}
	}
	for range 2 { // several windows
		file := a.file(6000)
		if len(file) < windowSize {
			t.Fatalf("%d bytes are no more than a window", len(file))
		}
		if diff := same(r, file, bytes.NewReader(file)); diff != "" {
			t.Fatalf("%.300s", diff)
		}
	}
}

// If the window moves by whole records, another record stands where the previous one was.
func TestReader_RecordsOfOneLength(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	for b.Len() < 8*windowSize {
		b.WriteString(`,{"x":1`)
		for _, name := range []string{"url", "title", "domain", "language"} {
			n := rnd.IntN(3)
			fmt.Fprintf(&b, `,"%s":"%s","%s_":"%s"`, name, "aaaaa"[:2+n], name, "aaaaa"[:4-n])
		}
		b.WriteByte('}')
	}
	file := []byte("[" + b.String()[1:] + "]")
	if diff := same(NewReader(nil), file, bytes.NewReader(file)); diff != "" {
		t.Errorf("%.300s", diff)
	}
}

// Among records with the same keys, only the first one, and those after a move of the window, have their members
// parsed.
func TestRepeats(t *testing.T) {
	parsed := 0
	file := sample(2<<20, func(i int) string { return fmt.Sprintf("Press Release %d - 한국", i) })
	r := NewReader(bytes.NewReader(file))
	for {
		before := r.before.count
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || rec.Get(URL) == nil {
			t.Fatal(err)
		}
		if before == 0 {
			parsed++
		}
	}
	if most := 2 + len(file)/readSize; parsed > most {
		t.Errorf("%d of %d records had none before them, want %d at most", parsed, r.record.Number, most)
	}
}

// wrongSameAs reads a file and returns the wrong reports of SameAs, or "". equal counts the fields on which both
// records agree, said those that SameAs reported.
func wrongSameAs(r *Reader, src io.Reader) (wrong string, equal, said int) {
	type value struct{ json, text []byte }
	var before [fieldCount]value
	numberBefore := 0
	r.Reset(src)
	for {
		rec, err := r.Next()
		if err != nil {
			return "", equal, said
		}
		for f := range fieldCount {
			now := value{bytes.Clone(rec.JSON(f)), bytes.Clone(rec.Get(f))}
			alike := bytes.Equal(now.json, before[f].json) && bytes.Equal(now.text, before[f].text) &&
				(now.json == nil) == (before[f].json == nil)
			if alike && now.json != nil {
				equal++
			}
			var set Fields
			set.Add(f)
			if rec.SameAs(numberBefore, set) {
				if !alike {
					return fmt.Sprintf("record %d: %s is not as before, %s", rec.Number, now.json, before[f].json),
						equal, said
				}
				if now.json != nil {
					said++
				}
			}
			if rec.SameAs(numberBefore-1, set) && numberBefore > 1 || rec.SameAs(rec.Number, set) {
				return fmt.Sprintf("record %d: compared with another than %d", rec.Number, numberBefore), equal, said
			}
			before[f] = now
		}
		numberBefore = rec.Number
	}
}

// SameAs is never wrong, even with repeated keys and moves of the window, and reports most equal fields.
func TestSameAs(t *testing.T) {
	a := &alike{Rand: rand.New(rand.NewPCG(3, 3))}
	r := NewReader(nil)
	for range 1000 {
		file := a.file(1 + a.IntN(12))
		for _, src := range []io.Reader{bytes.NewReader(file), &pieces{file, a.Rand}} {
			if wrong, _, _ := wrongSameAs(r, src); wrong != "" {
				t.Fatalf("%s: %s", file, wrong)
			}
		}
	}
	file := sample(2<<20, func(i int) string { return fmt.Sprintf("Press Release %d", i/3) })
	wrong, equal, said := wrongSameAs(r, bytes.NewReader(file))
	if wrong != "" || said < equal*9/10 || equal == 0 {
		t.Errorf("%s; %d of %d", wrong, said, equal)
	}
	// A repeated key outweighs the equal value at its first position.
	twice := `{"language":"a","x":1,"language":"b"},{"language":"a"},{"language":"a"},{"language":"a","language":"b"}` +
		`,{"language":"a","language":"b"}`
	if wrong, _, said := wrongSameAs(r, strings.NewReader("["+twice+"]")); wrong != "" || said != 1 {
		t.Errorf("%s; %d", wrong, said)
	}
}

func FuzzRecord_Alike(f *testing.F) {
	r := NewReader(nil)
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		a := &alike{Rand: rand.New(rand.NewPCG(seed, 1))}
		file := a.file(1 + int(n%32))
		if wrong, _, _ := wrongSameAs(r, bytes.NewReader(file)); wrong != "" {
			t.Fatalf("%s: %s", file, wrong)
		}
		if diff := same(r, file, bytes.NewReader(file)); diff != "" {
			t.Fatalf("%s: %s", file, diff)
		}
	})
}
