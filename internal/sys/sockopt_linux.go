package sys

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SetNoDelay turns TCP_NODELAY on or off: small segments leave at once.
func SetNoDelay(fd uintptr, on bool) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, boolInt(on))
}

// SetKeepAlive makes the kernel probe a silent TCP peer: first after idle, then
// every interval, and gives it up after count probes without an answer. Times
// are rounded up to seconds; zero values leave the system's default. A negative
// idle turns probing off.
func SetKeepAlive(fd uintptr, idle, interval time.Duration, count int) error {
	if idle < 0 {
		return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
	}
	for _, o := range [...]struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds(idle)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds(interval)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, count},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
	} {
		if o.value <= 0 {
			continue
		}
		if err := unix.SetsockoptInt(int(fd), o.level, o.name, o.value); err != nil {
			return err
		}
	}
	return nil
}

// SetReusePort lets several sockets listen on one port; before bind.
func SetReusePort(fd uintptr, on bool) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, boolInt(on))
}

// SetAbortOnClose makes Close send a reset and drop what is queued (SO_LINGER
// with zero seconds) instead of a FIN. TCP only; elsewhere it has no effect.
func SetAbortOnClose(fd uintptr) error {
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// SocketError takes the pending error off the socket: why it broke, or nil.
func SocketError(fd uintptr) error {
	e, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return err
	case e != 0:
		return syscall.Errno(e)
	}
	return nil
}

// PeerCred tells who is at the other end of a unix socket, as of its connect.
func PeerCred(fd uintptr) (Cred, error) {
	c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Cred{}, err
	}
	return Cred{PID: int(c.Pid), UID: int(c.Uid), GID: int(c.Gid)}, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
