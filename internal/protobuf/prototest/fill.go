package prototest

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
)

// A Filler makes random values.
type Filler struct {
	*rand.Rand
	Depth int // of messages in messages
	Many  int // the most elements, 0: 4
}

// NewFiller makes a Filler that makes the same values for the same seed.
func NewFiller(seed uint64) *Filler {
	return &Filler{Rand: rand.New(rand.NewPCG(seed, 17)), Depth: 2}
}

// Message fills the message that p points to. Fields that may be absent are so half the time;
// required ones are there.
func (r *Filler) Message(p any) { r.fields(reflect.ValueOf(p).Elem()) }

// fields fills the fields of a struct. Every second one that may be absent is, so that what follows one
// field is another each time.
func (r *Filler) fields(v reflect.Value) {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag.Get("proto")
		if !f.CanSet() || !strings.Contains(tag, "required") && r.IntN(2) == 0 {
			continue
		}
		r.value(f, tag)
	}
}

// count is how many elements a list or map gets: now and then none.
func (r *Filler) count() int {
	if r.Many > 0 {
		return r.IntN(r.Many + 1)
	}
	return r.IntN(5)
}

// value fills v, whose field has that tag. It has a case for each kind of Go type.
func (r *Filler) value(v reflect.Value, tag string) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.number()))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(r.number())
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1.5, -2, math.Inf(1), math.NaN(), math.Copysign(0, -1), 1e-300, float64(r.number())}[r.IntN(8)])
	case reflect.String:
		v.SetString(r.text())
	case reflect.Pointer:
		if v.Type().Elem().Kind() != reflect.Struct {
			v.Set(reflect.New(v.Type().Elem()))
			r.value(v.Elem(), tag)
			return
		}
		if r.Depth <= 0 && !strings.Contains(tag, "required") {
			if !strings.Contains(tag, "oneof") {
				return
			}
		}
		r.Depth--
		v.Set(reflect.New(v.Type().Elem()))
		if r.Depth > -3 {
			r.fields(v.Elem())
		}
		r.Depth++
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(r.text()))
			return
		}
		n := r.count()
		if v.Type().Elem().Kind() == reflect.Pointer && r.Depth <= 0 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.value(v.Index(i), tag)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Elem().Kind() == reflect.Pointer && r.Depth <= 0 {
			return
		}
		for range r.count() {
			k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.value(k, tag)
			r.value(x, tag)
			v.SetMapIndex(k, x)
		}
	case reflect.Interface:
		m := v.Type().Method(0).Type
		if m.NumIn() == 1 && m.In(0).Kind() == reflect.Func {
			m = m.In(0)
		}
		x := reflect.New(m.In(r.IntN(m.NumIn())).Elem())
		if f := x.Elem().Field(0); f.Kind() != reflect.Pointer || r.Depth > 0 {
			r.value(f, "oneof")
			v.Set(x)
		}
	}
}

// number gives numbers of every length.
func (r *Filler) number() uint64 {
	n := r.Uint64() >> r.IntN(65)
	if r.IntN(4) == 0 {
		return -n
	}
	return n
}

// text gives strings of one byte a character and of more, below and above the lengths at which codecs
// go another way.
func (r *Filler) text() string {
	switch r.IntN(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("é☃𝄞", r.IntN(20))
	case 2:
		return strings.Repeat("long ", r.IntN(200))
	}
	return "some text of any length that is right, up to about a hundred and twenty-eight bytes, which is where lengths become longer"[:r.IntN(122)]
}
