package mux

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// A chatty session has many events for each byte.
type chatty struct {
	wire.Session
	each, left int
}

func (s *chatty) Unfinished() uint64 { return 0 }

func (s *chatty) Cut(in *buf.In) (ev wire.Event, need int, err error) {
	if s.left == 0 {
		if in.Len() == 0 {
			return ev, 1, nil
		}
		in.Skip(1)
		s.left = s.each
	}
	s.left--
	ev.Flags = wire.Note
	if s.left > 0 {
		need = -1
	}
	return ev, need, nil
}

// What has come in one frame is in one batch, however many events it is: of what the
// session would keep, no byte of input would tell.
func TestEventsOfOneFrame(t *testing.T) {
	for _, each := range []int{1, 2, fewEvents + 1, maxBatch, maxBatch + 1, 5*maxBatch + 3} {
		var in buf.In
		var b batch
		s := &chatty{each: each}
		copy(in.Space(), "abc")
		in.Filled(3)
		var frames frameTimer
		for total := 0; ; {
			b.reset()
			again, err := cut(s, &in, &b, &frames)
			if err != nil || s.left != 0 {
				t.Fatalf("%d each: %d are left, %v", each, s.left, err)
			}
			if total += len(b.list); in.Len() == 0 && (again || len(b.list) < maxBatch || total == 3*each) {
				if total != 3*each {
					t.Errorf("%d each: %d events", each, total)
				}
				break
			}
		}
		b.reset()
		if cap(b.list) > fewEvents && b.few == nil && each > maxBatch {
			t.Errorf("%d each: the connection keeps room for %d", each, cap(b.list))
		}
		in.Close()
	}
}
