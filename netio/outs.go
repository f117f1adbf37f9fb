package netio

import (
	"sync"

	"github.com/limosa-rpc/limosa/buf"
)

// outs lends an Out to a connection that has something to send: an idle connection should not
// hold two.
var outs = sync.Pool{New: func() any { return new(buf.Out) }}

// borrow gives an empty Out for one message, with the connection's own source of blocks if it has one.
func (o *Output) borrow() *buf.Out {
	if o.source != nil {
		return buf.NewOut(o.source)
	}
	return outs.Get().(*buf.Out)
}

// giveBackLocked returns the Outs of a connection that has nothing to send.
// Those that draw from a source stay.
func (o *Output) giveBackLocked() {
	if o.source != nil {
		return
	}
	for _, p := range [...]**buf.Out{&o.mu.out, &o.sending} {
		if *p != nil {
			(*p).Reset() // a block may be left that was lent and not used
			outs.Put(*p)
			*p = nil
		}
	}
}

// held is the number of bytes in out, which may be nil.
func held(out *buf.Out) int {
	if out == nil {
		return 0
	}
	return out.Len()
}

// elsewhere runs flushes on goroutines, for callers that must not park and have nobody to
// hand the flush to.
type elsewhere struct {
	sync.Mutex
	sync.WaitGroup
	closed bool // join waits for the rest: none may start
}

// start flushes o, whose flusher the caller is until then.
func (e *elsewhere) start(o *Output) {
	e.Lock()
	defer e.Unlock()
	if e.closed {
		o.giveUp()
		return
	}
	e.Go(func() { o.Flush() }) //nolint:errcheck // sticky
}

// join waits for those that run. The connection is closed.
func (e *elsewhere) join() {
	e.Lock()
	e.closed = true
	e.Unlock()
	e.Wait()
}
