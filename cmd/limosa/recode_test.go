package main

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

const allIDL = `
enum Colour { RED = 1, BLUE = 2 }
union Either { 1: i64 number, 2: string text }
struct All {
  1: bool yes, 2: i8 small, 3: i16 short, 4: i32 mid, 5: i64 long, 6: double real, 7: string text, 8: binary blob,
  9: list<bool> flags, 10: set<string> words, 11: map<string, list<i32>> rows, 12: Colour colour, 13: Either either,
  300: optional All inner, 301: uuid id
}
service S { All echo(1: All all) }
`

// What goes out in Compact is what thrift.Compact reads, and comes back as the
// JSON that Binary gives.
func TestRecoder(t *testing.T) {
	schema, err := thriftidl.Reader{}.Load(writeFile(t, "all.thrift", allIDL))
	if err != nil {
		t.Fatal(err)
	}
	x := &target{link: &link{}}
	if err := x.of(schema, "S/echo"); err != nil {
		t.Fatal(err)
	}
	in := x.rpc.Codec.(rpc.Recoder)
	if in.In(rpc.Native) != nil {
		t.Error("there is a codec for what Binary is already")
	}
	for _, request := range []string{
		`{}`,
		`{"all":{}}`,
		`{"all":{"rows":{},"flags":[],"words":[],"text":""}}`,
		`{"all":{"yes":true,"small":-128,"short":-32768,"mid":2147483647,"long":"-9223372036854775808","real":-0.5,"text":"é","blob":"AAE="}}`,
		`{"all":{"flags":[true,false,true],"words":["a","b"],"rows":{"x":[1,-2],"y":[]},"colour":"BLUE","either":{"text":"t"}}}`,
		`{"all":{"inner":{"inner":{"long":7}},"id":"00112233-4455-6677-8899-aabbccddeeff"}}`,
	} {
		args := &dynamic.Args{JSON: []byte(request)}
		want, got := recoded(t, in, in, args), recoded(t, in, in.In(rpc.Compact), args)
		if got != want {
			t.Errorf("%s comes back as\n%s\nand in Binary as\n%s", request, got, want)
		}
	}
}

// recoded sends a request, which is an answer for who reads field 1 as field 0.
func recoded(t *testing.T, binary, c rpc.Codec, args *dynamic.Args) string {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := c.Append(&out, args); err != nil {
		t.Fatalf("%s: %v", args.JSON, err)
	}
	var all fields
	var err error
	if c == binary {
		err = thrift.Binary{}.Decode(buf.ViewOf(out.Bytes()), &all, nil)
	} else {
		err = thrift.Compact{}.Decode(buf.ViewOf(out.Bytes()), &all, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", args.JSON, err)
	}
	if len(all.All) > 2 {
		all.All[2] = 0 // the first field's id
	}
	var answer buf.Out
	defer answer.Reset()
	if c == binary {
		err = thrift.Binary{}.Append(&answer, &all)
	} else {
		err = thrift.Compact{}.Append(&answer, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	var result dynamic.Result
	if err := c.Decode(buf.ViewOf(answer.Bytes()), &result, nil); err != nil {
		return "error: " + rpc.CodeOf(err).String()
	}
	return string(result.JSON)
}

// What is no message of Compact is an error, at whatever byte it ends.
func TestRecoderRefuses(t *testing.T) {
	in := recoder{rawCodec{}}.In(rpc.Compact)
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Compact{}).Append(&out, &i64Result{Success: new(int64(1 << 40))}); err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	for n := range whole {
		if err := in.Decode(buf.ViewOf(whole[:n]), &rawBody{}, nil); err == nil {
			t.Errorf("%x was taken, which is %d bytes of %x", whole[:n], n, whole)
		}
	}
	if err := in.Decode(buf.ViewOf(whole), &rawBody{}, nil); err != nil {
		t.Error(err)
	}
	if err := in.Append(&out, "no message"); err == nil {
		t.Error("a string was taken for a message")
	}
}
