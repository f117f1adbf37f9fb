package netio

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// An event that was fetched before its connection closed is none of the
// connection that has taken the slot since.
func TestLoopStaleEvent(t *testing.T) {
	l, err := newLoop(new(sync.WaitGroup))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	ls := new(loops) // whose loop nobody serves: the test fetches itself
	ls.mu.all = []*loop{l}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	pair := func() (net.Conn, *loopConn) {
		peer, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		nc, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c, ok := ls.wrap(nc.(stream), &Config{Net: new(Net), Loops: 1}, nil)
		if !ok {
			t.Fatal("not on the loop")
		}
		return peer, c.(*loopConn)
	}
	peer, first := pair()
	peer.Close()
	if !l.fetch(0) {
		t.Fatal("the peer's end is no event")
	}
	if l.find(); len(l.ready) != 1 || l.ready[0].c != first {
		t.Fatalf("found %v, want the connection", l.ready)
	}
	first.Abort()
	peer, second := pair()
	defer peer.Close()
	if second.ticket.Slot != first.ticket.Slot {
		t.Fatal("the slot is not taken again")
	}
	if l.find(); len(l.ready) != 0 {
		t.Error("the second connection gets an event of the first")
	}
	second.Abort()
}
