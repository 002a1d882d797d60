package discovery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// TestDiscovery_AppendJSON: it writes what json.Marshal does, whatever is in the fields.
func TestDiscovery_AppendJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "plain", "<b>&amp;</b>", `"quoted" \ back`, "뉴스", "tab\t\x01", "\xff broken", "a b"}
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		if at, ok := v.Addr().Interface().(*contract.Time); ok {
			*at = contract.Time{Time: time.Unix(random.Int64N(1<<32), 0)}
			return
		}
		switch v.Kind() {
		case reflect.String:
			v.SetString(texts[random.IntN(len(texts))])
		case reflect.Bool:
			v.SetBool(random.IntN(2) == 0)
		case reflect.Int, reflect.Int64:
			v.SetInt(random.Int64N(3) * random.Int64N(1e6))
		case reflect.Float64:
			v.SetFloat([]float64{0, 1, 0.25, 0.1 + 0.2, 1e-7, -3, 1e21, random.Float64()}[random.IntN(8)])
		case reflect.Pointer:
			if random.IntN(3) > 0 {
				v.Set(reflect.New(v.Type().Elem()))
				fill(v.Elem())
			}
		case reflect.Slice:
			if n := random.IntN(4); n < 3 {
				v.Set(reflect.MakeSlice(v.Type(), n, n))
				for i := range n {
					fill(v.Index(i))
				}
			}
		case reflect.Map:
			if random.IntN(4) == 0 {
				return
			}
			v.Set(reflect.MakeMap(v.Type()))
			for range random.IntN(4) {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(key)
				fill(value)
				if strings.ToValidUTF8(key.String(), "") == key.String() {
					v.SetMapIndex(key, value)
				}
			}
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		default:
			t.Fatalf("a field is of kind %s", v.Kind())
		}
	}
	for range 3000 {
		var d Discovery
		fill(reflect.ValueOf(&d).Elem())
		want, err := json.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.AppendJSON(nil); string(got) != string(want) {
			t.Fatal(firstDifference(string(got), string(want)))
		}
	}
}

// BenchmarkDiscovery_AppendJSON compares it with json.Marshal.
func BenchmarkDiscovery_AppendJSON(b *testing.B) {
	a := ministry()
	for i := range 200 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/newsroom/minister-opens-hospital-%d-of-the-east", i), FromSitemap,
			ago(time.Duration(i)*day))
	}
	d := a.Result()
	for name, encode := range map[string]func() []byte{
		"by hand": func() []byte { return d.AppendJSON(nil) }, "json.Marshal": func() []byte { return encoded(&d) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(encode())))
			}
		})
	}
}
