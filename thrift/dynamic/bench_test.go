package dynamic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// benchTexts are a small message and one of 30 KB.
func benchTexts() map[string]string {
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"the name of leaf %d, which is of medium length"}`, i*1000, i))
	}
	return map[string]string{
		"small":  `{"b":true,"i32":-3,"i64":9223372036854775807,"d":-0.25,"s":"a short text","color":"GREEN","leaf":{"id":1,"name":"x"},"ints":[1,2,3],"msi":{"k":1}}`,
		"medium": `{"s":"` + strings.Repeat("text with é and \\n in it, ", 100) + `","leaves":[` + strings.Join(items, ",") + `]}`,
	}
}

func BenchmarkToThrift(b *testing.B) {
	c := structCodec(b, "Everything")
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			var out buf.Out
			out.AppendString("held")
			m, msg := out.Mark(), &dynamic.Message{JSON: []byte(text)}
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := c.Append(&out, msg); err != nil {
					b.Fatal(err)
				}
				out.Truncate(m)
			}
		})
	}
}

func BenchmarkToJSON(b *testing.B) {
	c := structCodec(b, "Everything")
	lim := rpc.Limits{}.WithDefaults()
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			body := buf.ViewOf(toThrift(b, c, &dynamic.Message{JSON: []byte(text)}))
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var m dynamic.Message
				if err := c.Decode(body, &m, lim); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
