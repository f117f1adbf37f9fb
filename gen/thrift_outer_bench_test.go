package gen_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/hello"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/stream"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// BenchmarkOuter encodes and decodes arguments and results of methods, whose
// types only generated code names.
func BenchmarkOuter(b *testing.B) {
	thing := &stream.Number{N: 7}
	for _, c := range []struct {
		name    string
		service rpc.Service
		method  string
		result  bool
		fields  []any
	}{
		{"struct argument", stream.HelloService(nil), "echo", false, []any{thing}},
		{"struct result", stream.HelloService(nil), "echo", true, []any{thing}},
		{"exception", hello.HelloService(nil), "find", true, []any{nil, &hello.NotFound{Message: "nowhere"}}},
		{"two numbers", hello.HelloService(nil), "add", false, []any{int32(1), int32(2)}},
		{"a number", hello.HelloService(nil), "add", true, []any{new(int32(3))}},
		{"a text", hello.HelloService(nil), "text", false, []any{"text"}},
		{"a text result", hello.HelloService(nil), "text", true, []any{new("text")}},
		{"numbers", hello.HelloService(nil), "numbers", false, []any{[]int32{1, 2, 3}}},
	} {
		msg := outer(c.service, c.method, c.result)
		for i, f := range c.fields {
			if f != nil {
				reflect.ValueOf(msg).Elem().Field(i).Set(reflect.ValueOf(f))
			}
		}
		body, err := appended(thrift.Binary{}, 0, msg)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name+"/encode", func(b *testing.B) {
			var out buf.Out
			out.AppendString("held")
			m := out.Mark()
			b.ReportAllocs()
			for b.Loop() {
				out.Truncate(m)
				if err := (thrift.Binary{}).Append(&out, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			v, lim := buf.ViewOf(body), rpc.Limits{}.WithDefaults()
			zero := reflect.Zero(reflect.TypeOf(msg).Elem())
			into := reflect.ValueOf(fresh(msg))
			b.ReportAllocs()
			for b.Loop() {
				into.Elem().Set(zero)
				if err := (thrift.Binary{}).Decode(v, into.Interface(), lim); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOuterCall makes whole calls, over a connection and in this process.
func BenchmarkOuterCall(b *testing.B) {
	ctx, stop := context.WithCancel(b.Context())
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- (&limosa.Server{Services: []rpc.Service{stream.HelloService(streamer{})}}).Serve(ctx, l)
	}()
	remote, err := stream.Dial(l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]stream.Hello{"tcp": remote, "local": stream.NewClient(limosa.Local(stream.Service(streamer{})))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if n, err := c.Echo(ctx, &stream.Number{N: 7}); err != nil || n.N != 7 {
						b.Error(n, err)
					}
				}
			})
		})
	}
	remote.Close()
	stop()
	if err := <-served; err != nil {
		b.Error(err)
	}
}

// outer gives an empty message of a method: its arguments, or its result.
func outer(s rpc.Service, method string, result bool) any {
	for _, h := range s.Methods {
		if h.Method.Name == method {
			c := h.Method.New()
			if result {
				return rpc.EngineOf(c).Result()
			}
			args, err := rpc.EngineOf(c).Args()
			if err != nil {
				panic(err)
			}
			return args
		}
	}
	panic("there is no method " + method)
}
