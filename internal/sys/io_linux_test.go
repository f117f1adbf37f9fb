package sys

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is two connected unix stream sockets, non-blocking.
func pair(t testing.TB) (a, b uintptr) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return uintptr(p[0]), uintptr(p[1])
}

// tcp is a loopback connection: a raw descriptor and the peer as net has it.
func tcp(t testing.TB) (fd uintptr, peer *net.TCPConn) {
	t.Helper()
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	if err := unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(l, 1); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(l)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*unix.SockaddrInet4).Port}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ready(t, uintptr(l), unix.POLLIN)
	nfd, _, err := unix.Accept4(l, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	fd = uintptr(nfd)
	t.Cleanup(func() { Close(fd) })
	return fd, c.(*net.TCPConn)
}

// ready waits, up to 10 s, until fd is ready for events.
func ready(t testing.TB, fd uintptr, events int16) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 100)
		switch {
		case n > 0:
			return
		case err != nil && err != unix.EINTR:
			t.Fatal(err)
		case time.Now().After(deadline):
			t.Fatal("not ready for 10 s")
		}
	}
}

func TestRecvSend(t *testing.T) {
	for name, make := range map[string]func() (fd uintptr, send func(string), end func()){
		"unix": func() (uintptr, func(string), func()) {
			a, b := pair(t)
			return a, func(s string) { must(t, b, s) }, func() { unix.Shutdown(int(b), unix.SHUT_WR) }
		},
		"tcp": func() (uintptr, func(string), func()) {
			fd, peer := tcp(t)
			return fd, func(s string) { io.WriteString(peer, s) }, func() { peer.CloseWrite() }
		},
		"unix, blocking mode": func() (uintptr, func(string), func()) {
			a, b := pair(t)
			unix.SetNonblock(int(a), false)
			return a, func(s string) { must(t, b, s) }, func() { unix.Shutdown(int(b), unix.SHUT_WR) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			fd, send, end := make()
			p := [64]byte{}
			if n, err := Recv(fd, p[:]); n != 0 || err != EAGAIN || !errors.Is(err, syscall.EAGAIN) {
				t.Fatalf("nothing sent: %d, %v; want EAGAIN", n, err)
			}
			if _, err := Recv(fd, nil); err != syscall.EINVAL {
				t.Errorf("Recv into nothing: %v", err)
			}
			send("hello")
			ready(t, fd, unix.POLLIN)
			if n, err := Recv(fd, p[:3]); string(p[:n]) != "hel" || err != nil {
				t.Fatalf("got %q, %v", p[:n], err)
			}
			if n, err := Recv(fd, p[:]); string(p[:n]) != "lo" || err != nil {
				t.Fatalf("got %q, %v", p[:n], err)
			}
			end()
			ready(t, fd, unix.POLLIN)
			if n, err := Recv(fd, p[:]); n != 0 || err != nil {
				t.Fatalf("at the end: %d, %v; want 0, nil", n, err)
			}
		})
	}
}

// A socket is broken once nobody reads what it sends, whatever is unread, and not
// when only the peer's side has ended.
func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b uintptr, peer *net.TCPConn)
		want bool
	}{
		"unix, open":             {func(uintptr, *net.TCPConn) {}, false},
		"unix, one side ended":   {func(b uintptr, _ *net.TCPConn) { unix.Shutdown(int(b), unix.SHUT_WR) }, false},
		"unix, closed":           {func(b uintptr, _ *net.TCPConn) { unix.Shutdown(int(b), unix.SHUT_RDWR) }, true},
		"tcp, open":              {func(uintptr, *net.TCPConn) {}, false},
		"tcp, one side ended":    {func(_ uintptr, peer *net.TCPConn) { peer.CloseWrite() }, false},
		"tcp, closed in order":   {func(_ uintptr, peer *net.TCPConn) { peer.Close() }, false},
		"tcp, closed by a reset": {func(_ uintptr, peer *net.TCPConn) { peer.SetLinger(0); peer.Close() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b uintptr
			var peer *net.TCPConn
			if name[:4] == "unix" {
				a, b = pair(t)
				must(t, b, "unread")
			} else {
				a, peer = tcp(t)
				io.WriteString(peer, "unread")
			}
			ready(t, a, unix.POLLIN)
			c.end(b, peer)
			for until := time.Now().Add(10 * time.Second); c.want && !Broken(a) && time.Now().Before(until); {
				// Real time: sockets of the kernel; a poll with a bound.
				time.Sleep(time.Millisecond)
			}
			if got := Broken(a); got != c.want {
				t.Errorf("broken: %v", got)
			}
			p := [64]byte{}
			if n, err := Recv(a, p[:]); string(p[:n]) != "unread" || err != nil {
				t.Errorf("got %q, %v after the question", p[:n], err)
			}
		})
	}
	if Broken(^uintptr(0)) {
		t.Error("no descriptor is broken")
	}
}

func must(t testing.TB, fd uintptr, s string) {
	t.Helper()
	if n, err := Send(fd, []byte(s)); n != len(s) || err != nil {
		t.Fatalf("Send: %d, %v", n, err)
	}
}

func TestSendToNobody(t *testing.T) {
	a, b := pair(t)
	unix.Shutdown(int(b), unix.SHUT_RD)
	if n, err := Send(a, []byte("x")); n != 0 || err != syscall.EPIPE {
		t.Errorf("Send: %d, %v; want EPIPE", n, err)
	}
	if n, err := Writev(a, [][]byte{{1}, {2}}); n != 0 || err != syscall.EPIPE {
		t.Errorf("Writev: %d, %v; want EPIPE", n, err)
	}
	if _, err := Recv(^uintptr(0), make([]byte, 1)); err != syscall.EBADF {
		t.Errorf("Recv from no descriptor: %v", err)
	}
}

func TestWritev(t *testing.T) {
	for _, pieces := range []int{0, 1, 2, fewPieces, fewPieces + 1, MaxPieces, MaxPieces + 10} {
		a, b := pair(t)
		var iov [][]byte
		var all []byte
		for i := range pieces {
			p := bytes.Repeat([]byte{byte(i)}, i%7) // some are empty
			iov = append(iov, p)
			all = append(all, p...)
		}
		var got []byte
		for len(got) < len(all) {
			n, err := Writev(a, iov)
			if err != nil || n == 0 {
				t.Fatalf("%d pieces: %d, %v", pieces, n, err)
			}
			for rest := n; rest > 0; { // drop what was sent
				k := min(rest, len(iov[0]))
				rest -= k
				if iov[0] = iov[0][k:]; len(iov[0]) == 0 {
					iov = iov[1:]
				}
			}
			p := make([]byte, n)
			if k, err := Recv(b, p); k != n || err != nil {
				t.Fatalf("received %d of %d, %v", k, n, err)
			}
			got = append(got, p...)
		}
		if !bytes.Equal(got, all) {
			t.Errorf("%d pieces arrived differently", pieces)
		}
		if n, err := Writev(a, nil); n != 0 || err != nil {
			t.Errorf("Writev of nothing: %d, %v", n, err)
		}
	}
}

func TestFullSocket(t *testing.T) {
	a, b := pair(t)
	unix.SetNonblock(int(a), false) // must not block even so
	big := make([]byte, 1<<20)
	total := 0
	for {
		n, err := Writev(a, [][]byte{big, big})
		if err == EAGAIN {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if total == 0 || total >= 100<<20 {
		t.Errorf("the socket took %d bytes", total)
	}
	if _, err := Send(a, big); err != EAGAIN {
		t.Errorf("Send to a full socket: %v", err)
	}
	if n, err := Recv(b, big); n == 0 || err != nil {
		t.Fatal(n, err)
	}
}

// TestInqSeesTheEnd: data and FIN in one event leave an edge-triggered reader
// no second edge; the hint has to tell, each time.
func TestInqSeesTheEnd(t *testing.T) {
	for round := range 20 {
		fd, peer := tcp(t)
		if err := EnableInq(fd); err != nil {
			t.Fatal(err)
		}
		poll, err := NewPoll()
		if err != nil {
			t.Fatal(err)
		}
		if err := poll.Add(fd, Readable|PeerGone|Edge, Tag{1, 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(peer, "the last words"); err != nil {
			t.Fatal(err)
		}
		if err := peer.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		// Wait for the FIN without reading the data: both are one event then.
		ready(t, fd, unix.POLLRDHUP)
		events := make([]Event, 4)
		if n, err := poll.Poll(events); n != 1 || err != nil || events[0].Flags()&(Readable|PeerGone) != Readable|PeerGone {
			t.Fatalf("round %d: %d events, flags %#x, %v", round, n, events[0].Flags(), err)
		}
		p := make([]byte, 1<<10)
		n, inq, err := RecvInq(fd, p[:4])
		if n != 4 || inq != 10+1 || err != nil {
			t.Fatalf("round %d: first part %d, inq %d, %v; want 4, 11", round, n, inq, err)
		}
		n, inq, err = RecvInq(fd, p)
		if n != 10 || inq != 1 || err != nil {
			t.Fatalf("round %d: rest %d, inq %d, %v; want 10, and 1 for the FIN", round, n, inq, err)
		}
		if n, err := poll.Poll(events); n != 0 || err != nil {
			t.Fatalf("round %d: a second edge: the test proves nothing", round)
		}
		if n, inq, err = RecvInq(fd, p); n != 0 || err != nil || inq > 1 {
			t.Fatalf("round %d: at the end %d, inq %d, %v; want 0, nil", round, n, inq, err)
		}
		Close(poll.Fd())
	}
}

func TestInqWithoutEnd(t *testing.T) {
	fd, peer := tcp(t)
	p := make([]byte, 1<<10)
	io.WriteString(peer, "not asked for")
	ready(t, fd, unix.POLLIN)
	if n, inq, err := RecvInq(fd, p); n != 13 || inq != -1 || err != nil {
		t.Fatalf("without EnableInq: %d, inq %d, %v; want -1", n, inq, err)
	}
	if err := EnableInq(fd); err != nil {
		t.Fatal(err)
	}
	if n, inq, err := RecvInq(fd, p); n != 0 || inq != -1 || err != EAGAIN {
		t.Fatalf("nothing there: %d, inq %d, %v; want EAGAIN", n, inq, err)
	}
	io.WriteString(peer, "all of it")
	ready(t, fd, unix.POLLIN)
	if n, inq, err := RecvInq(fd, p); n != 9 || inq != 0 || err != nil {
		t.Fatalf("all taken: %d, inq %d, %v; want inq 0", n, inq, err)
	}
	a, b := pair(t)
	if EnableInq(a) == nil {
		t.Error("EnableInq on a unix socket did not fail")
	}
	must(t, b, "x")
	if n, inq, err := RecvInq(a, p); n != 1 || inq != -1 || err != nil {
		t.Errorf("unix socket: %d, inq %d, %v; want -1", n, inq, err)
	}
	if _, _, err := RecvInq(a, nil); err != syscall.EINVAL {
		t.Errorf("into nothing: %v", err)
	}
}

func TestHotCallsDoNotAllocate(t *testing.T) {
	a, b := pair(t)
	fd, peer := tcp(t)
	EnableInq(fd)
	p := make([]byte, 1<<10)
	few := [][]byte{p[:1], p[1:2], p[2:3]}
	many := make([][]byte, MaxPieces)
	for i := range many {
		many[i] = p[i : i+1]
	}
	one := []byte{1}
	for name, f := range map[string]func(){
		"send, recv":  func() { Send(a, p); Recv(b, p) },
		"few pieces":  func() { Writev(a, few); Recv(b, few[0]) },
		"many pieces": func() { Writev(a, many); Recv(b, p) },
		"EAGAIN":      func() { Recv(b, p) },
		"inq":         func() { peer.Write(one); RecvInq(fd, p) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestErrUnsupported(t *testing.T) {
	if !errors.Is(ErrUnsupported, errors.ErrUnsupported) || errors.Is(ErrUnsupported, os.ErrClosed) {
		t.Error("ErrUnsupported is not errors.ErrUnsupported")
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	x, y := pair(b)
	p := make([]byte, 1<<10)
	iov := [][]byte{p[:512], p[512:]}
	b.Run("send+recv", func(b *testing.B) {
		for b.Loop() {
			Send(x, p)
			Recv(y, p)
		}
	})
	b.Run("writev+recv", func(b *testing.B) {
		for b.Loop() {
			Writev(x, iov)
			Recv(y, p)
		}
	})
	b.Run("unix.Write+Read", func(b *testing.B) {
		for b.Loop() {
			unix.Write(int(x), p)
			unix.Read(int(y), p)
		}
	})
	b.Run("recv that finds nothing", func(b *testing.B) {
		for b.Loop() {
			Recv(y, p)
		}
	})
}
