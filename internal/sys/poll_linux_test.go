package sys

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newPoll(t *testing.T) *Poll {
	t.Helper()
	p, err := NewPoll()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(p.Fd()) })
	return p
}

func TestPollReportsEdgesWithTheirTag(t *testing.T) {
	p := newPoll(t)
	a, b := pair(t)
	tag := Tag{Slot: 1<<32 - 2, Gen: 1<<31 + 5}
	if err := p.Add(a, Readable|PeerGone|Edge, tag); err != nil {
		t.Fatal(err)
	}
	events := make([]Event, 8)
	poll := func(want int) {
		t.Helper()
		if n, err := p.Poll(events); n != want || err != nil {
			t.Fatalf("%d events, %v; want %d", n, err, want)
		}
	}
	poll(0)
	must(t, b, "x")
	poll(1)
	if events[0].Tag() != tag || events[0].Flags() != Readable {
		t.Fatalf("tag %v, flags %#x", events[0].Tag(), events[0].Flags())
	}
	poll(0) // an edge comes once
	if err := p.Modify(a, Readable|PeerGone|Edge, Tag{3, 4}); err != nil {
		t.Fatal(err)
	}
	poll(1) // changing it announces what is there anew
	if events[0].Tag() != (Tag{3, 4}) {
		t.Fatalf("tag %v", events[0].Tag())
	}
	unix.Shutdown(int(b), unix.SHUT_WR)
	poll(1)
	if events[0].Flags()&PeerGone == 0 {
		t.Fatalf("flags %#x after the peer closed its side", events[0].Flags())
	}
	must(t, b2(t, p), "y")
	poll(1)
	if err := p.Add(a, Readable, tag); err != syscall.EEXIST {
		t.Errorf("adding it twice: %v", err)
	}
	if n, err := p.Poll(nil); n != 0 || err != nil {
		t.Errorf("Poll into nothing: %d, %v", n, err)
	}
}

// b2 is the far end of a fresh pair whose near end p watches.
func b2(t *testing.T, p *Poll) uintptr {
	a, b := pair(t)
	if err := p.Add(a, Readable|Edge, Tag{9, 9}); err != nil {
		t.Fatal(err)
	}
	return b
}

// Each Ring of an eventfd that nobody reads is an edge.
func TestEventfdWakesAPoll(t *testing.T) {
	p := newPoll(t)
	fd, err := Eventfd()
	if err != nil {
		t.Fatal(err)
	}
	defer Close(fd)
	if err := p.Add(fd, Readable|Edge, Tag{}); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		if want > 0 {
			if err := Ring(fd); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := p.Poll(make([]Event, 1)); n != min(want, 1) || err != nil {
			t.Errorf("%d events, %v", n, err)
		}
	}
	if Ring(^uintptr(0)) == nil {
		t.Error("rang nobody")
	}
}

// TestPollNestsInGosPoller: a goroutine waits for the epoll itself.
func TestPollNestsInGosPoller(t *testing.T) {
	p, err := NewPoll()
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(p.Fd(), "epoll") // owns the descriptor from here on
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatalf("not in Go's poller: %v", err)
	}
	a, b := pair(t)
	if err := p.Add(a, Readable|Edge, Tag{7, 1}); err != nil {
		t.Fatal(err)
	}
	got, parked := make(chan Tag, 1), make(chan struct{}, 8)
	go func() {
		events := make([]Event, 1)
		rc.Read(func(uintptr) bool {
			n, _ := p.Poll(events)
			if n == 1 {
				got <- events[0].Tag()
			} else {
				parked <- struct{}{}
			}
			return n == 1
		})
		close(got)
	}()
	<-parked
	must(t, b, "x")
	if tag := <-got; tag != (Tag{7, 1}) {
		t.Errorf("woken with %v", tag)
	}
}

func TestSocketOptions(t *testing.T) {
	fd, _ := tcp(t)
	if err := errors.Join(
		SetKeepAlive(fd, 15*time.Second, 1500*time.Millisecond, 4),
		SetUserTimeout(fd, 30*time.Second),
		SetBuffers(fd, 100<<10, 0),
	); err != nil {
		t.Fatal(err)
	}
	check := func(name string, level, opt, want int) {
		t.Helper()
		if got, err := unix.GetsockoptInt(int(fd), level, opt); got != want || err != nil {
			t.Errorf("%s is %d, %v; want %d", name, got, err, want)
		}
	}
	check("SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	check("TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	check("TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 2)
	check("TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 4)
	check("TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30000)
	check("SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 200<<10)
	if err := SetKeepAlive(fd, 0, 0, 0); err != nil {
		t.Error(err)
	}
	check("TCP_KEEPIDLE, left alone", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	if err := SetKeepAlive(fd, -1, 0, 0); err != nil {
		t.Error(err)
	}
	check("SO_KEEPALIVE, off", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
	if SetUserTimeout(^uintptr(0), time.Second) == nil || SetBuffers(^uintptr(0), 1, 1) == nil {
		t.Error("option set on nothing")
	}
}

func TestAbortOnCloseResets(t *testing.T) {
	fd, peer := tcp(t)
	raw, err := peer.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = SetAbortOnClose(fd) })
	if err != nil {
		t.Fatal(err)
	}
	peer.Close()
	ready(t, fd, unix.POLLRDHUP)
	if _, err := Recv(fd, make([]byte, 1)); err != syscall.ECONNRESET {
		t.Errorf("Recv: %v; want a reset", err)
	}
}

func TestGuardedMemory(t *testing.T) {
	mem, err := MapGuarded(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(mem) != os.Getpagesize() || mem[0] != 0 || mem[len(mem)-1] != 0 {
		t.Fatalf("%d bytes", len(mem))
	}
	mem[0] = 7
	if err := Protect(mem[len(mem)-1:]); err != nil { // a part stands for its pages
		t.Fatal(err)
	}
	a, _ := pair(t)
	if _, err := Send(a, mem); err != syscall.EFAULT {
		t.Errorf("the kernel read protected memory: %v", err)
	}
	if err := Unprotect(mem); err != nil {
		t.Fatal(err)
	}
	if mem[0] != 7 {
		t.Error("contents lost")
	}
	if n, err := Send(a, mem); n != len(mem) || err != nil {
		t.Error(n, err)
	}
}
