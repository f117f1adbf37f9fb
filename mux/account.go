package mux

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// An Account counts the bytes that the peer of one connection makes this side
// hold, whatever for. Each thing that can be held has a row in the table of
// TestAccountTable, which fills it and shows its bound; whoever adds something
// that can be held adds a row.
//
// What is charged is charged under the output lock, in plain numbers. Three
// things are not charged but looked at: frames that are not whole, of which the
// reader tells (received); what waits in the output (Output.Queued, which the
// Total counts by itself); and what
// the session keeps between two frames, which its own limits bound.
type Account struct {
	// Set by init, then constant.
	total *Total
	limit int
	out   *netio.Output

	// Guarded by the output lock.
	held     int                // what was charged
	kept     int                // of this, what the session keeps until the peer has room for it
	wasted   int                // of this, what nobody has a stake in: see block
	told     int                // what the Total knows of it
	closed   bool               // and is told nothing more
	freed    uint64             // changed with each release: a sign of progress
	refusing bool               // nothing went away for long: what would add to it is refused
	eased    context.Context    // ends with the next release, or when waiting is over; nil while nobody waits
	ease     context.CancelFunc // ends it
	block    *block             // that of the batch at hand; nil: nothing of it is held
	spare    *block             // one that is out of use, or nil

	// Atomic: bytes of frames that are not whole.
	partial atomic.Int64

	// Owned by the read role.
	partialTold int
	turn        uint32 // of the In, when the batch at hand was cut
}

const (
	// perRequest is what a request or stream that lives costs besides its
	// bytes: its own record, its call object and its places in tables.
	perRequest = 512
	// perStream is what the record of a stream takes beyond that of a request.
	perStream = 640
	// perWorker is what a goroutine that runs a handler, or waits with one, costs;
	// freeWorkers are those of a connection that are not charged, so that a
	// connection whose handlers do not block changes nothing.
	perWorker   = 4 << 10
	freeWorkers = 4
	// tellEvery is the least change that a Total is told of, so that
	// connections do not meet on its cache line with each call.
	tellEvery = 4 << 10
	// smallHolder is what a connection may hold although its server or client
	// holds all that it may: small callers do not suffer for a large one.
	smallHolder = 16 << 10
	// leastHolder is what its calls may be charged for when a quarter more is held:
	// thousands of small connections are a large one. It is about three calls.
	leastHolder = 2 << 10
	// heldStall is how long a full connection is not read while nothing that it
	// holds goes away. Then it is read on, and what would add to it is refused.
	heldStall = time.Second
)

// init has the account count into total, nil for none, with a limit for its connection.
// It is called before anything is held; CountUnder calls it again with a share.
func (a *Account) init(total *Total, limit int, out *netio.Output) {
	a.total, a.limit, a.out = total, limit, out
	if total != nil {
		out.CountInto(total.gauges()...)
	}
}

// changeLocked charges n bytes, or with n below 0 releases them.
func (a *Account) changeLocked(n int) {
	a.held += n
	if n < 0 {
		a.freed++
		a.easeLocked()
	}
	a.tellLocked()
}

// keepLocked is changeLocked for what the session keeps until the peer has room for it.
func (a *Account) keepLocked(n int) {
	a.kept += n
	a.changeLocked(n)
}

// staffLocked charges for workers that there are now instead of those before. One
// that leaves is no sign of progress: what it served is.
func (a *Account) staffLocked(now, before int) {
	if d := max(0, now-freeWorkers) - max(0, before-freeWorkers); d != 0 {
		a.held += d * perWorker
		if d < 0 {
			a.easeLocked()
		}
		a.tellLocked()
	}
}

// tellLocked tells the Total of what has changed by much.
func (a *Account) tellLocked() {
	if a.total == nil || a.closed {
		return
	}
	if d := a.held - a.told; d >= max(tellEvery, a.told>>3) || -d >= max(tellEvery, a.told>>3) || a.held == 0 && d != 0 {
		a.told = a.held
		a.total.add(d)
	}
}

// easeLocked has all who wait for a release look again.
func (a *Account) easeLocked() {
	if a.eased != nil {
		a.ease()
		a.eased, a.ease = nil, nil
	}
}

// A pause is somebody's wait for room in an account.
type pause struct {
	eased    context.Context
	below    int    // there is room, too, once the output is less; 0: it is not what stands in the way
	progress uint64 // of the account, when the pause began
}

// pauseLocked begins a wait for room for more bytes than are held.
func (a *Account) pauseLocked(more int) pause {
	if a.eased == nil {
		a.eased, a.ease = context.WithCancel(context.Background())
	}
	p := pause{eased: a.eased, progress: a.progressLocked()}
	if below := a.limit - more - a.held - int(a.partial.Load()) + 1; a.out.Queued() >= below {
		p.below = max(0, below)
	}
	return p
}

// progressLocked changes with each release, and while the peer reads.
func (a *Account) progressLocked() uint64 { return a.freed + a.out.HandedToKernel() }

// wait waits until there may be room, but not for longer than most. The caller holds no
// lock, and has no flush to pay.
func (p pause) wait(out *netio.Output, most time.Duration) {
	ctx, cancel := context.WithTimeout(p.eased, most)
	defer cancel()
	if p.below > 0 {
		out.Wait(ctx, p.below) //nolint:errcheck // whoever waited looks again in any case
	} else {
		<-ctx.Done()
	}
}

// vainLocked reports whether p lasted for heldStall, nothing went away
// meanwhile, and the account is full.
func (a *Account) vainLocked(p pause) bool {
	return p.eased.Err() == nil && a.progressLocked() == p.progress && a.fullLocked()
}

// received notes what the reader keeps of frames that are not whole, and the
// session between two of them. The caller holds the read role.
func (a *Account) received(in *buf.In, s wire.Session) {
	a.turn = in.Turn()
	n := in.Len()
	if n >= tellEvery {
		n = in.Held() // more than has come: the frame's block
	}
	n += s.Held()
	if a.partial.Load() != int64(n) {
		a.partial.Store(int64(n))
	}
	if d := n - a.partialTold; a.total != nil && (d >= tellEvery || -d >= tellEvery || n == 0 && d != 0) {
		a.partialTold = n
		a.total.add(d)
	}
}

// allowance is how large a request may be, and how much the session may hold of
// unfinished ones: while all connections together hold what they may, it is little.
// The caller holds the read role.
func (a *Account) allowance() int {
	if a.total.Full() {
		return smallHolder
	}
	return math.MaxInt
}

// sumLocked is all that is held. Of the output it lacks what was appended in
// this critical section.
func (a *Account) sumLocked() int {
	return a.held + int(a.partial.Load()) + a.out.Queued()
}

// fullLocked reports whether the connection holds what it may, and is not to be read.
// What the session keeps is not in it: it goes away by what is read.
func (a *Account) fullLocked() bool { return a.sumLocked()-a.kept > a.limit }

// refusingLocked reports whether what would add to the account is refused. That
// ends below three quarters.
func (a *Account) refusingLocked() bool {
	a.refusing = a.refusing && a.sumLocked() > a.limit/4*3
	return a.refusing
}

// crowdedLocked reports whether new work is to be refused although this
// connection is not full: all of them together are, and it is not a small one.
func (a *Account) crowdedLocked() bool {
	if !a.total.Full() {
		return false
	}
	return a.sumLocked() > smallHolder || a.held > leastHolder && a.total.over()
}

// grows reports whether a call whose answer may have n bytes is not to begin, since
// that would be dropped (overflows). n is a guess in which all callers of the method
// have a part: it counts within a share only.
func (a *Account) grows(n int) bool {
	return n > smallHolder && a.total != nil && a.total.of != nil && a.total.overAlone()
}

// overflows reports whether an answer of n bytes is more than is to be held: a
// call that was begun is answered although its Total is full, to a quarter beyond.
func (a *Account) overflows(n int) bool {
	return n > smallHolder && a.total.over()
}

// excessLocked reports whether an answer of n bytes would make the connection hold twice what
// it may: those that were begun before it was known how large they are may be many.
func (a *Account) excessLocked(n int) bool {
	return n > smallHolder && a.sumLocked()+n > 2*a.limit
}

// clogged reports whether n bytes of output are more than may wait for a peer to
// read them: most, or little while all connections together hold what they may,
// since thousands of peers that read nothing make this side hold much.
func (a *Account) clogged(n, most int) bool {
	return n > min(most, leastHolder) && n > a.unclogged(most)
}

// unclogged is what the output is waited to be below.
func (a *Account) unclogged(most int) int {
	switch {
	case a.total.over():
		return min(most, leastHolder)
	case a.total.Full():
		return min(most, smallHolder)
	}
	return most
}

// close takes the connection out of the Total. Nobody else uses it any more.
func (a *Account) close() {
	a.total.add(-a.told - a.partialTold)
	a.told, a.partialTold, a.closed = 0, 0, true
}
