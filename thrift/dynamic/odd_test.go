package dynamic_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// codecOf makes the codec of the first struct of an IDL.
func codecOf(t testing.TB, text string) *dynamic.Codec {
	t.Helper()
	s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
		if path == "odd.thrift" {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}.Load("odd.thrift")
	if err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.Struct(s.Files[0].Structs[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Needs is what the IDLs below have as Needs.
type Needs struct {
	A int32 `thrift:"a,1,required"`
}

// OddKeys is the struct of TestKeysOfAnotherType for the plans.
type OddKeys struct {
	M     thrift.Pairs[[]int8, *Needs]   `thrift:"m,1"`
	N     thrift.Pairs[[][]int8, *Needs] `thrift:"n,2"`
	L     []thrift.Pairs[[]int8, *Needs] `thrift:"l,3"`
	After int32                          `thrift:"after,4"`
}

// TestKeysOfAnotherType: a key that is a list of another type makes the map a field to be
// passed over, whatever its value is; the value is not read in between, where it would
// seem to lack what is required of it. The plans are the oracle.
func TestKeysOfAnotherType(t *testing.T) {
	c := codecOf(t, `struct OddKeys { 1: map<list<i8>, Needs> m, 2: map<list<list<i8>>, Needs> n, 3: list<map<list<i8>, Needs>> l, 4: i32 after }
struct Needs { 1: required i32 a }`)
	oddList := []byte{6, 0, 0, 0, 1, 0, 5}  // a list of one i16
	needs := []byte{8, 0, 1, 0, 0, 0, 9, 0} // Needs{9}
	oddMap := append([]byte{15, 12, 0, 0, 0, 1}, append(oddList, needs...)...)
	after := []byte{8, 0, 4, 0, 0, 0, 3, 0} // after = 3, stop
	field := func(typ, id byte, value ...[]byte) []byte {
		return append([]byte{typ, 0, id}, bytes.Join(append(value, after), nil)...)
	}
	for name, body := range map[string][]byte{
		"a map":                 field(13, 1, oddMap),
		"a list in the key":     field(13, 2, []byte{15, 12, 0, 0, 0, 1, 15, 0, 0, 0, 1}, oddList, needs),
		"a map in a list":       field(15, 3, []byte{13, 0, 0, 0, 1}, oddMap),
		"twice":                 append(append([]byte{13, 0, 1}, oddMap...), field(13, 1, oddMap)...),
		"behind one that is so": field(13, 1, []byte{15, 12, 0, 0, 0, 2, 3, 0, 0, 0, 1, 7}, needs, oddList, needs),
	} {
		var want OddKeys
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), &want, nil); err != nil || want.After != 3 || len(want.M)+len(want.N)+len(want.L) != 0 {
			t.Fatalf("%s: the plans give %+v, %v", name, want, err)
		}
		var got dynamic.Message
		if err := c.Decode(buf.ViewOf(body), &got, nil); err != nil || string(got.JSON) != `{"after":3}` {
			t.Errorf("%s: %s, %v", name, got.JSON, err)
		}
	}
	// With keys that are right the same values are there, and what they lack is a fault.
	right := field(13, 1, []byte{15, 12, 0, 0, 0, 1, 3, 0, 0, 0, 1, 7}, needs)
	if got := toJSON(t, c, right); got != `{"m":[{"key":[7],"value":{"a":9}}],"after":3}` {
		t.Errorf("right: %s", got)
	}
	err := c.Decode(buf.ViewOf(field(13, 1, []byte{15, 12, 0, 0, 0, 1, 3, 0, 0, 0, 1, 7, 0})), new(dynamic.Message), nil)
	var syntax *thrift.SyntaxError
	if !errors.As(err, &syntax) || syntax.Path != "Needs.a" {
		t.Errorf("without what is required: %v", err)
	}
}

// TestLongTextsInErrors: what a caller has written stands in errors, which go into logs:
// the begin of it, however long it is.
func TestLongTextsInErrors(t *testing.T) {
	c := codecOf(t, `struct S { 1: i32 n, 2: map<string, i32> m, 3: Color color, 4: uuid u, 5: double d, 6: binary b } enum Color { RED }`)
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"a member":  `{"` + long + `":1}`,
		"a key":     `{"m":{"` + long + `":"a"}}`,
		"a value":   `{"n":"` + long + `"}`,
		"a number":  `{"n":1` + strings.Repeat("0", 1<<20) + `}`,
		"a double":  `{"d":1` + strings.Repeat("0", 1<<20) + `}`,
		"an enum":   `{"color":"` + long + `"}`,
		"a uuid":    `{"u":"` + long + `"}`,
		"no base64": `{"b":"` + long + `!"}`,
		"no struct": `"` + long + `"`,
	} {
		_, err := appendTo(c, &dynamic.Message{JSON: []byte(text)})
		if err == nil || rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		} else if n := len(err.Error()); n > 500 {
			t.Errorf("%s: an error of %d bytes: %.100s", name, n, err)
		}
	}
}
