package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// maxBatch bounds the events that are cut before they are looked at.
const maxBatch = 128

// cut takes whole frames off in until none is left. It is the step of both
// halves' Receive, and does nothing but cut: it runs while the descriptor's
// read lock is held.
func cut(s wire.Session, in *buf.In, batch *[]wire.Event, rest *frameTimer) (more bool, err error) {
	had := len(*batch)
	for len(*batch) < maxBatch {
		ev, need, err := s.Cut(in)
		if ev.Flags != 0 {
			*batch = append(*batch, ev)
		}
		if err != nil {
			return false, err
		}
		if ev.Flags == 0 {
			in.Expect(need)
			rest.set(in.Len() > 0, len(*batch) > had)
			return len(*batch) == 0, nil
		}
	}
	return false, nil
}

// A frameTimer ends a connection whose peer began a frame and does not finish
// it. Owned by the reader.
type frameTimer struct {
	nc    netio.Conn
	limit time.Duration
	timer *time.Timer
	armed bool
}

// set tells whether a started frame waits for its rest, and whether frames were
// cut before it: then it is not the one that waited last time.
func (t *frameTimer) set(partial, another bool) {
	switch {
	case partial && t.armed && another:
		t.timer.Reset(t.limit)
	case partial == t.armed:
	case !partial:
		t.timer.Stop()
	case t.timer == nil:
		t.timer = time.AfterFunc(t.limit, t.nc.Abort)
	default:
		t.timer.Reset(t.limit)
	}
	t.armed = partial
}

func (t *frameTimer) stop() { t.set(false, false) }
