package pipe

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A laneModel is what a lane has to do, told in the plainest way: one list of bytes
// with the time from which each can be received.
type laneModel struct {
	cfg     Config
	bytes   []timed
	in      int
	held    bool
	stalled bool
	ended   bool
	endAt   time.Time
	heldEnd bool
	failed  error // both sides
}

type timed struct {
	b    byte
	at   time.Time
	held bool
}

// send is what lane.send takes of p, and its error.
func (m *laneModel) send(p []byte) (n int, err error) {
	switch {
	case m.failed != nil:
		return 0, m.failed
	case m.ended:
		return 0, net.ErrClosed
	case m.stalled:
		return 0, nil
	}
	n = min(len(p), m.cfg.Buffer-len(m.bytes))
	if m.cfg.MaxSend > 0 {
		n = min(n, m.cfg.MaxSend)
	}
	for _, b := range p[:n] {
		m.bytes = append(m.bytes, timed{b, time.Now().Add(m.cfg.Delay), m.held})
	}
	m.in += n
	return n, nil
}

// receive is what lane.receive gives for size bytes, and its error.
func (m *laneModel) receive(size int) (p []byte, err error) {
	if m.failed != nil {
		return nil, m.failed
	}
	for len(m.bytes) > 0 && len(p) < size && !m.bytes[0].held && !m.bytes[0].at.After(time.Now()) {
		p = append(p, m.bytes[0].b)
		m.bytes = m.bytes[1:]
	}
	if len(p) == 0 && len(m.bytes) == 0 && m.ended && !m.heldEnd && !m.endAt.After(time.Now()) {
		err = io.EOF
	}
	return p, err
}

// hold is lane.hold: what it lets go is on its way from then on.
func (m *laneModel) hold(on bool) {
	if m.held == on {
		return
	}
	if m.held = on; on {
		m.heldEnd = m.ended // the end does not overtake the hold, if it has not been received
		return
	}
	for i := range m.bytes {
		if m.bytes[i].held {
			m.bytes[i].held, m.bytes[i].at = false, time.Now().Add(m.cfg.Delay)
		}
	}
	if m.ended {
		m.heldEnd, m.endAt = false, time.Now().Add(m.cfg.Delay)
	}
}

func (m *laneModel) finish() {
	if !m.ended {
		m.ended, m.heldEnd, m.endAt = true, m.held, time.Now().Add(m.cfg.Delay)
	}
}

func (m *laneModel) fail() {
	if m.failed == nil {
		m.failed = ErrReset
	}
}

// FuzzLane compares a lane with its model, over whatever is done to it: nothing is
// lost, invented, out of order, early or late, and each side is told the same end.
func FuzzLane(f *testing.F) {
	for _, ops := range [][]byte{ // an operation and its argument each
		{0, 40, 1, 20, 7, 39, 1, 20, 7, 1, 1, 20},                        // received before their time, and in time
		{8, 0, 0, 40, 2, 0, 0, 10, 1, 90, 1, 1, 3, 0, 1, 90},             // held behind what has passed
		{0, 30, 2, 0, 6, 0, 7, 90, 1, 40, 1, 1, 3, 0, 1, 1, 7, 40, 1, 1}, // the end is held as well
		{4, 0, 0, 9, 5, 0, 0, 9, 6, 0, 0, 9, 7, 40, 1, 9, 1, 9},          // full, and sent to after the end
		{9, 0, 0, 50, 0, 50, 7, 99, 1, 5, 2, 0, 0, 9, 3, 0, 1, 99},       // little by little
		{0, 90, 0, 1, 7, 40, 1, 1, 0, 5, 10, 0, 1, 50, 0, 1, 6, 0},       // full, then reset
	} {
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{Buffer: 64, Delay: 10 * time.Millisecond}
			if len(ops) > 0 && ops[0] == 8 {
				cfg.Delay = 0
			} else if len(ops) > 0 && ops[0] == 9 {
				cfg.MaxSend = 7
			}
			l, m := newLane(cfg), &laneModel{cfg: cfg}
			l.onEnd = func() {}
			next := byte(0)
			for len(ops) > 0 && !t.Failed() {
				arg := 1
				if len(ops) > 1 {
					arg = int(ops[1])
				}
				switch op := ops[0]; op {
				case 0: // two pieces
					p := make([]byte, arg)
					for i := range p {
						p[i] = next + byte(i)
					}
					n, err := l.send([][]byte{p[:arg/2], p[arg/2:]})
					if want, werr := m.send(p); n != want || !errors.Is(err, werr) || (err == nil) != (werr == nil) {
						t.Errorf("send of %d: %d, %v; want %d, %v", arg, n, err, want, werr)
					}
					next += byte(n)
				case 1:
					p := make([]byte, arg)
					n, wait, err := l.receive(p)
					want, werr := m.receive(arg)
					if arg > 0 && (!bytes.Equal(p[:n], want) || !errors.Is(err, werr) || (err == nil) != (werr == nil)) {
						t.Errorf("receive of %d: %x, %v; want %x, %v", arg, p[:n], err, want, werr)
					}
					if wait < 0 || wait > cfg.Delay {
						t.Errorf("there is more in %v", wait)
					}
				case 2, 3:
					l.hold(op == 2)
					m.hold(op == 2)
				case 4, 5:
					l.stall(op == 4)
					m.stalled = op == 4
				case 6:
					l.finish(nil)
					m.finish()
				case 7:
					time.Sleep(time.Duration(arg) * time.Millisecond / 4)
				case 10:
					l.fail(ErrReset)
					m.fail()
				}
				ops = ops[min(2, len(ops)):]
			}
			synctest.Wait()
		})
	})
}

// A reset that comes behind an orderly end takes nothing from the receiver, as a
// socket gives what has come before it tells of the reset.
func TestResetBehindTheEnd(t *testing.T) {
	for name, orderly := range map[string]bool{"ended": true, "open": false} {
		l := newLane(Config{Buffer: 64})
		l.onEnd = func() {}
		l.send([][]byte{[]byte("last")}) //nolint:errcheck // seen by the receiver
		if orderly {
			l.finish(nil)
		}
		l.reset()
		p := make([]byte, 8)
		n, _, err := l.receive(p)
		if got := string(p[:n]); orderly && (got != "last" || err != nil) || !orderly && (got != "" || err != ErrReset) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, _, err := l.receive(p); orderly && err != io.EOF || !orderly && err != ErrReset {
			t.Errorf("%s, then %v", name, err)
		}
	}
}

// A signal is raised for each change that somebody may wait for, and a stale one only
// has the waiter look again.
func TestSignals(t *testing.T) {
	up := func(ch chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	l := newLane(Config{Buffer: 4})
	l.onEnd = func() {}
	p := make([]byte, 8)
	for _, step := range []struct {
		name               string
		do                 func()
		readable, writable bool
	}{
		{"bytes", func() { l.send([][]byte{[]byte("abcd")}) }, true, false},      //nolint:errcheck // counted below
		{"none, for it is full", func() { l.send([][]byte{{1}}) }, false, false}, //nolint:errcheck // counted below
		{"some received", func() { l.receive(p[:1]) }, false, true},              //nolint:errcheck // counted below
		{"held", func() { l.hold(true); l.send([][]byte{{1}}) }, false, false},   //nolint:errcheck // counted below
		{"released", func() { l.hold(false) }, true, false},
		{"released again", func() { l.hold(false) }, false, false},
		{"stalled", func() { l.stall(true) }, false, false},
		{"goes on", func() { l.stall(false) }, false, true},
		{"ended", func() { l.finish(nil) }, true, true},
		{"nobody receives", func() { l.closeReceiver() }, true, true},
	} {
		step.do()
		if r, w := up(l.readable), up(l.writable); r != step.readable || w != step.writable {
			t.Errorf("%s: readable %v, writable %v", step.name, r, w)
		}
	}
	if l.mu.in != 5 || l.mu.out != 5 {
		t.Errorf("%d bytes in, %d out", l.mu.in, l.mu.out)
	}
}
