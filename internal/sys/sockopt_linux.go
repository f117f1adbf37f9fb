package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

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

// SetAbortOnClose makes Close send a reset and drop what is queued (SO_LINGER
// with zero seconds) instead of a FIN. TCP only; elsewhere it has no effect.
func SetAbortOnClose(fd uintptr) error {
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// SetUserTimeout says for how long what was sent may stay unacknowledged, or the
// peer's window closed, before the kernel breaks a TCP connection.
func SetUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(d.Milliseconds(), 1)))
}

// SetBuffers sets the sizes of the kernel's buffers; 0 leaves one alone.
func SetBuffers(fd uintptr, read, write int) error {
	for _, o := range [...]struct{ name, bytes int }{{unix.SO_RCVBUF, read}, {unix.SO_SNDBUF, write}} {
		if o.bytes <= 0 {
			continue
		}
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, o.name, o.bytes); err != nil {
			return err
		}
	}
	return nil
}

// SetFileMode bounds the mode of the file that binding a unix socket will make.
func SetFileMode(fd uintptr, mode uint32) error { return unix.Fchmod(int(fd), mode) }
