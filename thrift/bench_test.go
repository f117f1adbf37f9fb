package thrift_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func shapes() map[string]any {
	items := make([]*Item, 100)
	for i := range items {
		items[i] = &Item{ID: int64(i), Sku: fmt.Sprintf("sku-%08d", i), Name: strings.Repeat("n", 24), Price: 1.5, Count: 3, Live: true, Made: 1 << 40, Note: strings.Repeat("note ", 6)}
	}
	tags, maps := map[string]string{}, map[string]string{}
	for i := range 500 {
		maps[fmt.Sprintf("key-number-%d", i)] = fmt.Sprintf("the value of key %d", i)
		if i < 50 {
			tags[fmt.Sprintf("tag%d", i)] = strings.Repeat("t", 20)
		}
	}
	return map[string]any{
		"echo": &Echo{ID: 7, Text: strings.Repeat("x", 1024), Numbers: []int64{1, 2, 3, 4, 5}},
		"small": &Small{ID: 1 << 50, Kind: 3, Sku: "sku-123456", Name: "a thing with a name of 30 bytes", Price: 9.99,
			Count: 12, Live: true, Owner: "somebody", Made: 1 << 60, Note: "and a note of about forty bytes, no more"},
		"medium":  &Medium{ID: 5, Items: items, Tags: tags, Blob: make([]byte, 4096)},
		"numbers": &Numbers{Numbers: make([]int64, 131072)},
		"maps": &struct {
			M map[string]string `thrift:"m,1"`
		}{maps},
	}
}

func BenchmarkCodec(b *testing.B) {
	lim := rpc.Limits{}.WithDefaults()
	all := shapes()
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
			case *Echo:
				for b.Loop() {
					must(b, thrift.Binary{}.Decode(view, new(Echo), lim))
				}
			case *Small:
				for b.Loop() {
					must(b, thrift.Binary{}.Decode(view, new(Small), lim))
				}
			case *Medium:
				for b.Loop() {
					must(b, thrift.Binary{}.Decode(view, new(Medium), lim))
				}
			case *Numbers:
				for b.Loop() {
					must(b, thrift.Binary{}.Decode(view, new(Numbers), lim))
				}
			default:
				fresh := reflect.New(reflect.TypeOf(msg).Elem())
				for b.Loop() {
					must(b, thrift.Binary{}.Decode(view, fresh.Interface(), lim))
				}
			}
		})
	}
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}
