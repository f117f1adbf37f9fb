package oracle

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/hello"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// TestGeneratedPlannedAndDynamicAgree sends random values of generated types
// through the plan, from there through JSON by the IDL that they were generated
// from, and back: what arrives is what the plan alone would have given.
func TestGeneratedPlannedAndDynamicAgree(t *testing.T) {
	schema, err := thriftidl.Reader{}.Load("../../gen/testdata/idl/hello.thrift")
	if err != nil {
		t.Fatal(err)
	}
	structs := map[string]*idl.Struct{}
	for _, f := range schema.Files {
		if f.Listed {
			for _, s := range f.Structs {
				structs[s.Name] = s
			}
		}
	}
	lim := rpc.Limits{DecodeFactor: 100}.WithDefaults()
	for name, fresh := range map[string]func() any{
		"Everything": func() any { return new(hello.Everything) },
		"Tree":       func() any { return new(hello.Tree) },
		"Point":      func() any { return new(hello.Point) },
		"NotFound":   func() any { return new(hello.NotFound) },
	} {
		codec, err := dynamic.Struct(structs[name])
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(100) {
			msg := fresh()
			fill(rand.New(rand.NewPCG(seed, 9)), reflect.ValueOf(msg).Elem(), 1, false)
			if e, ok := msg.(*hello.Everything); ok && e.Needed == nil {
				e.Needed = hello.NewPoint()
			}
			var out buf.Out
			if err := (thrift.Binary{}).Append(&out, msg); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			body := out.Bytes()
			out.Reset()
			want, got := fresh(), fresh()
			if err := (thrift.Binary{}).Decode(buf.ViewOf(body), want, lim); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			var m dynamic.Message
			if err := codec.Decode(buf.ViewOf(body), &m, lim); err != nil {
				t.Fatalf("%s, seed %d: to JSON: %v", name, seed, err)
			}
			if err := codec.Append(&out, &m); err != nil {
				t.Fatalf("%s, seed %d: %s: %v", name, seed, m.JSON, err)
			}
			if err := (thrift.Binary{}).Decode(buf.ViewOf(out.Bytes()), got, lim); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, seed %d: %s\nbecame %+v, %v; want %+v", name, seed, m.JSON, got, err, want)
			}
			out.Reset()
		}
	}
}
