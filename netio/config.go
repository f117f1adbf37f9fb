package netio

import (
	"errors"
	"io/fs"
	"net"
	"time"
)

const (
	defaultStall     = 30 * time.Second
	defaultKeepAlive = 15 * time.Second
	// What the peer does not acknowledge is lost as soon as what it does not
	// read (WriteStall): neither says more than the other.
	defaultUserTimeout = 30 * time.Second
	// An idle connection whose peer vanished is noticed after 15 + 3 x 5 s.
	maxProbeInterval = 5 * time.Second
	lostProbes       = 3
	// closeMoment is how long the Close of a net.Conn view, which knows no
	// context, waits for room for what is queued.
	closeMoment = 100 * time.Millisecond
)

// A Config says how connections are made. The zero value, and nil, are ready
// for use. It is copied where it is used; the fields must not change before.
type Config struct {
	// Net owns what outlives a call: goroutines and epoll descriptors. Nil
	// stands for Default.
	Net *Net
	// Loops, if not 0, puts TCP and unix connections on so many event loops of
	// the Net, in turn: for very many connections that are mostly idle. See
	// LoopConn. A net.Conn that is wrapped is closed thereby; the connection
	// lives on in a descriptor of its own. Loops are for Linux; elsewhere, and
	// when descriptors have run out, connections are what they are without.
	Loops int
	// ReadBuffer and WriteBuffer are the sizes of the kernel's buffers in
	// bytes; 0 leaves them to the kernel, which adapts them.
	ReadBuffer, WriteBuffer int
	// KeepAlive is for how long a TCP connection may be silent before the kernel
	// probes the peer. 0 stands for 15 s, a negative value switches probes off.
	// They come every third of it, at most 5 s apart; after three without an
	// answer the connection is lost.
	KeepAlive time.Duration
	// UserTimeout is for how long what was sent may stay without an
	// acknowledgement, or the peer's window closed, before the kernel gives the
	// TCP connection up: TCP_USER_TIMEOUT, on Linux. 0 stands for 30 s, a
	// negative value leaves it to the kernel, which tries for some 15 minutes.
	UserTimeout time.Duration
	// SocketMode is the mode of the file that Listen makes for a unix socket: who
	// may connect. On Linux the file never has more than that. 0 leaves it to the
	// process's umask.
	SocketMode fs.FileMode
	// WriteStall is for how long a peer may take nothing while output is
	// queued, before the connection is aborted with ErrStalled. 0 stands for
	// 30 s, a negative value for ever.
	WriteStall time.Duration
	// Limit, if not nil, bounds the connections that listeners accept.
	Limit *Limit
	// OnAcceptError, if not nil, is told of every failed accept that is tried
	// again, and after which pause: out of descriptors, for example.
	// It may close the Listener.
	OnAcceptError func(err error, pause time.Duration)

	tuned bool // the socket has inherited what can be
}

// orDefault is a copy of c with the default Net if it names none; c may be nil.
func (c *Config) orDefault() Config {
	if c == nil {
		return Config{Net: Default}
	}
	d := *c
	if d.Net == nil {
		d.Net = Default
	}
	return d
}

// keepAlive is the configuration as package net has it.
func (c *Config) keepAlive() net.KeepAliveConfig {
	k := c.KeepAlive
	if k == 0 {
		k = defaultKeepAlive
	}
	if k < 0 {
		return net.KeepAliveConfig{}
	}
	return net.KeepAliveConfig{Enable: true, Idle: k, Interval: min(max(k/3, time.Second), maxProbeInterval), Count: lostProbes}
}

// userTimeout is UserTimeout as the kernel has it; 0: unchanged.
func (c *Config) userTimeout() time.Duration {
	switch {
	case c.UserTimeout == 0:
		return defaultUserTimeout
	case c.UserTimeout < 0:
		return 0
	}
	return c.UserTimeout
}

// tune applies the configuration to a socket. Errors are left alone: a socket
// whose buffers could not be sized works all the same.
func (c *Config) tune(nc net.Conn) {
	t, isTCP := nc.(*net.TCPConn)
	if isTCP {
		c.setUserTimeout(t) // nobody inherits that
	}
	if c.tuned {
		return
	}
	if isTCP {
		// Small segments leave at once already: package net sees to it.
		t.SetKeepAliveConfig(c.keepAlive()) //nolint:errcheck
	}
	b, ok := nc.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	})
	if !ok {
		return
	}
	if c.ReadBuffer > 0 {
		b.SetReadBuffer(c.ReadBuffer) //nolint:errcheck
	}
	if c.WriteBuffer > 0 {
		b.SetWriteBuffer(c.WriteBuffer) //nolint:errcheck
	}
}

// Default is the Net of connections whose Config names none. It is the
// package's only state.
var Default = new(Net)

// A Net owns what connections share and what outlives a call: the goroutine and
// the epoll descriptor that watch for lost peers, and the event loops, each made
// when the first connection asks for it, and the queue of those
// who yield.
// The zero value is ready. It must not be copied.
type Net struct {
	watch  watcher
	loops  loops
	yields yielder
}

// Close ends and joins the goroutines of n. Connections on event loops are
// aborted. The others work on, but notice a lost peer only when they are used. A
// closed Net stays closed.
func (n *Net) Close() error {
	return errors.Join(n.loops.close(), n.watch.close(), n.yields.close())
}

// A Limit bounds how many connections are open at a time, over all listeners
// that share it. Each of them holds one more at most, accepted and not handed on.
type Limit struct{ slots chan struct{} }

// NewLimit makes a Limit of n connections, n at least 1.
func NewLimit(n int) *Limit { return &Limit{make(chan struct{}, max(n, 1))} }

// Open is the number of connections that are open.
func (l *Limit) Open() int {
	if l == nil {
		return 0
	}
	return len(l.slots)
}

// take waits for a free place, or for done: then it returns false.
func (l *Limit) take(done <-chan struct{}) bool {
	if l == nil {
		return true
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

// give gives one place back. It never waits: a place was taken before.
func (l *Limit) give() {
	if l != nil {
		<-l.slots
	}
}
