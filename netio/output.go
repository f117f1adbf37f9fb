package netio

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// An Output is the sending half of a connection, and its one lock: an engine
// guards its own state of the connection with it too.
//
// Writers append to Out under the lock. The first of them to unlock becomes the
// flusher and sends, outside the lock, what all have queued, until nothing is
// left. So many messages share a system call.
type Output struct {
	// Set by newOutput, then constant.
	sender Sender
	stall  time.Duration
	seal   *sealer // not nil: what is queued is transformed before it is sent
	source buf.Source
	sum    *sum // nil: nobody sums up; set by CountInto

	// Atomic.
	err    atomic.Pointer[error] // set once
	queued atomic.Int64          // bytes in out, plain and sending
	handed atomic.Uint64         // bytes of out that may have left, never fewer than have; see HandedToKernel
	low    atomic.Int64          // waiters are woken when queued falls below; 0 while nobody waits

	wait struct {
		sync.Mutex
		ch chan struct{} // closed and dropped to wake all; nil while nobody waits
	}

	// mu is the lock. Lock order: mu before wait.
	mu struct {
		sync.Mutex
		out      *buf.Out // what writers append to; nil until somebody does
		counted  int32    // bytes of out that queued counts already
		flushing bool     // somebody is the flusher
		fin      bool     // CloseWrite was called: the end is to be sent after out, and counts as one byte
		finSent  bool     // the flusher has begun to send it
		finDone  bool     // it counts no longer
	}

	// Owned by the flusher, or by whoever holds mu while nobody flushes.
	sending *buf.Out // on its way; swapped with out; nil while nothing is
	plain   *buf.Out // with seal only: swapped with out, not yet transformed
	sent    uint64   // without seal: bytes of out that have left
}

// A sealer transforms what is queued, for TLS.
type sealer struct {
	// seal moves some of plain, transformed, to the end of dst.
	seal func(plain, dst *buf.Out) error
	// finish appends the end of the stream to dst.
	finish func(dst *buf.Out) error
	// waits reports whether seal has something that was never in plain: answers
	// of the transforming protocol itself.
	waits func() bool
}

// newOutput makes the Output of a connection that sends through s. Blocks are
// drawn from src (nil: the pools). If the peer takes nothing for stall (0: for
// 30 s; negative: for ever) while output is queued, s.Stalled is called.
func newOutput(s Sender, src buf.Source, stall time.Duration) *Output {
	o := new(Output)
	o.init(s, src, stall)
	return o
}

// init makes o ready. stall is how long a peer may take nothing; 0 is the default, a negative one for ever.
func (o *Output) init(s Sender, src buf.Source, stall time.Duration) {
	if stall == 0 {
		stall = defaultStall
	} else if stall < 0 {
		stall = 1<<63 - 1
	}
	o.sender, o.stall, o.source = s, stall, src
}

// Lock takes the connection's lock. Hold it briefly: never call a method of the
// connection other than Out, Unlock, Err and Queued meanwhile.
func (o *Output) Lock() { o.mu.Lock() }

// Out is what is to be sent. It is used under the lock only; what Out.Block
// lends is handed back before Unlock.
func (o *Output) Out() *buf.Out {
	if o.mu.out == nil {
		o.mu.out = o.borrow()
	}
	return o.mu.out
}

// Source is where Out draws its blocks, nil for the pools. It does not change.
func (o *Output) Source() buf.Source { return o.source }

// Unlock gives the lock back. True: there is output and nobody sends it, so the
// caller is the flusher now, and must call Flush, or Receive with owed set. On
// a connection that has failed, what was appended is dropped.
func (o *Output) Unlock() (flusher bool) {
	flusher = o.ClaimLocked()
	o.mu.Unlock()
	return flusher
}

// ClaimLocked is the answer of Unlock ahead of it, for a caller that decides under the
// lock what becomes of the flush. The Unlock that follows answers false then.
func (o *Output) ClaimLocked() (flusher bool) {
	n := held(o.mu.out)
	if d := n - int(o.mu.counted); d != 0 {
		o.mu.counted = int32(n)
		o.count(d)
	}
	if n > 0 && o.err.Load() != nil {
		o.dropLocked()
	} else if !o.mu.flushing && o.err.Load() == nil && o.dueLocked() {
		o.mu.flushing = true
		flusher = true
	}
	return flusher
}

// dueLocked reports whether there is anything to be sent.
func (o *Output) dueLocked() bool {
	return held(o.mu.out) > 0 || o.mu.fin && !o.mu.finSent && !o.mu.finDone || o.seal != nil && o.seal.waits()
}

// Queued is the number of bytes that are queued and not yet handed to the
// kernel. It is exact at Unlock; under the lock it lacks what was just appended.
func (o *Output) Queued() int { return int(o.queued.Load()) }

// HandedToKernel is the number of bytes, of all that were ever appended to Out, that
// may have reached the peer: those handed to the kernel, or to TLS, and while a
// send runs all that it may hand on. A call whose first byte is not among them
// once the connection has failed was not sent, and will not be.
func (o *Output) HandedToKernel() uint64 { return o.handed.Load() }

// Err is what the connection failed with, nil while it works. The end of the
// peer's side is not a failure of the output.
func (o *Output) Err() error {
	if p := o.err.Load(); p != nil {
		return *p
	}
	return nil
}

// CutShort is Fail where something is missing behind what was sent, of which the
// peer cannot know: no end may be sent, so that Close is as Abort, and returns err.
func (o *Output) CutShort(err error) { o.Fail(cutShort{err}) }

// cutShort is what CutShort has an Output fail with.
type cutShort struct{ error }

// Unwrap gives the cause.
func (e cutShort) Unwrap() error { return e.error }

// EndLocked asks for the end of our side after what is queued.
func (o *Output) EndLocked() {
	if !o.mu.fin && o.err.Load() == nil {
		o.mu.fin = true
		o.count(1)
	}
}

// finDoneLocked notes that the peer was told that nothing follows; the lock is held.
func (o *Output) finDoneLocked() {
	if o.mu.fin && !o.mu.finDone {
		o.mu.finDone = true
		o.count(-1)
	}
}

// closeWrite is CloseWrite for all connections.
func (o *Output) closeWrite() error {
	o.mu.Lock()
	o.EndLocked()
	if o.Unlock() {
		return o.Flush()
	}
	return o.Err()
}

// Fail makes err the sticky error unless there is one, drops what is queued and
// wakes who waits. What the flusher has taken is its own to drop.
func (o *Output) Fail(err error) {
	if err == nil {
		err = io.ErrClosedPipe
	}
	if !o.err.CompareAndSwap(nil, &err) {
		return
	}
	o.mu.Lock()
	o.dropLocked()
	o.mu.Unlock()
	o.wakeAll()
}

// dropLocked releases what is queued and nobody is sending.
func (o *Output) dropLocked() {
	o.finDoneLocked()
	o.count(-int(o.mu.counted))
	o.mu.counted = 0
	if o.mu.out != nil {
		o.mu.out.Reset()
	}
	if o.mu.flushing {
		return
	}
	n := held(o.sending)
	if o.sending != nil {
		o.sending.Reset()
	}
	if o.plain != nil {
		n += o.plain.Len()
		o.plain.Reset()
	}
	o.count(-n)
}
