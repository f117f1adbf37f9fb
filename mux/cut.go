package mux

import (
	"sync"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// maxBatch bounds the events that are cut before they are looked at.
const maxBatch = 128

// fewEvents is how many events a connection keeps the memory for.
const fewEvents = 8

// A batch is the events that were cut and are to be looked at. The memory of a large
// one is borrowed: a connection that sleeps would keep 30 KB of it, and nobody
// accounts for that.
type batch struct {
	list []wire.Event
	few  []wire.Event // not nil: list is borrowed, and this is the connection's own
}

// batches is a pool of plain memory: what is in it refers to nothing.
var batches = sync.Pool{New: func() any { return new([maxBatch]wire.Event) }}

// add takes ev in, whose body is the batch's from then on: whoever looks at the events
// releases it, or hands it on and leaves an empty one.
func (b *batch) add(ev wire.Event) {
	if len(b.list) == fewEvents && b.few == nil {
		b.few = b.list
		b.list = append(batches.Get().(*[maxBatch]wire.Event)[:0], b.few...)
		clear(b.few)
	}
	b.list = append(b.list, ev)
}

// reset empties the batch, whose events were seen to.
func (b *batch) reset() {
	clear(b.list)
	if b.few != nil {
		if cap(b.list) == maxBatch { // else it has grown beyond what is borrowed
			batches.Put((*[maxBatch]wire.Event)(b.list[:maxBatch]))
		}
		b.list, b.few = b.few, nil
	}
	b.list = b.list[:0]
}

// cut takes whole frames off in until none is left. It is the step of both
// halves' Receive, and does nothing but cut: it runs while the descriptor's
// read lock is held.
func cut(s wire.Session, in *buf.In, b *batch, frames *frameTimer) (again bool, err error) {
	had := len(b.list)
	for more := false; more || len(b.list) < maxBatch; {
		ev, need, err := s.Cut(in)
		more = need < 0
		if ev.Flags != 0 {
			b.add(ev)
		}
		if err != nil {
			return false, err
		}
		if ev.Flags == 0 {
			in.Expect(need)
			frames.set(in.Len() > 0, len(b.list) > had, s.Unfinished())
			return len(b.list) == 0, nil
		}
	}
	frames.stop() // what may be there besides is looked at in the next turn
	return false, nil
}
