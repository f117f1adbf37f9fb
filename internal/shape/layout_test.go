package shape_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

type (
	word   string
	number int32
	large  int64
	flag   bool
	rate   float64
)

// layouts has a map of every layout that typed code goes through, most with named types,
// which have the layout of those they are made of; and some that reflection has to do.
type layouts struct {
	SS map[word]word               `thrift:"ss,1"`
	SP map[word]*thrifttest.Leaf   `thrift:"sp,2"`
	SM map[word]map[word]word      `thrift:"sm,3"`
	SL map[word][]number           `thrift:"sl,4"`
	SB map[word][]byte             `thrift:"sb,5"`
	S8 map[word]large              `thrift:"s8,6"`
	SD map[word]rate               `thrift:"sd,7"`
	S4 map[word]number             `thrift:"s4,8"`
	S1 map[word]int8               `thrift:"s1,9"`
	SF map[word]flag               `thrift:"sf,10"`
	NS map[number]word             `thrift:"ns,11"`
	NP map[number]*thrifttest.Leaf `thrift:"np,12"`
	NL map[number][]word           `thrift:"nl,13"`
	N8 map[number]rate             `thrift:"n8,14"`
	N4 map[number]number           `thrift:"n4,15"`
	LS map[large]word              `thrift:"ls,16"`
	LP map[large]*thrifttest.Leaf  `thrift:"lp,17"`
	LL map[large][]large           `thrift:"ll,18"`
	L8 map[large]large             `thrift:"l8,19"`
	L4 map[large]number            `thrift:"l4,20"`
	FD map[rate]rate               `thrift:"fd,21"`
	BS map[flag]word               `thrift:"bs,22"`
	I1 map[int8]int8               `thrift:"i1,23"`
	I2 map[int16][]rate            `thrift:"i2,24"`
	US map[thrift.UUID]word        `thrift:"us,25"`
	S2 map[word]int16              `thrift:"s2,26"`
}

func filledLayouts() *layouts {
	leaf := func() *thrifttest.Leaf { return &thrifttest.Leaf{ID: 3, Name: "leaf"} }
	return &layouts{
		SS: map[word]word{"a": "b", "": "c"}, SP: map[word]*thrifttest.Leaf{"a": leaf()}, SM: map[word]map[word]word{"a": {"b": "c"}, "d": {}},
		SL: map[word][]number{"a": {1, 2}, "b": {}}, SB: map[word][]byte{"a": {1}}, S8: map[word]large{"a": -1}, SD: map[word]rate{"a": 0.5},
		S4: map[word]number{"a": 1 << 30}, S1: map[word]int8{"a": -128}, SF: map[word]flag{"a": true, "b": false},
		NS: map[number]word{-1: "a", 7: ""}, NP: map[number]*thrifttest.Leaf{1: leaf()}, NL: map[number][]word{2: {"x"}}, N8: map[number]rate{3: -0.25}, N4: map[number]number{4: 5},
		LS: map[large]word{1 << 40: "a"}, LP: map[large]*thrifttest.Leaf{2: leaf()}, LL: map[large][]large{3: {4}}, L8: map[large]large{-5: 6}, L4: map[large]number{7: 8},
		FD: map[rate]rate{0.5: 1.5, -1: 0}, BS: map[flag]word{true: "t", false: "f"}, I1: map[int8]int8{-1: 1}, I2: map[int16][]rate{300: {0.5}},
		US: map[thrift.UUID]word{{1, 2}: "u"}, S2: map[word]int16{"a": -300},
	}
}

// TestMapsOfEveryLayout: all walkers, and both wires, take a map by its layout for what it
// is: nothing of it is lost, and a copy shares nothing with it.
func TestMapsOfEveryLayout(t *testing.T) {
	want := filledLayouts()
	if err := thrift.Validate(want); err != nil {
		t.Fatal(err)
	}
	body, err := thrift.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	decoded := new(layouts)
	if err := thrift.Unmarshal(body, decoded); err != nil || !reflect.DeepEqual(decoded, want) {
		t.Errorf("decoded: %v\n%+v\n%+v", err, decoded, want)
	}
	v := reflect.ValueOf(want).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		copied := thrift.Clone(want)
		if !reflect.DeepEqual(copied, want) || !thrift.Equal(copied, want) {
			t.Fatalf("%s: the copy is %+v", name, copied)
		}
		// The copy without one entry, and with another value in it, is another message.
		m := reflect.ValueOf(copied).Elem().Field(i)
		key := m.MapKeys()[0]
		value := m.MapIndex(key)
		m.SetMapIndex(key, reflect.Value{})
		if thrift.Equal(copied, want) || thrift.Equal(want, copied) || v.Field(i).Len() != m.Len()+1 {
			t.Errorf("%s: a copy without an entry equals the whole, or shares its map", name)
		}
		m.SetMapIndex(key, value)
		if !thrift.Equal(copied, want) {
			t.Errorf("%s: with the entry again it is not equal", name)
		}
		m.SetMapIndex(key, other(value))
		if thrift.Equal(copied, want) {
			t.Errorf("%s: a copy with %v in the place of %v is equal", name, m.MapIndex(key), value)
		}
		if text := thrift.String(want); !strings.HasPrefix(text, "layouts{ss:{\"\":\"c\" \"a\":\"b\"}") || !utf8.ValidString(text) {
			t.Errorf("String: %s", text)
		}
	}
}

// other gives a value of the same type that is not v.
func other(v reflect.Value) reflect.Value {
	x := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		x.SetString(v.String() + "!")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x.SetInt(v.Int() ^ 1)
	case reflect.Float64:
		x.SetFloat(v.Float() + 1)
	case reflect.Bool:
		x.SetBool(!v.Bool())
	case reflect.Pointer:
		x.Set(reflect.ValueOf(&thrifttest.Leaf{ID: 9}))
	case reflect.Slice:
		x.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Map:
		x.Set(reflect.MakeMap(v.Type()))
		x.SetMapIndex(reflect.ValueOf("new").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	}
	return x
}

// shade is an enum whose names are not those of an IDL.
type shade int32

func (s shade) String() string { return strings.Repeat("x", int(s)) + strings.Repeat("é", 100) }

// TestLongEnumNames: the name of an enum's value is cut between characters, and it shows.
func TestLongEnumNames(t *testing.T) {
	for n := range shade(4) {
		m := &struct {
			A shade `thrift:"a,1"`
			B int8  `thrift:"b,2"`
		}{A: n, B: 7}
		got := thrift.String(m)
		name, rest, _ := strings.Cut(strings.TrimPrefix(got, "{a:"), "…")
		if !utf8.ValidString(got) || rest != " b:7}" || !strings.HasPrefix(n.String(), name) || len(name) > shape.MaxQuoted || len(name) < shape.MaxQuoted-1 {
			t.Errorf("%d: %q", n, got)
		}
	}
}
