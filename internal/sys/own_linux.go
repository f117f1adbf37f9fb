package sys

import "golang.org/x/sys/unix"

// Dup gives another descriptor of the same socket or file, closed on exec, which
// the caller owns. Flags such as non-blocking are shared with the first.
func Dup(fd uintptr) (uintptr, error) {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	return uintptr(n), err
}

// CloseSend tells the peer of a stream socket that nothing follows.
func CloseSend(fd uintptr) error { return unix.Shutdown(int(fd), unix.SHUT_WR) }
