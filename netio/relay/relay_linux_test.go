package relay_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
)

// A destination that cannot be spliced to is found out with bytes in the pipe:
// they are not lost.
func TestRelayCannotSplice(t *testing.T) {
	kinds := pairings()
	leakless(t)
	l := joined(t, kinds["tcp"], func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
		na, nb := nettest.Sockets(t, "tcp")
		raw, err := na.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			// The kernel splices to nothing that is open for appending.
			if _, err := unix.FcntlInt(fd, unix.F_SETFL, unix.O_APPEND|unix.O_NONBLOCK); err != nil {
				t.Fatal(err)
			}
		})
		return netio.Wrap(na, cfg), netio.Wrap(nb, cfg)
	})
	done := l.relay(t.Context())
	client, server := l.peers()
	large := noise(6, 4<<20)
	go func() {
		client.Write(large)
		client.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, large) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if n := l.pipes.Open(); n != 1 {
		t.Errorf("%d pipes, want the one that it was tried with", n)
	}
	server.(interface{ CloseWrite() error }).CloseWrite()
	if r := await(t, "Relay", done); r.err != nil || r.AToB != int64(len(large)) {
		t.Errorf("Relay = %+v", r)
	}
}
