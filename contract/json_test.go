package contract_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func TestBusySince(t *testing.T) {
	since := time.Date(2026, 1, 28, 10, 0, 0, 123_456_789, time.UTC)
	const field = `"busy_since":"2026-01-28T10:00:00.123Z"`
	for _, c := range []struct{ message, with, without string }{
		{`{"domain":"a.sg"}`, `{` + field + `,"domain":"a.sg"}`, `{"domain":"a.sg"}`},
		{` { "a" : "&<\u003e\u2028` + "\u2028" + `" ,` + "\r\n\t" + `"b":1E400 } `, ` {` + field +
			`, "a" : "&<\u003e\u2028` + "\u2028" + `" ,` + "\r\n\t" + `"b":1E400 } `, ""},
		{`{}`, `{` + field + `}`, `{}`},
		{"{ \n}", "{" + field + " \n}", "{ \n}"},
		{`{"busy_since":"x"}`, `{` + field + `}`, `{}`},
		{`{ "busy_since" : null , "a":1}`, `{` + field + `,  "a":1}`, `{  "a":1}`},
		{`{"a":{"busy_since":1}, "busy_since" : "x" }`, `{` + field + `,"a":{"busy_since":1} }`,
			`{"a":{"busy_since":1} }`},
		{`{"a":[1,{"busy_since":2}],"busy_since":"x","b":2}`, `{` + field + `,"a":[1,{"busy_since":2}],"b":2}`,
			`{"a":[1,{"busy_since":2}],"b":2}`},
		{`{"busy_since":"x","BUSY_SINCE":"y","a":"busy_since","busy\u005fsince":{"a":[]}}`, `{` + field +
			`,"a":"busy_since"}`, `{"a":"busy_since"}`},
		{`{"busy_\u017fince":"x","a":1}`, `{` + field + `,"a":1}`, `{"a":1}`},
	} {
		if c.without == "" {
			c.without = c.message
		}
		if got := string(contract.WithoutBusySince([]byte(c.message))); got != c.without {
			t.Errorf("%s without: %s, want %s", c.message, got, c.without)
		}
		with := contract.WithBusySince([]byte(c.message), since)
		if string(with) != c.with {
			t.Errorf("%s with: %s, want %s", c.message, with, c.with)
		}
		if got := string(contract.WithoutBusySince(with)); got != c.without {
			t.Errorf("%s with and without: %s, want %s", c.message, got, c.without)
		}
	}
	for _, other := range []string{"", "null", `"busy_since"`, `["busy_since",1]`, `{"busy_since":1`, `busy_since`} {
		if got := string(contract.WithoutBusySince([]byte(other))); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

// Removing the field removes all that encoding/json would decode as busy_since, and nothing else.
func FuzzBusySince(f *testing.F) {
	for _, message := range []string{`{"a":1,"busy_since":"2026-01-28T10:00:00Z"}`,
		`{"busy_since":1,"BUSY_since":[],"b":{"busy_since":2}}`, "{\t}", `{"b\u0075sy_since":"\"}"}`, `[1]`} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		var before map[string]json.RawMessage
		if json.Unmarshal([]byte(message), &before) != nil || before == nil {
			return
		}
		since := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
		without := contract.WithoutBusySince([]byte(message))
		with := contract.WithBusySince([]byte(message), since)
		var after map[string]json.RawMessage
		if err := json.Unmarshal(without, &after); err != nil {
			t.Fatalf("%s is no JSON: %v", without, err)
		}
		for name := range before {
			if strings.EqualFold(name, "busy_since") {
				delete(before, name)
			}
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s became %s", message, without)
		}
		var m struct {
			BusySince time.Time `json:"busy_since"`
		}
		if err := json.Unmarshal(with, &m); err != nil || !m.BusySince.Equal(since) {
			t.Errorf("%s with: %s, read as %v, %v", message, with, m.BusySince, err)
		}
		if again := contract.WithoutBusySince(with); string(again) != string(without) {
			t.Errorf("%s with and without: %s", message, again)
		}
	})
}

func TestEncode_NoHTMLEscapes(t *testing.T) {
	const text = `https://a.sg/?a=1&b=<2>`
	if got := string(contract.Encode(map[string]string{"url": text})); got != `{"url":"`+text+`"}` {
		t.Errorf("got %s", got)
	}
}
