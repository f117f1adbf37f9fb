package mux

import (
	"context"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

type none struct{}

func (none) Append(*buf.Out, any) error                   { return nil }
func (none) Decode(buf.View, any, *rpc.Limits) error      { return nil }
func newCall() *rpc.Call                                  { return &stub.NewCall[int, int](&noop, "S").Call }
func (t *slots) reused(s *slot, call *rpc.Call) (ok bool) { return t.take(call) == s }

var noop = rpc.Method{Service: "S", Name: "noop", Codec: none{}}

// An abandoned call's late answer may come before its caller has got the lock
// to clear up. By then the slot serves somebody else.
func TestLateAnswerBeforeTheAbandonedCallClearsUp(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	a, b := pipe.New(pipe.Config{})
	defer b.Abort()
	c := NewConn(a, ttheader.Protocol{}.Open(wire.Client, lim), Config{Limits: lim})
	defer c.Close()
	c.out.Lock()
	c.caps.Mux = true
	c.unlock()
	first, second := newCall(), newCall()
	r, err := c.send(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if !r.slot.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
		t.Fatal("the call does not wait")
	}
	c.late(r.slot, r.id)
	c.out.Lock()
	if !c.slots.reused(r.slot, second) {
		t.Fatal("the slot is not taken next")
	}
	c.unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.leads = true
	c.abandon(ctx, r)
	if r.slot.call != second {
		t.Error("the second call was taken out of its slot by the first")
	}
}

func TestGenerationsWrapPastZero(t *testing.T) {
	var all slots
	seen := map[uint64]int{}
	for range 3 * generation {
		s := all.take(nil)
		if s.id() == 0 || s.id() > 1<<32-1 || s.id()>>indexBits == 0 {
			t.Fatalf("id %#x", s.id())
		}
		seen[s.id()]++
		if s.word.CompareAndSwap(word(s.id()-1<<indexBits, waiting), 0) {
			t.Fatal("the last generation's id ends this one's call")
		}
		all.put(s)
	}
	if len(all.all) != 1 || len(seen) != generation {
		t.Errorf("%d slots, %d ids", len(all.all), len(seen))
	}
}

func TestSlotsAreApart(t *testing.T) {
	var all slots
	ids := map[uint64]bool{}
	for range 1000 {
		s := all.take(nil)
		ids[s.id()] = true
		if all.find(s.id()) != s {
			t.Fatal("find does not find")
		}
	}
	if len(ids) != 1000 || all.find(1000) != nil {
		t.Errorf("%d ids", len(ids))
	}
}
