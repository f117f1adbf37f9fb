package simnet

import (
	"sync/atomic"

	"github.com/limosa-rpc/limosa/netio/pipe"
)

// A Direction of a connection.
type Direction uint8

const (
	Up   Direction = iota // from who dialled to who listened
	Down                  // the other way
)

// String names it.
func (d Direction) String() string {
	if d == Up {
		return "up"
	}
	return "down"
}

// A Link is one connection of a network, and the place to break it.
type Link struct {
	// Set when made, then constant.
	net      *Net
	Number   int
	From, To string

	client, server *pipe.Conn  // guarded by net.mu, constant once the dial has succeeded
	vanished       atomic.Bool // see Vanish
}

// open reports whether neither end has noticed that the link is gone.
func (l *Link) open() bool {
	return l.client.Output().Err() == nil && l.server.Output().Err() == nil
}

// sender is the end whose bytes go in direction d.
func (l *Link) sender(d Direction) *pipe.Conn {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if d == Up {
		return l.client
	}
	return l.server
}

// Break resets the connection on both sides; what is on its way is lost.
func (l *Link) Break() { l.sender(Up).Break() }

// Hold keeps what is sent in direction d from arriving, until Release: then all
// of it arrives as one event.
func (l *Link) Hold(d Direction) { l.sender(d).Hold() }

// Release ends a Hold.
func (l *Link) Release(d Direction) {
	if !l.vanished.Load() {
		l.sender(d).Release()
	}
}

// Vanish has whatever either side sends vanish from now on, and neither side
// hear of it: a dead path.
func (l *Link) Vanish() {
	l.vanished.Store(true)
	l.Hold(Up)
	l.Hold(Down)
}

// Stall on makes the connection full in direction d, until Stall off.
func (l *Link) Stall(d Direction, on bool) { l.sender(d).Stall(on) }
