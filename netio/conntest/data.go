package conntest

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// What was queued arrives, all of it and in order, however it is cut on the way: by the
// sizes of blocks, of what the kernel takes and gives, and of what a step takes at a
// time. Nobody but the step looks at the In; what it leaves is offered again, and what it
// was lent as a View stays as it is until that is released.

// testEcho sends messages of random sizes and has them come back.
func testEcho(t *testing.T, e *env) {
	a, b := e.pair(t)
	sizes := []int{0, 1, 2, 4095, 4096, 4097, 65535, 65536, 1 << 20}
	for range 12 {
		sizes = append(sizes, rand.IntN(e.size(1<<20)))
	}
	var g group
	g.Go(func() {
		for _, n := range sizes {
			p, err := receive(b, n)
			if err == nil {
				err = send(b, p)
			}
			if err != nil {
				t.Errorf("echo of %d bytes: %v", n, err)
				return
			}
		}
	})
	g.Go(func() {
		for i, n := range sizes {
			p := noise(uint64(i), n)
			var sender group
			sender.Go(func() { send(a, p) }) //nolint:errcheck // the receive tells
			got, err := receive(a, n)
			sender.Wait()
			if err != nil {
				t.Errorf("receive of %d bytes: %v", n, err)
				return
			}
			same(t, "echo", got, p)
		}
	})
	g.wait(t, "echo")
	if a.Local() == nil || a.Remote() == nil {
		t.Error("no addresses")
	}
}

// appendFrame appends a frame of p: length, then p.
func appendFrame(b, p []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
	return append(b, p...)
}

// frames is a step that cuts frames until enough says so. It tells the In what
// it waits for, as a protocol does.
func frames(take func(p []byte) (more bool)) netio.Step {
	return func(in *buf.In) (bool, error) {
		for {
			head := in.Peek(4)
			if head == nil {
				return true, nil
			}
			n := int(binary.BigEndian.Uint32(head))
			if in.Len() < 4+n {
				in.Expect(4 + n - in.Len())
				return true, nil
			}
			in.Skip(4)
			v := in.View(n)
			more := take(v.Bytes())
			v.Release()
			if !more {
				return false, nil
			}
		}
	}
}

// testFrames cuts many frames, queued in lumps.
func testFrames(t *testing.T, e *env) {
	a, b := e.pair(t)
	count := e.size(20000)
	var g group
	g.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		var lump []byte
		for i := range count {
			p := noise(uint64(i), 4+r.IntN(200))
			if i%1000 == 999 {
				p = noise(uint64(i), 100<<10)
			}
			binary.BigEndian.PutUint32(p, uint32(i))
			lump = appendFrame(lump, p)
			if r.IntN(10) == 0 || i == count-1 {
				if err := send(a, lump); err != nil {
					t.Error("send:", err)
					return
				}
				lump = lump[:0]
			}
		}
	})
	g.Go(func() {
		next := 0
		step := frames(func(p []byte) bool {
			if i := int(binary.BigEndian.Uint32(p)); i != next {
				t.Errorf("frame %d, want %d", i, next)
			}
			next++
			return next < count && next%7 != 0
		})
		for next < count {
			if why, err := b.Receive(false, step); why == netio.Lost {
				t.Error("receive:", err)
				return
			}
		}
	})
	g.wait(t, "frames")
}

// testBytes sends and takes single bytes.
func testBytes(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, e.size(3000))
	var g group
	g.Go(func() {
		for i := range want {
			if err := send(a, want[i:i+1]); err != nil {
				t.Error("send:", err)
				return
			}
		}
	})
	g.Go(func() {
		var got []byte
		step := func(in *buf.In) (bool, error) {
			got = append(got, in.Next(1)...)
			return false, nil
		}
		for len(got) < len(want) {
			if why, err := b.Receive(false, step); why != netio.Enough {
				t.Error("receive:", why, err)
				return
			}
		}
		same(t, "bytes", got, want)
	})
	g.wait(t, "bytes")
}

// testPieces sends many pieces at a time: strings by reference between heads.
func testPieces(t *testing.T, e *env) {
	a, b := e.pair(t)
	var want []byte
	o := a.Output()
	o.Lock()
	for i := range 300 {
		head, body := noise(uint64(i), 1+i%50), noise(uint64(i+1000), buf.RefMin+i)
		o.Out().Append(head)
		o.Out().RefString(string(body))
		want = append(append(want, head...), body...)
	}
	if !o.Unlock() {
		t.Fatal("not the flusher")
	}
	var g group
	g.Go(func() {
		if err := o.Flush(); err != nil {
			t.Error("Flush:", err)
		}
	})
	g.Go(func() {
		got, err := receive(b, len(want))
		if err != nil {
			t.Error("receive:", err)
		}
		same(t, "pieces", got, want)
	})
	g.wait(t, "the pieces")
}

// testLeftover leaves bytes in the In: the next Receive offers them though
// nothing arrives.
func testLeftover(t *testing.T, e *env) {
	a, b := e.pair(t)
	if err := send(a, []byte("onetwo")); err != nil {
		t.Fatal(err)
	}
	within(t, "leftover", func() {
		var got []string
		step := func(in *buf.In) (bool, error) {
			if in.Len() < 3 {
				return true, nil
			}
			got = append(got, string(in.Next(3)))
			return false, nil
		}
		for range 2 {
			if why, err := b.Receive(false, step); why != netio.Enough || err != nil {
				t.Errorf("Receive: %v, %v", why, err)
			}
		}
		if len(got) != 2 || got[0] != "one" || got[1] != "two" {
			t.Errorf("got %q", got)
		}
	})
}

// testLent closes a connection while bytes that Receive lent are looked at.
func testLent(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, 1000)
	if err := send(a, want); err != nil {
		t.Fatal(err)
	}
	var lent []byte
	step := func(in *buf.In) (bool, error) {
		lent = in.Next(len(want))
		return lent == nil, nil
	}
	if why, err := b.Receive(false, step); why != netio.Enough {
		t.Fatal(why, err)
	}
	b.Abort()
	closeSoon(b) //nolint:errcheck // idempotent
	same(t, "bytes lent before Close", lent, want)
	why, err := b.Receive(false, step)
	if why != netio.Lost {
		t.Errorf("Receive after Close: %v", why)
	}
	is(t, "Receive after Close", err, net.ErrClosed)
}

// testStepError ends Receive with a step's error; the connection still works.
func testStepError(t *testing.T, e *env) {
	a, b := e.pair(t)
	bad := errors.New("bad magic")
	if err := send(a, []byte("x")); err != nil {
		t.Fatal(err)
	}
	why, err := b.Receive(false, func(*buf.In) (bool, error) { return true, bad })
	if why != netio.Lost || err != bad {
		t.Errorf("Receive: %v, %v; want Lost and the step's error", why, err)
	}
	if err := send(b, []byte("go away")); err != nil {
		t.Errorf("send after a step's error: %v", err)
	}
	within(t, "receive", func() {
		got, err := receive(a, 7)
		if err != nil {
			t.Error(err)
		}
		same(t, "farewell", got, []byte("go away"))
	})
}

// testStepPanic has a panic pass through Receive and fail the connection, but
// wedge nothing.
func testStepPanic(t *testing.T, e *env) {
	a, b := e.pair(t)
	if err := send(a, []byte("x")); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		b.Receive(false, func(*buf.In) (bool, error) { panic("boom") }) //nolint:errcheck // panics
	}()
	is(t, "Err", b.Output().Err(), netio.ErrStep)
	within(t, "Close after a panic", func() { closeSoon(b) })
	within(t, "Receive after a panic", func() {
		if why, _ := b.Receive(false, none); why != netio.Lost {
			t.Errorf("Receive: %v", why)
		}
	})
	within(t, "the peer", func() {
		if why, _ := a.Receive(false, none); why != netio.Lost {
			t.Errorf("the peer's Receive: %v", why)
		}
	})
}
