package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A duplicate lives on when the first is closed, and its end is an end.
func TestDup(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	peer := uintptr(pair[1])
	defer Close(peer) //nolint:errcheck
	fd, err := Dup(uintptr(pair[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer Close(fd) //nolint:errcheck
	if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: not closed on exec", flags, err)
	}
	if err := Close(uintptr(pair[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := Send(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := CloseSend(fd); err != nil {
		t.Fatal(err)
	}
	var p [4]byte
	for _, want := range []int{1, 0} {
		if n, err := Recv(peer, p[:]); n != want || err != nil {
			t.Errorf("Recv: %d, %v; want %d", n, err, want)
		}
	}
	if _, err := Dup(^uintptr(0)); err == nil {
		t.Error("a duplicate of nothing")
	}
}
