package netio

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
)

// A Sender is what an Output sends through. Only the flusher calls Send and
// CloseSend, so neither runs twice at a time.
type Sender interface {
	// Send sends from the start of b as much as goes, and returns how many
	// bytes that were: for each try it takes the pieces from b, and tells b what
	// went. If nothing goes it waits up to wait for room, and then returns
	// os.ErrDeadlineExceeded; with wait 0 it never waits and returns 0, nil. It
	// also returns 0, nil after Wake.
	Send(b *Batch, wait time.Duration) (n int, err error)
	// CloseSend tells the peer that nothing follows.
	CloseSend() error
	// Wake makes a Send that waits return soon.
	Wake()
	// Stalled aborts the connection: its peer took nothing for too long.
	Stalled(cause error)
}

// sends is the part of a Sender that flush needs.
type sends interface {
	Send(b *Batch, wait time.Duration) (n int, err error)
}

// A Batch is what an Output has on its way. It belongs to the flusher.
type Batch Output

// Pieces appends to dst, up to its capacity, what is to be sent first. The
// pieces are borrowed until Sent. From here on they count as handed on: whoever
// sees what follows from the send, a reset for example, must not find that
// nothing was. None: the connection has failed, and nothing may be sent.
func (b *Batch) Pieces(dst [][]byte) [][]byte {
	iov := b.sending.Iov(dst)
	if b.seal != nil {
		return iov // counted when it was taken, under the lock
	}
	n := b.sent
	for _, p := range iov {
		n += uint64(len(p))
	}
	b.handed.Store(n)
	// Look after the claim: whoever failed the connection before it may have
	// read HandedToKernel already; whoever does so from here on finds the claim.
	if b.err.Load() != nil {
		b.handed.Store(b.sent)
		return dst
	}
	return iov
}

// Sent tells that the first n bytes of the last Pieces have gone, 0 if none.
func (b *Batch) Sent(n int) {
	if b.seal == nil {
		b.sent += uint64(n)
		b.handed.Store(b.sent)
	}
	if n > 0 {
		b.sending.Sent(n)
		(*Output)(b).count(-n)
	}
}

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

// Unlock gives the lock back. True: there is output and nobody sends it, so the
// caller is the flusher now, and must call Flush, or Receive with owed set. On
// a connection that has failed, what was appended is dropped.
func (o *Output) Unlock() (flusher bool) {
	flusher = o.ClaimLocked()
	o.mu.Unlock()
	return flusher
}

// ClaimLocked is the answer of Unlock ahead of it, for who decides under the
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

// Flush sends until nothing is queued, also what others queue meanwhile; then
// the caller is the flusher no longer. It parks while the peer takes nothing,
// so the caller must not hold the read role: a peer that writes much before it
// reads would wait for ever. The error is the sticky one of Err.
func (o *Output) Flush() error {
	if invariant.Enabled {
		o.mu.Lock()
		invariant.Check(o.mu.flushing || o.err.Load() != nil, "netio: Flush by who is not the flusher")
		o.mu.Unlock()
	}
	for {
		full, err := o.flush(o.sender, o.stall, time.Time{})
		switch {
		case !full:
			return err
		case err != errWoken:
			return o.stalled()
		}
	}
}

// stalled ends a flush, and the connection, whose peer took nothing for too long.
func (o *Output) stalled() error {
	o.sender.Stalled(ErrStalled)
	o.Fail(ErrStalled) // if the sender has not done so
	o.giveUp()
	return o.Err()
}

// FlushBy is Flush with a deadline, zero for none, which is asked for again after
// each Wake. owing: it has come, and the caller still is the flusher.
func (o *Output) FlushBy(deadline func() time.Time) (owing bool, err error) {
	for {
		by := deadline()
		full, err := o.flush(o.sender, o.stall, by)
		switch {
		case !full:
			return false, err
		case err == errWoken:
		case !by.IsZero() && !time.Now().Before(by):
			return true, os.ErrDeadlineExceeded
		default:
			return false, o.stalled()
		}
	}
}

// Wake has a FlushBy that waits ask for its deadline again.
func (o *Output) Wake() { o.sender.Wake() }

// GiveUp ends the caller's being the flusher of a connection that has failed, and
// drops what it had taken.
func (o *Output) GiveUp() { o.giveUp() }

// CutShort is Fail where something is missing behind what was sent, of which the
// peer cannot know: no end may be sent, so that Close is as Abort, and returns err.
func (o *Output) CutShort(err error) { o.Fail(cutShort{err}) }

// cutShort is what CutShort has an Output fail with.
type cutShort struct{ error }

// Unwrap gives the cause.
func (e cutShort) Unwrap() error { return e.error }

// errWoken is how flush returns after Sender.Wake.
var errWoken = errors.New("netio: woken")

// TryFlush is Flush for who must not park: full means that the peer takes
// nothing now and that the caller still is the flusher.
func (o *Output) TryFlush() (full bool, err error) { return o.flush(o.sender, 0, time.Time{}) }

// flush sends through s until nothing is queued. full: the peer takes nothing
// now (wait 0, err nil), took nothing for wait, or not everything until by, if
// that is not zero (both os.ErrDeadlineExceeded), or the sender was woken
// (errWoken); then the caller is still the flusher. Else it is not.
func (o *Output) flush(s sends, wait time.Duration, by time.Time) (full bool, err error) {
	for {
		more, err := o.take()
		if err != nil {
			o.Fail(err)
			o.giveUp()
			return false, o.Err()
		}
		if !more {
			return false, o.Err()
		}
		for held(o.sending) > 0 {
			w := wait
			if !by.IsZero() {
				if w = min(wait, time.Until(by)); w <= 0 {
					return true, os.ErrDeadlineExceeded
				}
			}
			n, err := s.Send((*Batch)(o), w)
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded):
				return true, err
			case err != nil:
				o.Fail(err)
				o.giveUp()
				return false, o.Err()
			case n == 0 && wait == 0:
				return true, nil
			case n == 0:
				return true, errWoken
			}
		}
	}
}

// take gets output ready to be sent. False: there is none, and the caller is
// the flusher no longer.
func (o *Output) take() (more bool, err error) {
	if o.err.Load() != nil {
		o.giveUp()
		return false, nil
	}
	if held(o.sending) > 0 {
		return true, nil
	}
	if o.seal != nil && o.plain.Len() > 0 {
		return true, o.transform()
	}
	o.mu.Lock()
	if held(o.mu.out) > 0 {
		if o.seal == nil {
			o.mu.out, o.sending = o.sending, o.mu.out
		} else {
			o.mu.out, o.plain = o.plain, o.mu.out
			o.handed.Add(uint64(o.plain.Len()))
		}
		o.mu.counted = 0
		o.mu.Unlock()
		if o.seal != nil {
			err = o.transform()
		}
		return true, err
	}
	if o.seal != nil && o.seal.waits() {
		o.mu.Unlock()
		return true, o.transform()
	}
	if o.mu.fin && !o.mu.finSent && !o.mu.finDone {
		o.mu.finSent = true
		o.mu.Unlock()
		return true, o.finish()
	}
	o.mu.flushing = false
	o.giveBackLocked()
	o.mu.Unlock()
	return false, nil
}

// transform seals some of plain into sending.
func (o *Output) transform() error {
	if o.sending == nil {
		o.sending = o.borrow()
	}
	before := o.plain.Len() + o.sending.Len()
	err := o.seal.seal(o.plain, o.sending)
	o.count(o.plain.Len() + o.sending.Len() - before)
	return err
}

// finish ends our side. With a sealer the end has bytes of its own: they are
// sent by the caller's next round, and the FIN comes a round later.
func (o *Output) finish() error {
	if o.seal == nil || o.seal.finish == nil {
		err := o.sender.CloseSend()
		o.mu.Lock()
		o.finDoneLocked()
		o.mu.Unlock()
		return err
	}
	if o.sending == nil {
		o.sending = o.borrow()
	}
	before := o.sending.Len()
	err := o.seal.finish(o.sending)
	o.count(o.sending.Len() - before)
	o.seal.finish = nil
	o.mu.Lock()
	o.mu.finSent = false
	o.mu.Unlock()
	return err
}

// EndLocked asks for the end of our side after what is queued.
func (o *Output) EndLocked() {
	if !o.mu.fin && o.err.Load() == nil {
		o.mu.fin = true
		o.count(1)
	}
}

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

// giveUp ends the caller's being the flusher and drops what it had taken. The
// connection has failed: see forsake.
func (o *Output) giveUp() {
	o.mu.Lock()
	o.mu.flushing = false
	o.dropLocked()
	o.mu.Unlock()
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
