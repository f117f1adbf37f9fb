package mux

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/limosa-rpc/limosa/wire"
)

// How a server's connection ends: by its peer (hangUp, readToEnd, loseLocked), and by
// this side (Drain, Abort). The last worker to leave closes it, see leave.

// hangUp is told by netio that the peer went, or that the connection was closed
// on this side, while nobody was in Receive. It must not block.
func (c *ServerConn) hangUp() {
	c.out.Lock()
	c.gone = true
	c.noticeEndLocked()
	c.unlock()
}

// noticeEndLocked has a goroutine of its own find out how a connection that has gone
// has ended, unless whoever reads does. The workers may all be kept from it: by
// handlers, by a barrier that only an answer lifts, or by both.
func (c *ServerConn) noticeEndLocked() {
	if c.gone && c.unreadLocked() && !c.ending {
		c.ending = true
		c.staffLocked(1)
		go c.readToEnd()
	}
}

// leavingLocked reports whether the end of the connection is known and not read yet.
// Streams that were opened before it and are not begun wait for it: all are given up then.
func (c *ServerConn) leavingLocked() bool { return c.gone && c.input == inputOpen }

// readToEnd reads to the end of a connection that has gone, past the barriers that
// wait for answers: what is left to be read is what the peer's last packets
// have brought. It begins no request, since handlers that run Inline have
// nothing beside them, unless it is the last worker.
func (c *ServerConn) readToEnd() {
	c.out.Lock()
	for c.unreadLocked() {
		if c.crampedLocked() {
			c.standLocked()
		} else if c.readOnce() {
			c.out.Lock() // the event loop goes on as the worker that this was
			c.ending = false
			c.noticeEndLocked() // unless it has done so already
			c.unlock()
			return
		}
	}
	c.ending, c.fresh = false, false // others may have run for long since
	for c.cfg.Handlers == Inline && c.workers > 1 {
		if c.leave() {
			return
		}
	}
	c.workUnlocks()
}

// crampedLocked reports whether reading on would make this side hold more than
// it may: a peer that has ended one side only may still be owed its answers.
func (c *ServerConn) crampedLocked() bool {
	return !c.overLocked() && (c.clogged() || c.account.fullLocked() && !c.account.refusingLocked())
}

// standLocked gives what is held the time to go away that haltLocked gives it,
// and like it has the account refuse if nothing did.
func (c *ServerConn) standLocked() {
	flusher, p := c.claimLocked(), c.account.pauseLocked(0)
	c.out.Unlock()
	if flusher {
		c.flush(atOnce)
	}
	if c.clogged() {
		ctx, cancel := context.WithTimeout(context.Background(), heldStall)
		c.awaitReader(ctx)
		cancel()
	} else {
		p.wait(c.out, heldStall)
	}
	c.out.Lock()
	if c.account.vainLocked(p) {
		c.account.refusing = true
	}
}

// loseLocked notes that nothing more comes, and why. Those whose callers have
// gone with the connection are given up, and those whose callers have not, since
// it is this side that ends it.
func (c *ServerConn) loseLocked(err error, fx *aftermath) {
	c.granted.raise()
	c.account.easeLocked()
	c.input, c.err = inputLost, cmp.Or(c.probe.why, err)
	// Who has ended the connection of a Closer, HTTP's, has given up what it asked for: it has no other way.
	if errors.Is(err, io.EOF) && !c.broken && !c.sess.Caps().Mux && c.closer == nil {
		c.input = inputEnded
	}
	if c.leftLocked(err) {
		c.cfg.Rush.left(c.arrived)
	}
	how := givenUp
	if c.cutErr != nil {
		how = cutOff
	}
	c.loseRequestsLocked(how, fx)
	c.opened = nil // they were given up: whoever yields for this connection holds none of them
	if c.requests.n > 0 {
		total, end := c.account.total, time.Now().Add(halfOpenTime)
		c.halfOpen = time.AfterFunc(halfOpenLook, func() { c.endHalfOpen(total, end) })
	}
}

// loseRequestsLocked gives up what nobody waits for any more, by way of how.
func (c *ServerConn) loseRequestsLocked(how phase, fx *aftermath) {
	var next *request
	for r := c.requests.first; r != nil; r = next {
		next = r.next
		if r.stream != nil {
			r.stream.endLocked(errLost())
			fx.woken = r.stream.stirLocked(fx.woken)
			c.giveUpLocked(r, how, fx)
		} else if c.input == inputLost && !r.oneway { // nobody waits for a oneway call anyway: it was accepted, and runs
			c.giveUpLocked(r, how, fx)
		}
	}
}

// answersLostLocked has a connection be lost whose peer has ended its sending side
// before, and reads no answers either: who closes a socket in order is told from who
// reads on by the reset that meets the first answer, and nobody is in Receive then.
func (c *ServerConn) answersLostLocked() {
	if c.input != inputEnded || c.out.Err() == nil {
		return
	}
	c.input = inputLost
	fx := new(aftermath)
	if c.loseRequestsLocked(givenUp, fx); fx.any() {
		c.spawnLocked(func() { c.apply(fx) })
	}
}

// halfOpenTime is how long handlers may go on after a peer without the offer
// has ended its sending side: it may wait for answers, or be gone. Peers of our
// kind never end one side only; their calls are cancelled at once.
const (
	halfOpenTime = 30 * time.Second
	// halfOpenLook is how often it is looked whether the server is full, for
	// those who have said that nothing more comes of them are the first to go then:
	// whether they still read is not known, and their reset is not told.
	halfOpenLook = time.Second
)

// endHalfOpen gives up what runs for a peer that has ended its side, at end or
// once the server is full, as total tells.
func (c *ServerConn) endHalfOpen(total *Total, end time.Time) {
	c.out.Lock()
	over := total.Full() || !time.Now().Before(end)
	if !over && c.requests.n > 0 {
		c.halfOpen.Reset(halfOpenLook)
	}
	c.unlock()
	if over {
		c.giveUpAll(givenUp)
	}
}

// Drain tells the peer to go elsewhere, refuses new calls, and waits until those
// that were accepted have run and their answers have left, until ctx ends; then
// the contexts of calls are cancelled, and they and their answers have a second
// more. A peer that was told is given the time to close the connection itself,
// so that no call of it is lost on the way, and so is one that is in the middle
// of a request. What comes later still meets this side's last word, see partLocked.
// What still runs after all is left to itself; Running names it.
func (c *ServerConn) Drain(ctx context.Context) {
	c.out.Lock()
	c.drainLocked()
	c.unlock()
	c.seeOff(ctx)
}

// DrainIdle is Drain of a connection that has no calls. False: it has some, and
// goes on.
func (c *ServerConn) DrainIdle(ctx context.Context) (drains bool) {
	c.out.Lock()
	if drains = c.requests.n == 0; drains {
		c.drainLocked()
	}
	c.unlock()
	if drains {
		c.seeOff(ctx)
	}
	return drains
}

// drainLocked takes no calls from now on, and says so, once: a second drain may begin
// when the first has said this side's last word, behind which nothing follows.
func (c *ServerConn) drainLocked() {
	if c.draining {
		return
	}
	c.draining = true
	encode(c.out.Out(), c.sess, &wire.Event{Flags: wire.GoAway}, nil) // a peer that cannot be told frames nothing
}

// seeOff waits for the end of a connection that drains, and makes it.
func (c *ServerConn) seeOff(ctx context.Context) {
	if !c.waitIdle(ctx.Done()) {
		c.giveUpAll(drained)
		grace, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		ctx = grace
		if !c.waitIdle(ctx.Done()) {
			c.Abort()
			return
		}
	}
	for again := true; again; again = (c.out.Queued() > 0 || c.keeps()) && c.out.Err() == nil && ctx.Err() == nil {
		c.out.Wait(ctx, 1) //nolint:errcheck // seen by Close
		c.awaitPeer(ctx)
	}
	c.part(ctx)
	c.nc.Close(ctx) //nolint:errcheck // what the peer has not taken by now is dropped
}

// part says this side's last word to a peer that understands it, and gives it the
// time to leave and the peer that to close the connection: a close with bytes
// unread, or before the last have come, is a reset, which can overtake the word.
// Meanwhile the workers read on, and drop what they read.
func (c *ServerConn) part(ctx context.Context) {
	c.out.Lock()
	told := c.partLocked()
	if c.closeLocked(); c.closing != nil {
		told = true
	}
	c.unlock()
	if !told {
		return
	}
	c.out.Wait(ctx, 1) //nolint:errcheck // seen by Close
	timer := time.NewTimer(lingerTime)
	defer timer.Stop()
	select {
	case <-c.over:
	case <-timer.C:
	}
}

// partLocked ends this side with its last word, if that is true: all that was begun
// has been answered, in order and before it, and from here on nothing is begun,
// nor appended to the output. So the peer knows of each call without an answer that
// it was not started, however it crossed the end on its way. After a drain that was
// cut off, or an answer that could not be framed, nothing is said.
func (c *ServerConn) partLocked() (told bool) {
	if c.parted || c.input != inputOpen || c.mute || c.requests.n > 0 || c.keeping.bytes > 0 || c.out.Err() != nil {
		return false
	}
	out := c.out.Out()
	before := out.Len()
	encode(out, c.sess, &wire.Event{Flags: wire.GoAway | wire.HasLast}, nil) // a peer that cannot be told frames nothing
	if out.Len() == before {
		return false
	}
	c.parted = true
	c.out.EndLocked()
	return true
}

// closeLocked ends this side behind what is queued, if the session has said its last, once.
// The peer has the time to read it and to close the connection: a close with bytes
// unread would be a reset, which can overtake an answer. Meanwhile what it sends is read.
func (c *ServerConn) closeLocked() {
	if c.closer == nil || c.closing != nil || c.input == inputLost || !c.closer.Closes() {
		return
	}
	shut := func() { c.nc.Close(context.Background()) } //nolint:errcheck // all that was queued has left by now
	c.closing = time.AfterFunc(math.MaxInt64, shut)
	c.spawnLocked(func() {
		c.nc.CloseWrite() //nolint:errcheck // seen by who reads; Limits.WriteStall bounds it
		c.closing.Reset(lingerTime)
	})
}

// unanswerableLocked aborts the connection for an answer that cannot be framed: its
// caller would wait for ever.
func (c *ServerConn) unanswerableLocked() {
	c.mute = true
	c.spawnLocked(c.nc.Abort) // which takes the lock
}

// awaitPeer gives a peer that was told to go, or from which nothing was heard
// yet, the time to close the connection itself; and one that is in the middle of
// a request as long as ctx, since that has to be refused in so many words. So has one
// that has no room for its answers yet.
func (c *ServerConn) awaitPeer(ctx context.Context) {
	c.out.Lock()
	waits := !c.heard || c.sess.Caps().Mux
	c.unlock()
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	for waits || c.midFrame.Load() || c.keeps() {
		select {
		case <-c.over:
			return
		case <-ctx.Done():
			return
		case <-grace.C:
			waits = false
			grace.Reset(frameLook)
		}
	}
}

// frameLook is how often a drain looks whether a frame has come to its end, or what the
// session keeps has left.
const frameLook = 20 * time.Millisecond

// Running names the methods of the calls that were begun and have not ended.
func (c *ServerConn) Running() (methods []string) {
	c.out.Lock()
	defer c.unlock()
	for r := c.requests.first; r != nil; r = r.next {
		if !r.is(queued) && r.h.Method != nil {
			methods = append(methods, r.h.Method.String())
		}
	}
	return methods
}

// Idle says when the peer of a connection without calls last sent anything; the
// zero time: it has calls, or has ended. A call that took long ended later.
func (c *ServerConn) Idle() (since time.Time) {
	c.out.Lock()
	defer c.unlock()
	if c.requests.n == 0 && c.input == inputOpen && c.out.Err() == nil {
		since = c.arrived
	}
	return since
}

// cancelGrace is what a handler has left once its context was cancelled, and
// what a peer has to close a drained connection.
const cancelGrace = time.Second

// Abort closes the connection at once; the contexts of its calls end.
func (c *ServerConn) Abort() {
	c.nc.Abort()
	c.out.Lock()
	c.streams.pace.endLocked()
	c.account.easeLocked()
	c.unlock()
}

// giveUpAll gives up whatever lives, by way of how.
func (c *ServerConn) giveUpAll(how phase) {
	var fx aftermath
	c.out.Lock()
	var next *request
	for r := c.requests.first; r != nil; r = next {
		next = r.next
		c.giveUpLocked(r, how, &fx)
	}
	c.unlock()
	c.apply(&fx)
}

// waitIdle waits until no request lives, or until stop is closed.
func (c *ServerConn) waitIdle(stop <-chan struct{}) (idle bool) {
	c.out.Lock()
	if c.requests.n == 0 {
		c.unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	wait := c.idle
	c.unlock()
	select {
	case <-wait:
		return true
	case <-stop:
		return false
	}
}
