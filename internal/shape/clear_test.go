package shape_test

import (
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A Mixed has fields that are not Thrift's between those that are.
type Mixed struct {
	Before string
	A      int8    `thrift:"a,1"`
	B      float64 `thrift:"b,2"`
	C      *string `thrift:"c,3,optional"`
	Own    map[string]int
	D      []string         `thrift:"d,4"`
	E      map[string]int32 `thrift:"e,5,optional"`
	own    int
	F      thrifttest.Either `thrift:"f,6"`
	G      *Mixed            `thrift:"g,7"`
	Rest   thrift.Unknown
	After  bool
}

// TestDecodeReplaces decodes into a message that was used before: nothing of what
// it held may be left but what is none of Thrift's.
func TestDecodeReplaces(t *testing.T) {
	for name, codec := range map[string]rpc.Codec{"binary": thrift.Binary{}, "compact": thrift.Compact{}, "JSON": thrift.JSON{}} {
		var out buf.Out
		if err := codec.Append(&out, &thrifttest.Defaults{Port: 1, List: []int32{}}); err != nil {
			t.Fatal(err)
		}
		some := string(out.Bytes())
		out.Reset()
		if err := codec.Append(&out, new(struct{})); err != nil {
			t.Fatal(err)
		}
		none := string(out.Bytes())
		out.Reset()

		m := &Mixed{Before: "x", A: 1, B: -0.5, C: new("c"), Own: map[string]int{"o": 1}, D: []string{"d"}, E: map[string]int32{"e": 1}, own: 7,
			F: &thrifttest.EitherNumber{Number: 1}, G: &Mixed{}, Rest: thrift.Unknown{2, 0, 9, 1}, After: true}
		if err := codec.Decode(buf.ViewOf([]byte(none)), m, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := (&Mixed{Before: "x", Own: map[string]int{"o": 1}, own: 7, After: true}); !reflect.DeepEqual(m, want) {
			t.Errorf("%s: %+v is left; want %+v", name, m, want)
		}
		for i := range reflect.TypeFor[thrifttest.Everything]().NumField() {
			f, used := reflect.TypeFor[thrifttest.Everything]().Field(i), new(thrifttest.Everything)
			if tag, ours := f.Tag.Lookup("thrift"); !ours || tag == "-" || !f.IsExported() {
				continue
			}
			fillField(reflect.ValueOf(used).Elem().Field(i))
			if err := codec.Decode(buf.ViewOf([]byte(none)), used, nil); err != nil || !reflect.DeepEqual(used, new(thrifttest.Everything)) {
				t.Errorf("%s: %s: %v is left, %v", name, f.Name, reflect.ValueOf(used).Elem().Field(i), err)
			}
		}
		d := &thrifttest.Defaults{Host: new("mine"), Inner: &thrifttest.Leaf{}}
		for _, body := range []string{some, none} {
			if err := codec.Decode(buf.ViewOf([]byte(body)), d, nil); err != nil || *d.Host != "localhost" || d.Inner != nil {
				t.Errorf("%s: %+v, %v; want the defaults", name, d, err)
			}
		}
		if d.Port != 80 || len(d.List) != 2 {
			t.Errorf("%s: %+v; want the defaults", name, d)
		}
	}
}

// fillField gives v a value other than zero.
func fillField(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(-128)
	case reflect.Float64:
		v.SetFloat(1e-300)
	case reflect.String:
		v.SetString("x")
	case reflect.Array:
		v.Index(15).SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Interface:
		v.Set(reflect.ValueOf(&thrifttest.EitherNumber{}))
	}
}
