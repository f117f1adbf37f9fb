package ttheader

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/wire"
)

// A reader that waits for the end of a bare message with much nesting keeps no
// stack for it: nobody accounts for that.
func TestNestingTakesNoStack(t *testing.T) {
	const readers, depth = 100, 2000
	message := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), strings.Repeat("\x0c\x00\x01", depth)...)
	stacks := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.StackInuse
	}
	release := make(chan struct{})
	var cut, over sync.WaitGroup
	before := stacks()
	for range readers {
		cut.Add(1)
		over.Go(func() {
			s := Protocol{}.Open(wire.Server, testLimits)
			var in buf.In
			feed(&in, message)
			if ev, need, err := s.Cut(&in); ev.Flags != 0 || need < 1 || err != nil {
				t.Errorf("%s, %d, %v", trace(ev), need, err)
			}
			cut.Done()
			<-release
			in.Close()
			runtime.KeepAlive(s)
		})
	}
	cut.Wait()
	if each := (int64(stacks()) - int64(before)) / readers; each > 24<<10 {
		t.Errorf("a reader has a stack of %d bytes", each)
	}
	close(release)
	over.Wait()
}
