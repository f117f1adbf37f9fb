package netio

import (
	"errors"
	"os"
	"time"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// Flush sends until nothing is queued, also what others queue meanwhile; then
// the caller is the flusher no longer. It parks while the peer takes nothing,
// so the caller must not hold the read role: a peer that writes much before it
// reads would wait for ever. The error is the sticky one of Err.
func (o *Output) Flush() error {
	if invariant.Enabled {
		o.mu.Lock()
		invariant.Check(o.mu.flushing || o.err.Load() != nil, "netio: Flush by a caller that is not the flusher")
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

// errWoken is how flush returns after Sender.Wake.
var errWoken = errors.New("netio: woken")

// TryFlush is Flush for a caller that must not park: full means that the peer takes
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

// giveUp ends the caller's being the flusher and drops what it had taken. The
// connection has failed: see forsake.
func (o *Output) giveUp() {
	o.mu.Lock()
	o.mu.flushing = false
	o.dropLocked()
	o.mu.Unlock()
}
