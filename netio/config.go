package netio

import (
	"errors"
	"net"
	"time"
)

const (
	defaultStall     = 30 * time.Second
	defaultKeepAlive = 15 * time.Second
	// closeMoment is how long Close waits for room for what is queued.
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
	// KeepAlive is the time between TCP keep-alive probes, and before the
	// first. 0 stands for 15 s, a negative value switches them off.
	KeepAlive time.Duration
	// WriteStall is for how long a peer may take nothing while output is
	// queued, before the connection is aborted with ErrStalled. 0 stands for
	// 30 s, a negative value for ever.
	WriteStall time.Duration
	// Limit, if not nil, bounds the connections that listeners accept.
	Limit *Limit
	// OnAcceptError, if not nil, is told of every failed accept that is tried
	// again, and after which pause: out of descriptors, for example.
	OnAcceptError func(err error, pause time.Duration)
}

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
	return net.KeepAliveConfig{Enable: true, Idle: k, Interval: k, Count: 9}
}

// tune applies the configuration to a socket. Errors are left alone: a socket
// whose buffers could not be sized works all the same.
func (c *Config) tune(nc net.Conn) {
	if t, ok := nc.(*net.TCPConn); ok {
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
// when the first connection asks for it, and the kernel pipes that relays use.
// The zero value is ready. It must not be copied.
type Net struct {
	watch watcher
	loops loops
	pipes Pipes
}

// Pipes is the pool of kernel pipes of n's connections. Its fields may be set
// before the first Relay.
func (n *Net) Pipes() *Pipes { return &n.pipes }

// Close ends and joins the goroutines of n and closes its pipes. Connections on
// event loops are aborted. The others work on, but notice a lost peer only when
// they are used, and relays copy. A closed Net stays closed.
func (n *Net) Close() error { return errors.Join(n.loops.close(), n.watch.close(), n.pipes.Close()) }

// A Limit bounds how many connections are open at a time, over all listeners
// that share it.
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

func (l *Limit) give() {
	if l != nil {
		<-l.slots
	}
}
