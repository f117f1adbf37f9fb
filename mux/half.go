package mux

import (
	"context"
	"runtime"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A half is what both ends of a connection are made of: Conn, the client's, and
// ServerConn, the server's, embed it. It has the byte connection with its output,
// the session, what is read, what is held, and how large messages and streams
// are sent.
//
// In the names of methods Locked says that the output lock is held on entry and on
// return, though it may be given back in between; Unlocks that it is held on entry,
// and Locks that it is held on return, only. Where that depends, the comment says so.
type half struct {
	// Set by init, then constant.
	nc      netio.Conn
	out     *netio.Output
	sess    wire.Session
	lim     *rpc.Limits
	peer    string
	side    side
	serves  bool         // it is the server's
	clock   wire.Clocked // nil: the session needs no time
	closer  wire.Closer  // nil: no answer of the session is its last
	step    netio.Step
	large   chan struct{} // capacity 1: held by who sends a large message in pieces
	granted signal        // the peer has granted credit for pieces, or waiting for it is over

	// Guarded by the output lock.
	streams streams
	account Account
	mix     mix
	keeping keeping

	// Owned by the holder of the read role, and not touched by it after the
	// unlock that gives the role away.
	batch  batch
	frames frameTimer
}

// A side is a half as what both have in common sees it: Conn or ServerConn. The
// output lock is held on entry of each, and on return, unless it says otherwise.
type side interface {
	// spawnLocked runs f on a goroutine that the end of the connection waits for.
	spawnLocked(f func())
	// waitUnlocks waits until w, which is s's, is off, and returns without the lock.
	waitUnlocks(s *stream, w *waiter)
	// wroteLocked is told how many bytes were appended for s since before.
	wroteLocked(s *stream, before int)
	// enterUnpack waits for a place to unpack a message of s, without the lock, and
	// returns what gives it back. An error: the call has ended.
	enterUnpack(s *stream) (leave func(), err error)
	// stirredLocked sees to what a change of a stream has released, and says whether
	// others are about to add to the output.
	stirredLocked() haste
}

// init makes the half of side, which is not used before its own fields are set.
func (h *half) init(side side, nc netio.Conn, s wire.Session, cfg *Config) {
	h.nc, h.out, h.sess, h.lim, h.peer, h.side = nc, nc.Output(), s, cfg.Limits, nc.Remote().String(), side
	h.large, h.granted = make(chan struct{}, 1), newSignal()
	h.frames = newFrameTimer(h, cfg.Limits.FrameRest)
	h.clock, _ = s.(wire.Clocked)
	h.closer, _ = s.(wire.Closer)
	h.keeping.by, _ = s.(wire.Keeper)
}

// A haste says when the flusher sends.
type haste bool

const (
	atOnce   haste = false
	yielding haste = true // after those that run have added theirs: one system call carries all
)

// among is the haste of a flusher beside n others that are about to add to the output.
func among(n int) haste { return haste(n > 0) }

// unlock gives the lock back, and sends what is queued if that made this goroutine the flusher.
func (h *half) unlock() { h.unlockThen(atOnce) }

// unlockThen is unlock with a haste for the flush.
func (h *half) unlockThen(w haste) {
	if h.out.Unlock() {
		h.flush(w)
	}
}

// unlockMore is unlock after a message that others of its stream are to follow: they
// share the send of a goroutine that does not run yet.
func (h *half) unlockMore() {
	h.side.stirredLocked()
	if h.out.ClaimLocked() {
		h.side.spawnLocked(func() { h.flush(yielding) })
	}
	h.out.Unlock()
}

// unlockSent is unlock after a change of a stream, such as its last message for now.
func (h *half) unlockSent() { h.unlockThen(h.side.stirredLocked()) }

// flush sends what is queued, as the flusher. It never parks in a write: a full
// socket is left to a goroutine of its own, so that a cancelled caller can go.
func (h *half) flush(w haste) {
	if w == yielding {
		runtime.Gosched()
	}
	h.flushed(h.out.TryFlush())
}

// flushed sees to what a flush has left, of a flusher whose TryFlush returned full and err.
func (h *half) flushed(full bool, err error) {
	if err != nil {
		abortSoon(h.nc)
		return
	}
	if !full {
		return
	}
	h.out.Lock()
	failed := h.out.Err() != nil // since: nothing may be spawned any more
	if !failed {
		h.side.spawnLocked(func() {
			if h.out.Flush() != nil {
				abortSoon(h.nc)
			}
		})
	}
	h.unlock()
	if failed {
		h.out.GiveUp()
		abortSoon(h.nc)
	}
}

// spawn is side.spawnLocked for a caller without the lock.
func (h *half) spawn(f func()) {
	h.out.Lock()
	h.side.spawnLocked(f)
	h.unlock()
}

// abortSoon ends a connection on which sending has failed. What the peer has said
// before it went may not have been received yet: whoever reads finds it, and then the
// end; at once, as a rule.
func abortSoon(nc netio.Conn) { time.AfterFunc(lingerTime, nc.Abort) }

// lingerTime is how long the end of a connection waits for the peer's.
const lingerTime = time.Second

// linger ends our side and reads past what the peer still sends, until it has
// ended its own or for a moment: a close with bytes unread, or before the last
// have come, is a reset, which can overtake what was sent. The caller holds the
// read role.
func (h *half) linger() {
	timer := time.AfterFunc(lingerTime, h.nc.Abort)
	defer timer.Stop()
	if h.nc.CloseWrite() != nil {
		return
	}
	why := netio.Enough
	for why != netio.Lost {
		why, _ = h.nc.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
	}
}

// applyLocked has the session take ev into effect, before anything else is made of it,
// and returns how many bytes that has appended. It adds the streams that may go on
// sending to list. The caller holds the read role.
func (h *half) applyLocked(ev *wire.Event, list *waiter) (n int, woken *waiter) {
	out := h.out.Out()
	before, flags := out.Len(), ev.Flags
	h.sess.Apply(out, ev)
	if flags&(wire.Credit|wire.Stream) == wire.Credit {
		h.granted.raise()
	}
	if flags&wire.Settings != 0 || flags&(wire.Credit|wire.Stream) == wire.Credit {
		list = h.streams.stirLocked(list)
	}
	h.watchKeptLocked()
	return out.Len() - before, list
}

// awaitPiece waits until the next piece of a large message may be queued: the output
// is short, and beside small messages the peer has granted credit, or overLocked says
// that nothing is to be waited for any more. The wait ends with ctx, and with the
// connection, which a peer that grants nothing for Limits.WriteStall loses.
func (h *half) awaitPiece(ctx context.Context, p pieces, overLocked func() bool) error {
	if err := h.out.Wait(ctx, pieceQueued); err != nil || !p.beside {
		return err
	}
	err := awaitCredit(ctx, h.granted, h.lim.WriteStall, func() bool {
		h.out.Lock()
		defer h.unlock()
		return h.sess.Credit(0) > 0 || overLocked()
	})
	if err == netio.ErrStalled {
		h.nc.Abort()
	}
	return err
}

// tick tells a session the time that needs it. The caller holds the read role, and cuts.
func (h *half) tick() {
	if h.clock != nil {
		h.clock.Clock(time.Now())
	}
}

// A signal has whoever waits for it look again. It is not counted.
type signal chan struct{}

// newSignal makes a signal that was not raised.
func newSignal() signal { return make(signal, 1) }

// raise wakes the one that waits, or the next one that will.
func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}
