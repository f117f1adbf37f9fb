package plan_test

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestNothingRefersToTheBody decodes from pooled blocks that are released and
// overwritten while the collector runs, and looks at the messages afterwards:
// a store that the collector does not see, a wrong layout or a string into the
// body would show. With the tag invariants released blocks are overwritten by
// package buf as well.
func TestNothingRefersToTheBody(t *testing.T) {
	stop := make(chan struct{})
	var collector, workers sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	lim := rpc.Limits{}.WithDefaults()
	for w := range uint64(3) {
		workers.Go(func() {
			var kept []*thrifttest.Everything
			var wants []*thrifttest.Everything
			for seed := range uint64(60) {
				r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, w))}
				want, got := new(thrifttest.Everything), new(thrifttest.Everything)
				r.Fill(reflect.ValueOf(want).Elem(), true, false)
				var out buf.Out
				m := out.Mark()
				if err := (thrift.Binary{}).Append(&out, want); err != nil {
					t.Error(err)
					return
				}
				v := out.Take(m)
				if err := (thrift.Binary{}).Decode(v, got, lim); err != nil {
					t.Error(err)
					return
				}
				if seed%2 == 0 {
					// The only other reference is gone: scribble over the body.
					clear(v.Bytes())
				}
				v.Release()
				out.Reset()
				kept, wants = append(kept, got), append(wants, want)
				if len(kept) == 10 {
					for i := range kept {
						if !reflect.DeepEqual(kept[i], wants[i]) {
							t.Errorf("worker %d: a message before seed %d changed", w, seed)
							return
						}
					}
					kept, wants = nil, nil
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	collector.Wait()
}
