// Package netio gives byte connections their shape for a call engine. A [Conn]
// reads in the goroutine of whoever waits, combines the output of many writers
// under one lock ([Output]), and tells of a peer that went away while nobody reads.
// The package knows bytes, sockets and time, no frames and no calls.
//
//   - Connections come from [Dial], [Listen] and [Wrap], with a [Config], and
//     [Client] and [Server] stand TLS on them. A [Net] owns what they share.
//   - An engine uses Conn, [Step], [Outcome] and Output; [LoopConn], [Yielder],
//     [Broken] and [Socket] where a connection has more to give.
//   - A transport of another package embeds a [Core] and works with it as a
//     [Kit]; netio/conntest tells whether it behaves.
//
// Three roles exist on a Conn, each with one holder at a time. Who that is, is the
// engine's business:
//
//   - the read role: the right to call Receive, and to use what it lent;
//   - the lock: Output.Lock to Output.Unlock, short, never across a system call;
//   - the flusher: whom Unlock answered true. It has to call Flush, or Receive
//     with owed set.
package netio

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/limosa-rpc/limosa/buf"
)

// Outcome says why Receive returned.
type Outcome uint8

const (
	// Enough: step asked for no more.
	Enough Outcome = iota
	// Kicked: Kick was called. Look at what the kick was meant for; it may be
	// stale and meant for the previous holder of the read role.
	Kicked
	// Full: the owed flush met a full socket. The caller still is the flusher:
	// it hands the read role over and then calls Flush. What step cut before is
	// valid, and whatever else there was to report comes from the next Receive.
	Full
	// Lost: nothing more will be received; the error says why.
	Lost
	// Parked: the event loop goes on with it. Only LoopConn.OnReadable returns it.
	Parked
)

// String names it in one word.
func (o Outcome) String() string {
	switch o {
	case Enough:
		return "Enough"
	case Kicked:
		return "Kicked"
	case Full:
		return "Full"
	case Lost:
		return "Lost"
	case Parked:
		return "Parked"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// A Step takes from in what has arrived. It only cuts: it may run inside the
// poller's callback, where anything that blocks would stop the connection, so
// it never blocks, never calls Close, and never runs a user's code. more false
// ends Receive with Enough, an error ends it with Lost and that error. What it
// borrows from in stays valid until the next Receive; with more true, until it
// returns.
//
// A Step that panics fails the connection; the panic goes through Receive.
type Step func(in *buf.In) (more bool, err error)

// A Conn is a connection of bytes between two sides. All methods may be called
// concurrently, except that Receive belongs to one goroutine at a time.
type Conn interface {
	// Receive offers to step what has arrived, first what step left over, and
	// parks while there is nothing. owed says that the caller is the flusher;
	// the debt is then paid by Receive: after the first read and before it
	// parks or returns. Only after Full the caller still owes.
	//
	// Lost comes with io.EOF after the peer's orderly end, when step has seen
	// every byte, or with the cause. After Close or Abort one more Receive
	// returns Lost at once and gives back the memory of what was lent.
	Receive(owed bool, step Step) (Outcome, error)

	// Kick makes the Receive that runs, or else the next one, return Kicked.
	// Kicks are not counted. A Receive that has something else to report
	// reports that, and leaves the kick to the next one.
	Kick()

	// Output is the same value for the connection's life.
	Output() *Output

	// OnLost sets what runs, once, when the peer closes its side or the
	// connection breaks while nobody is in Receive, and at the latest when
	// Close or Abort is called; if that has happened already, it runs now. A
	// Receive that is active reports the loss itself. Bytes may still be unread
	// when f runs: a Receive gets them. f must not block: it may run on a
	// goroutine that serves all connections of a Net. Nil takes f back.
	//
	// TCP and unix sockets on Linux notice within a millisecond; plain
	// connections, and sockets elsewhere, not before Close.
	OnLost(f func())

	// Close sends what is queued, and what others queue meanwhile, waiting for
	// room until ctx ends, and closes. Nor does it wait longer than
	// Config.WriteStall without progress. What cannot be sent is dropped as by
	// Abort; the error then says why: ctx's cause, ErrStalled, or what the
	// connection failed with meanwhile. With a ctx that has ended it sends what
	// goes at once.
	//
	// It wakes Receive (Lost), Flush and Wait with net.ErrClosed. It may be called
	// again: of several each returns, with the same error, when the connection is
	// closed, and the first ctx that ends counts for all. A Step must not call it.
	// On the goroutine of an event loop it does not wait for room, which only that
	// goroutine could announce: it sends what goes at once.
	Close(ctx context.Context) error

	// Abort closes at once and drops what is queued; a TCP peer sees a reset.
	Abort()

	// CloseWrite ends our side after what is queued: the peer receives all of
	// it and then io.EOF. It parks while the socket is full, so the caller must
	// not hold the read role, unless somebody else is the flusher, who then
	// does it. Nothing may be written afterwards.
	CloseWrite() error

	// NetConn is a net.Conn over the connection, with deadlines, starting with
	// the bytes that are received and not taken. From then on neither Receive
	// nor Output may be used.
	NetConn() net.Conn

	// Local is the address of this side.
	Local() net.Addr
	// Remote is the address of the peer.
	Remote() net.Addr
}

// An Error says what failed on which connection or address. It is what all
// errors of the operating system are wrapped in; errors.Is sees through it.
type Error struct {
	Op   string // "dial", "listen", "accept", "receive", "send", "handshake"
	Net  string // "tcp", "unix", "pipe", …
	Addr string // of the peer; for listen the own one
	Err  error
}

// Error is one line.
func (e *Error) Error() string {
	s := e.Op + " " + e.Net
	if e.Addr != "" {
		s += " " + e.Addr
	}
	return s + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

var (
	// ErrStalled is the cause when a connection was aborted because its peer
	// took nothing for Config.WriteStall while output was queued.
	ErrStalled = errors.New("the peer takes nothing")
	// ErrStep is the cause when a Step panicked.
	ErrStep = errors.New("a step panicked")
)

// wrapError gives err an address, and takes off what package net put around it.
func wrapError(op string, addr net.Addr, err error) error {
	if oe, ok := errors.AsType[*net.OpError](err); ok {
		err = oe.Err
	}
	e := &Error{Op: op, Err: err}
	if addr != nil {
		e.Net, e.Addr = addr.Network(), addr.String()
	}
	return e
}
