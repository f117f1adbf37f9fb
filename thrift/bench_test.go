package thrift_test

import (
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func BenchmarkCodec(b *testing.B) {
	lim := rpc.Limits{}.WithDefaults()
	all := thrifttest.Shapes()
	for _, name := range []string{"echo", "small", "medium", "numbers", "maps"} {
		msg := all[name]
		var out buf.Out
		if err := (thrift.Binary{}).Append(&out, msg); err != nil {
			b.Fatal(err)
		}
		body := out.Bytes()
		b.Run(name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				// As on a connection: something is always held, so that blocks stay.
				m := out.Mark()
				if err := (thrift.Binary{}).Append(&out, msg); err != nil {
					b.Fatal(err)
				}
				out.Truncate(m)
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			view := buf.ViewOf(body)
			switch msg.(type) {
			case *thrifttest.Echo:
				for b.Loop() {
					thrifttest.Must(b, thrift.Binary{}.Decode(view, new(thrifttest.Echo), lim))
				}
			case *thrifttest.Small:
				for b.Loop() {
					thrifttest.Must(b, thrift.Binary{}.Decode(view, new(thrifttest.Small), lim))
				}
			case *thrifttest.Medium:
				for b.Loop() {
					thrifttest.Must(b, thrift.Binary{}.Decode(view, new(thrifttest.Medium), lim))
				}
			case *thrifttest.Numbers:
				for b.Loop() {
					thrifttest.Must(b, thrift.Binary{}.Decode(view, new(thrifttest.Numbers), lim))
				}
			default:
				fresh := reflect.New(reflect.TypeOf(msg).Elem())
				for b.Loop() {
					thrifttest.Must(b, thrift.Binary{}.Decode(view, fresh.Interface(), lim))
				}
			}
		})
	}
}
