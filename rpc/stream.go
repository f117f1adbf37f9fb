package rpc

import "context"

// A Stream is one side of a call of several messages, while the call lasts.
// Send and CloseSend are for one goroutine, Receive for one, which may be
// another.
type Stream interface {
	// Send sends a message, which it has encoded when it returns. It waits
	// while the peer takes no more. io.EOF: the peer has ended the call, and
	// Receive tells how.
	Send(msg any) error
	// CloseSend says that nothing more is sent. A server's peer is told, with what
	// became of the call, once the handler has returned.
	CloseSend() error
	// Receive waits for the next message and fills msg, which is a new one.
	// After the last it returns io.EOF, or what the call has failed with.
	Receive(msg any) error
}

// streaming is what only calls of several messages have.
type streaming struct {
	drive     func(ctx context.Context, s Stream) error // client: what is done with the stream
	stream    Stream                                    // server
	onSend    func(msg any) error
	onReceive func(msg any) error
	driven    bool
}

// streaming is what the call has because it is of several messages; unary calls do not pay for it.
func (c *Call) streaming() *streaming {
	if c.several == nil {
		c.several = new(streaming)
	}
	return c.several
}

// OnSend has f see each message of a stream before it is sent; the latest f is
// called first. An error ends the call with it. It is for interceptors, before
// next.
func (c *Call) OnSend(f func(msg any) error) {
	s := c.streaming()
	s.onSend = both(f, s.onSend)
}

// OnReceive has f see each message of a stream after it was received; the
// latest f is called last. An error ends the call with it. It is for
// interceptors, before next.
func (c *Call) OnReceive(f func(msg any) error) {
	s := c.streaming()
	s.onReceive = both(s.onReceive, f)
}

// both is one hook that runs two; nil is none.
func both(first, second func(any) error) func(any) error {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(msg any) error {
		if err := first(msg); err != nil {
			return err
		}
		return second(msg)
	}
}

// hooked is s with the hooks of the call, or s itself without any.
func (c *Call) hooked(s Stream) Stream {
	if x := c.several; s != nil && (x.onSend != nil || x.onReceive != nil) {
		return &hooks{s, x.onSend, x.onReceive}
	}
	return s
}

// hooks calls those of interceptors.
type hooks struct {
	Stream
	onSend, onReceive func(msg any) error
}

// Send implements [Stream]. A hook that fails keeps the message from being sent.
func (h *hooks) Send(msg any) error {
	if h.onSend != nil {
		if err := h.onSend(msg); err != nil {
			return err
		}
	}
	return h.Stream.Send(msg)
}

// Receive implements [Stream].
func (h *hooks) Receive(msg any) error {
	if err := h.Stream.Receive(msg); err != nil || h.onReceive == nil {
		return err
	}
	return h.onReceive(msg)
}
