package relay

import (
	"testing"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// BenchmarkPipes is a pooled pipe, taken and put back, against one that is made
// and closed, of the same size.
func BenchmarkPipes(b *testing.B) {
	fresh := func() {
		r, w, _, err := sys.OpenPipe(defaultPipeSize)
		if err != nil {
			b.Fatal(err)
		}
		sys.Close(r)
		sys.Close(w)
	}
	p := new(Pipes)
	defer p.Close()
	for _, x := range []struct {
		name string
		do   func()
	}{{"pooled", func() { p.Put(p.Take()) }}, {"new", fresh}} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.do()
			}
		})
		b.Run(x.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					x.do()
				}
			})
		})
	}
}
