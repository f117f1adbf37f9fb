package shape_test

import (
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// BenchmarkHelpers has what works on any message, on the shape medium, beside
// what a user would take instead.
func BenchmarkHelpers(b *testing.B) {
	m := thrifttest.Shapes()["medium"].(*thrifttest.Medium)
	c := thrift.Clone(m)
	mask, err := thrift.Keep[thrifttest.Medium]("items.sku,tags")
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		run  func() bool
	}{
		{"equal", func() bool { return thrift.Equal(m, c) }},
		{"equal by reflection", func() bool { return reflect.DeepEqual(m, c) }},
		{"clone", func() bool { return thrift.Clone(m) != nil }},
		{"clone by encoding", func() bool { return thrifttest.Decode(thrifttest.Encode(b, m), new(thrifttest.Medium)) == nil }},
		{"validate", func() bool { return thrift.Validate(m) == nil }},
		{"string", func() bool { return thrift.String(m) != "" }},
		{"mask", func() bool { mask.Apply(c); return true }}, // the last one: it changes c
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !tt.run() {
					b.Fatal("wrong")
				}
			}
		})
	}
}
