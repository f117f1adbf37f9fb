package lazy_test

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestLazyBlocks opens views of pooled blocks, changes and forwards them and
// releases everything in changing order, while the collector runs and the blocks
// are used again. What was read must stay, what was forwarded must be right when
// it is looked at later. With the tag invariants released blocks are taken out of
// use by package buf, and none may be left.
func TestLazyBlocks(t *testing.T) {
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
	live := buf.Live()
	for w := range uint64(3) {
		workers.Go(func() { forward(t, w) })
	}
	workers.Wait()
	close(stop)
	collector.Wait()
	if n := buf.Live(); n != live {
		t.Errorf("%d blocks are held after all was released; %d before", n, live)
	}
}

func forward(t *testing.T, w uint64) {
	type sent struct {
		out  *buf.Out
		want *lazy.Everything
	}
	var pending []sent
	var texts [][2]string
	for seed := range uint64(60) {
		r, msg := randomEverything(seed, 30+w)
		if seed%4 == 0 {
			msg.H = make([]byte, 20_000) // so that pieces are moved
			msg.G = string(make([]byte, 10_000))
		}
		var in buf.Out
		m := in.Mark()
		if err := (thrift.Binary{}).Append(&in, msg); err != nil {
			t.Error(err)
			return
		}
		body := in.Take(m)
		in.Reset()
		x, err := thrift.OpenLazy[lazy.LazyEverything](body, generous)
		want := new(lazy.Everything)
		if err == nil {
			err = thrift.Binary{}.Decode(body, want, generous)
		}
		body.Release()
		if err != nil {
			t.Error(err)
			return
		}
		texts = append(texts, [2]string{x.G(), want.G})
		for i, s := range x.Lg().All() {
			texts = append(texts, [2]string{s, want.Lg[i]})
		}
		r.Change(t, reflect.ValueOf(x), reflect.ValueOf(want))
		out := new(buf.Out)
		if err := (thrift.Binary{}).Append(out, x); err != nil {
			t.Error(err)
			return
		}
		x.Release()
		pending = append(pending, sent{out, want})
		if len(pending) == 8 {
			rand.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
			for _, p := range pending[4:] {
				got := new(lazy.Everything)
				if err := (thrift.Binary{}).Decode(buf.ViewOf(p.out.Bytes()), got, generous); err != nil || !reflect.DeepEqual(plainOf(t, got), plainOf(t, p.want)) {
					t.Errorf("worker %d before seed %d: %v", w, seed, err)
				}
				p.out.Reset()
			}
			pending = pending[:4]
		}
	}
	for _, p := range pending {
		p.out.Reset()
	}
	for _, s := range texts {
		if s[0] != s[1] {
			t.Errorf("worker %d: a string changed", w)
		}
	}
}
