package netio

import (
	"reflect"
	"testing"
	"time"
)

// A sleeping sockConn is of the size class that the idle figures of docs/how/netio.md
// are of; the next is 32 bytes more for each connection.
func TestSockSize(t *testing.T) {
	if n := reflect.TypeFor[sockConn]().Size(); n > 384 {
		t.Errorf("a sockConn has %d bytes, 384 is a size class", n)
	}
}

// pieceSender takes n bytes a Send.
type pieceSender struct{ n int }

func (s pieceSender) Send(b *Batch, _ time.Duration) (int, error) {
	n := min(s.n, len(b.Pieces(make([][]byte, 0, 1))[0]))
	b.Sent(n)
	return n, nil
}
func (pieceSender) CloseSend() error { return nil }
func (pieceSender) Wake()            {}
func (pieceSender) Stalled(error)    {}

// An Output holds Outs while there is something to send, and no longer.
func TestOutputLends(t *testing.T) {
	o := newOutput(pieceSender{3}, nil, 0)
	for range 3 {
		if o.mu.out != nil || o.sending != nil {
			t.Fatalf("holds %p and %p with nothing to send", o.mu.out, o.sending)
		}
		o.Lock()
		o.Out().AppendString("ten bytes.")
		if !o.Unlock() {
			t.Fatal("not the flusher")
		}
		// Others write while the flusher is between two sends.
		if more, err := o.take(); !more || err != nil {
			t.Fatalf("take: %v, %v", more, err)
		}
		o.Lock()
		o.Out().AppendString("and more")
		if o.Unlock() {
			t.Fatal("a second flusher")
		}
		if err := o.Flush(); err != nil || o.Queued() != 0 {
			t.Fatalf("Flush: %v, %d bytes are queued", err, o.Queued())
		}
	}
	if n := o.HandedToKernel(); n != 3*18 {
		t.Errorf("%d bytes were handed on, want 54", n)
	}
}
