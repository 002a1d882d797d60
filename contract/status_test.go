package contract_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// fill sets every field below v, including pointers, lists and maps.
func fill(v reflect.Value, rnd *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMilli(rnd.Int64N(1 << 41))))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), rnd)
		}
	case reflect.Pointer:
		if rnd.IntN(4) == 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), rnd)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rnd.IntN(3), 3))
		for i := range v.Len() {
			fill(v.Index(i), rnd)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rnd.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, rnd)
			fill(value, rnd)
			v.SetMapIndex(key, value)
		}
	case reflect.Bool:
		v.SetBool(rnd.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "seed", "dlq", `a "b"`, "한국\u2028<&>"}[rnd.IntN(5)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 0.25, -1.5, 100, 21600000, 1e-7, 1e21, math.MaxFloat64}[rnd.IntN(8)])
	default:
		v.SetInt([]int64{0, 1, -1, 1234567, math.MaxInt64}[rnd.IntN(5)])
	}
}

// The handwritten encoding of a Status equals that of reflection, with any new field.
func TestStatusJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s contract.Status
		fill(reflect.ValueOf(&s).Elem(), rnd)
		want := string(contract.Encode(s))
		if have := string(s.AppendJSON([]byte("before "))); have != "before "+want {
			t.Fatalf("got %s, want %s", have, want)
		}
	}
}
