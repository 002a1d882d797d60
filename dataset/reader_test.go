package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// got is a record in comparable form.
type got struct {
	Problem string
	Fields  map[Field]string
	Bad     []string
}

// readAll reads a file with r, which was used for another file before.
func readAll(r *Reader, src io.Reader) (list []got, err error) {
	r.Reset(src)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		g := got{Problem: rec.Problem, Fields: map[Field]string{}, Bad: rec.Bad()}
		for f := range fieldCount {
			v, quoted := rec.Get(f), rec.JSON(f)
			if (v == nil) != (quoted == nil) || bytes.ContainsAny(quoted, "\r\n") || !utf8.Valid(quoted) {
				return list, fmt.Errorf("field %d is %q, and %q as JSON", f, v, quoted)
			}
			if v == nil {
				continue
			}
			g.Fields[f] = string(v)
			var text string
			if f == Confidence {
				text = string(quoted)
			} else if err := json.Unmarshal(quoted, &text); err != nil {
				return list, err
			}
			if text != string(v) {
				return list, fmt.Errorf("field %d is %q, and %q as JSON", f, v, quoted)
			}
		}
		list = append(list, g)
		if rec.Number != len(list) {
			return list, fmt.Errorf("record %d has number %d", len(list), rec.Number)
		}
	}
}

// oracle reads a file with encoding/json.
func oracle(file []byte) (list []got, err error) {
	file = bytes.TrimPrefix(file, []byte("\xef\xbb\xbf"))
	if !json.Valid(file) {
		return nil, errors.New("not JSON")
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(file, &outer) == nil && outer != nil {
		file = outer["records"]
	}
	var records []json.RawMessage
	if err := json.Unmarshal(file, &records); err != nil {
		return nil, err
	}
	if records == nil {
		return nil, errors.New("null")
	}
	for _, raw := range records {
		g := got{Fields: map[Field]string{}}
		list = append(list, g)
		last := &list[len(list)-1]
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil || fields == nil {
			last.Problem = "not an object"
			continue
		}
		for _, n := range names {
			v, ok := fields[n.json]
			if !ok || string(v) == "null" {
				continue
			}
			var text string
			var float float64
			switch {
			case n.field == Confidence && json.Unmarshal(v, &float) == nil && len(v) <= MaxFieldBytes:
				text = string(v)
			case n.field != Confidence && json.Unmarshal(v, &text) == nil &&
				(n.field == URL || n.field == Title || len(v) <= len(`""`)+MaxFieldBytes):
			default:
				last.Bad = append(last.Bad, n.json)
				continue
			}
			if _, ok := last.Fields[n.field]; !ok && text != "" {
				last.Fields[n.field] = text
			}
		}
	}
	return list, nil
}

// same returns how the reader and encoding/json differ on a file, or "".
func same(r *Reader, file []byte, src io.Reader) string {
	want, wantErr := oracle(file)
	have, err := readAll(r, src)
	if err != nil && strings.Contains(err.Error(), `has "records" twice`) {
		return "" // the exception that the package comment names
	}
	if (err == nil) != (wantErr == nil) {
		return fmt.Sprintf("error %v, encoding/json says %v", err, wantErr)
	}
	if err != nil {
		if contract.KindOf(err) != contract.Parse {
			return fmt.Sprintf("%v has kind %s", err, contract.KindOf(err))
		}
		return ""
	}
	for i := range have {
		if have[i].Problem != "" {
			have[i].Problem = "not an object"
		}
	}
	if !reflect.DeepEqual(have, want) {
		return fmt.Sprintf("read %+v, encoding/json reads %+v", have, want)
	}
	return ""
}

const plainRecord = `{"url":"https://mom.gov.sg/a","title":"Employment Act","domain":"mom.gov.sg",` +
	`"registrable_domain":"mom.gov.sg",` +
	`"domain_id":"gov:sg:mom.gov.sg","source_type":"gov","content_type":"text/html","language":"en","country":"sg",` +
	`"discovered_at":"2026-01-28T10:00:00Z","discovery_method":"google_search","confidence":0.9}`

// corpus is a list of files that the reader and encoding/json must read alike.
var corpus = []string{
	``, ` `, "\r\n", `[]`, ` [ ] `, `{}`, `null`, `true`, `"records"`, `12`, `-`, `[`, `]`, `{`, `}`, `[,]`, `[{}`,
	`[{}]`, `[{},]`, `[{}{}]`, `[{}]x`, `[{}] []`,
	`[` + plainRecord + `]`,
	"[\r\n  " + strings.ReplaceAll(plainRecord, ",", ",\r\n\t") + "\r\n]\r\n",
	"\xef\xbb\xbf[" + plainRecord + "]", "\xef\xbb\xbf", "\xef\xbb\xbf\xef\xbb\xbf[]", "\xef\xbb[]",
	"\xff\xfe[\x00]\x00",
	`{"meta":{"n":1,"deep":[[{"a":"}]"}]]},"records":[` + plainRecord + `],"after":[1,2,{"records":[]}]}`,
	`{"records":[` + plainRecord + `,` + plainRecord + `]}`, `{"records":[]}`, `{"records":{}}`, `{"records":null}`,
	`{"Records":[]}`, `{"meta":{"records":[]}}`,
	`{"\u0072ecords":[{"\u0075rl":"https:\/\/a.sg\/"}]}`, `{"records":[{"url":"https://a.sg/"}],}`, `{"records":[]]`,
	`{"records" []}`, `{"records":[],"x"}`, `{,"records":[]}`, `{"records":[]} x`,
	`[1,"a",null,true,false,[],[{}],-0.5e+10,{"url":"https://a.sg/"}]`,
	`[{"url":1},{"url":null},{"url":true},{"url":[]},{"url":{}},{"url":""},{"title":5,"url":"u","language":{"a":[1]},` +
		`"domain_id":false}]`,
	`[{"input_url":"c","raw_url":"b","url":"a"},{"input_url":"c","raw_url":"b"},{"input_url":"c"},{"input_url":"c",` +
		`"raw_url":5},{"url":null,"raw_url":"","input_url":"c"}]`,
	`[{"authority":"x","source_type":"gov"},{"normalized_domain":"n","domain":"d"},{"normalized_domain":"n"},` +
		`{"authority":"x","source_type":null}]`,
	`[{"url":"a","title":"t"},{"url":"b","title":"u"},{"url" : "c","title":"v"},{"url":"d","title": "w"},` +
		`{"title":"x","url":"e"},{"url":"f","titles":"y"},{"url":"g"},{"url":7,"title":null},{}]`,
	`[{"url":"a"},{"url":"b"`, `[{"url":"a"},{"url":`, `[{"url":"a"},{"url"`, `[{"url":"a"},{"url":}]`,
	`[{"url":"a"},{"url":"b",}]`, `[{"u\u0072l":"a"},{"u\u0072l":"b"},{"url":"c"}]`,
	`[` + strings.Repeat(`{`+strings.Repeat(`"x":1,`, 30)+`"url":"a","`+strings.Repeat("long", 20)+`":2,"title":"t"},`,
		2) + `{}]`,
	`[{"url":"a","url":"b"},{"url":"a","url":null},{"url":"a","url":3},{"url":3,"url":"a"},{"title":"t",` +
		`"x":1,"title":""}]`,
	`[{"URL":"a","Url":"b"," url":"c"}]`,
	`[{"title":"q\" b\\ s\/ \b\f\n\r\t \u0041\u00e9\ud55c\uD83D\uDE00"}]`,
	`[{"title":"\ud800"},{"title":"\ud800x"},{"title":"\ud800\u0041"},{"title":"\udc00\ud800"},` +
		`{"title":"\ud83d\ud83d\ude00"},{"title":"\ud800\\u"},{"title":"\\ud800"}]`,
	`[{"title":"\x41"}]`, `[{"title":"\u12"}]`, `[{"title":"\u12g4"}]`, `[{"title":"\`, `[{"title":"\u00`,
	"[{\"title\":\"a\nb\"}]", "[{\"title\":\"a\x00b\"}]", "[{\"title\":\"\x1f\"}]", "[{\"title\":\"\x7f\"}]",
	"[{\"title\":\"\xff\"},{\"title\":\"a\xed\xa0\x80b\xf0\x9f\"},{\"title\":\"\xe9\\n\"},{\"title\":\"\xff\\ud800\"}" +
		",{\"url\":\"한국어 \u2028\"}]",
	"[{\"ti\xfftle\":\"x\"}]", "\x00[]", "[\x00]", "[]\x00", "[{\x00}]", "[{\"url\":\x00\"a\"}]",
	`[{"title":"} ] \" { [","x":{"url":"inner","y":["]","}","\\\""]},"url":"outer"}]`,
	`[{"confidence":1},{"confidence":-0},{"confidence":0.5E-3},{"confidence":1e999},{"confidence":"0.9"},` +
		`{"confidence":""},{"confidence":null},{"confidence":true}]`,
	`[{"a":01}]`, `[{"a":1.}]`, `[{"a":.5}]`, `[{"a":-}]`, `[{"a":+1}]`, `[{"a":1e}]`, `[{"a":1e+}]`, `[{"a":0x1}]`,
	`[{"a":NaN}]`, `[{"a":1 2}]`, `[-]`, `[01]`, `[1e5,0,-0.0]`,
	`[{"a":tru}]`, `[{"a":truex}]`, `[{"a":nul`, `[{"a":falsE}]`, `[t]`,
	`[{"a"}]`, `[{"a":}]`, `[{:1}]`, `[{"a":1,}]`, `[{,}]`, `[{"a":1 "b":2}]`, `[{a:1}]`, `[{'a':1}]`, `[{"a":1]`,
	`[{"a":[1}]`, `[{"a":[1,]}]`, `[{"a":{"b"}}]`, `[{"a":{"b":1,}}]`, `[{"a":{"b":[{}]}}]`, `[/**/]`,
	`[{"a":[}]}]`,
	`[` + strings.Repeat(`[`, 9999) + strings.Repeat(`]`, 10000),
	`[` + strings.Repeat(`[`, 10000) + strings.Repeat(`]`, 10001),
	`[{"a":` + strings.Repeat(`{"a":`, 9997) + `{}` + strings.Repeat(`}`, 9998) + `]`,
	`[{"a":` + strings.Repeat(`{"a":`, 9998) + `{}` + strings.Repeat(`}`, 9999) + `]`,
	`{"records":[{"a":` + strings.Repeat(`[`, 9997) + strings.Repeat(`]`, 9997) + `}]}`,
	`{"records":[{"a":` + strings.Repeat(`[`, 9998) + strings.Repeat(`]`, 9998) + `}]}`,
	`[{"content":"` + strings.Repeat("x", 100_000) + `","url":"https://a.sg/"},{"url":"https://b.sg/"}]`,
	`[{"domain_id":"` + strings.Repeat("x", MaxFieldBytes) + `","authority":"` + strings.Repeat("한",
		MaxFieldBytes/3) + `","language":"` + strings.Repeat(`\u0041`, MaxFieldBytes/6) + `"}]`,
	`[{"domain_id":"` + strings.Repeat("x", MaxFieldBytes+1) + `","title":"` + strings.Repeat("x",
		MaxFieldBytes+1) + `","confidence":1` + strings.Repeat("0", MaxFieldBytes) + `}]`,
}

func TestReader_LikeEncodingJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	r := NewReader(nil)
	for _, file := range corpus {
		for how, src := range map[string]io.Reader{
			"whole":         strings.NewReader(file),
			"byte by byte":  iotest.OneByteReader(strings.NewReader(file)),
			"data with EOF": iotest.DataErrReader(strings.NewReader(file)),
			"random pieces": &pieces{[]byte(file), rnd},
		} {
			if diff := same(r, []byte(file), src); diff != "" {
				t.Errorf("%s, %.200q: %s", how, file, diff)
			}
		}
	}
}

// pieces reads in pieces of random length, 0 included.
type pieces struct {
	remaining []byte
	rnd       *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.remaining) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.rnd.IntN(20))], p.remaining)
	p.remaining = p.remaining[n:]
	return n, nil
}

func FuzzReader_LikeEncodingJSON(f *testing.F) {
	for _, file := range corpus {
		if len(file) < 10_000 {
			f.Add([]byte(file))
		}
	}
	r := NewReader(nil)
	f.Fuzz(func(t *testing.T, file []byte) {
		if diff := same(r, file, bytes.NewReader(file)); diff != "" {
			t.Fatal(diff)
		}
		if diff := same(r, file, iotest.OneByteReader(bytes.NewReader(file))); diff != "" {
			t.Fatal("byte by byte: " + diff)
		}
	})
}

// stream repeats a piece a number of times between a beginning and an end.
func stream(head, piece string, times int, tail string) io.Reader {
	parts := []io.Reader{strings.NewReader(head)}
	for range times {
		parts = append(parts, strings.NewReader(piece))
	}
	return io.MultiReader(append(parts, strings.NewReader(tail))...)
}

func TestReader_LargeRecords(t *testing.T) {
	const frame = len(`{"url":"https://a.sg/","x":""}`)
	record := func(size int) string {
		return `{"url":"https://a.sg/","x":"` + strings.Repeat("x", size-frame) + `"}`
	}
	r := NewReader(nil)
	list, err := readAll(r, strings.NewReader(`[`+record(100_000)+`,`+record(MaxRecordBytes)+`,`+
		record(MaxRecordBytes+1)+
		`,`+record(frame)+`]`))
	if err != nil || len(list) != 4 {
		t.Fatal(len(list), err)
	}
	for i, problem := range []string{"", "", "is larger than 1 MiB", ""} {
		if list[i].Problem != problem || (list[i].Fields[URL] == "") != (problem != "") {
			t.Errorf("record %d: %q, url %q", i, list[i].Problem, list[i].Fields[URL])
		}
	}
	mib := strings.Repeat("x", 1<<20)
	for name, file := range map[string]io.Reader{
		"a string":       stream(`[{"x":"`, mib, 50, `"},{"url":"u"}]`),
		"a key":          stream(`[{"`, mib, 50, `":1},{"url":"u"}]`),
		"nested":         stream(`[{"x":{"y":["`, mib+`","`, 50, `"]}},{"url":"u"}]`),
		"white space":    stream(`[{"x":1`, strings.Repeat(" ", 1<<20), 50, `},{"url":"u"}]`),
		"no object":      stream(`["`, mib, 50, `",{"url":"u"}]`),
		"beside":         stream(`{"meta":["`, mib+`","`, 50, `"],"records":[5,{"url":"u"}]}`),
		"a key beside":   stream(`{"`, mib, 50, `":1,"records":[5,{"url":"u"}]}`),
		"between":        stream(`[5`, strings.Repeat(" ", 1<<20), 50, `,{"url":"u"}]`),
		"many digits":    stream(`[`, strings.Repeat("1", 1<<20), 50, `,{"url":"u"}]`),
		"after the file": stream(`[5,{"url":"u"}]`, strings.Repeat("\n", 1<<20), 50, ``),
	} {
		list, err := readAll(r, file)
		if err != nil || len(list) != 2 || list[0].Problem == "" || list[1].Fields[URL] != "u" {
			t.Errorf("%s: %v, %d records", name, err, len(list))
		}
		if len(r.buf) > 4*MaxRecordBytes {
			t.Errorf("%s: the window has %d bytes", name, len(r.buf))
		}
	}
	if r.Reset(nil); len(r.buf) != windowSize+padding {
		t.Errorf("a window of %d bytes is kept", len(r.buf))
	}
}

func TestReader_SourceErrors(t *testing.T) {
	fault := errors.New("reset")
	file := `{"records":[` + plainRecord + `,` + plainRecord + `], "x": [tru`
	r := NewReader(nil)
	for n := range len(file) {
		if _, err := readAll(r, io.MultiReader(strings.NewReader(file[:n]), iotest.ErrReader(fault))); err != fault {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		_, err := readAll(r, strings.NewReader(file[:n]))
		if contract.KindOf(err) != contract.Parse || !errors.Is(err, io.ErrUnexpectedEOF) || r.Offset() != int64(n) {
			t.Fatalf("cut after %d bytes: %v at %d", n, err, r.Offset())
		}
		if _, again := r.Next(); again != err {
			t.Fatalf("then %v", again)
		}
	}
	if _, err := readAll(r, stuck{}); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReader_Offsets(t *testing.T) {
	file := []byte("\xef\xbb\xbf {\"records\": [\n" + plainRecord + ",\n 5 ,\t" + plainRecord + "]}")
	r := NewReader(bytes.NewReader(file))
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if from := string(file[rec.Offset:]); !strings.HasPrefix(from, plainRecord) &&
			!strings.HasPrefix(from, "5 ,") {
			t.Errorf("record %d is not at %d", rec.Number, rec.Offset)
		}
	}
	if r.Offset() != int64(len(file)) {
		t.Errorf("read to %d of %d", r.Offset(), len(file))
	}
}

// Reading records without escapes allocates nothing.
func TestReader_Allocations(t *testing.T) {
	file := []byte("[" + strings.Repeat(plainRecord+",", 5000) + plainRecord + "]")
	r := NewReader(nil)
	src := bytes.NewReader(nil)
	n := testing.AllocsPerRun(3, func() {
		src.Reset(file)
		r.Reset(src)
		for {
			rec, err := r.Next()
			if err != nil {
				return
			}
			for f := range fieldCount {
				if rec.Get(f) == nil || rec.JSON(f) == nil {
					t.Fatal("a field is missing")
				}
			}
		}
	})
	if n > 2 {
		t.Errorf("%v allocations for 5,001 records", n)
	}
}
