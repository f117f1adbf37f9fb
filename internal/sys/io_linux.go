package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// MaxPieces is how many pieces Writev looks at; more wait for the
	// next call.
	MaxPieces = 64

	fewPieces = 8 // so many fit a vector that is cheap to clear
)

// Recv receives into p, which is borrowed and must not be empty. It never
// blocks: EAGAIN means that nothing has arrived. 0, nil is the end: the peer has
// closed its side. fd is a stream socket, in blocking mode or not.
func Recv(fd uintptr, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, syscall.EINVAL // the kernel's 0 would read like the end
	}
	for {
		// Safety: p stays alive during the call; the kernel writes len(p) bytes
		// at most.
		r, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		if e == 0 {
			return int(r), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// Send sends from p, which is borrowed, and returns how many bytes the kernel
// took: maybe fewer. It never blocks (EAGAIN) and never raises SIGPIPE (EPIPE).
func Send(fd uintptr, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		// Safety: p stays alive during the call; the kernel reads len(p) bytes
		// at most.
		r, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if e == 0 {
			return int(r), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// Writev sends up to MaxPieces of iov in order, as Send does. The pieces and iov
// are borrowed and unchanged; the caller drops the n bytes sent.
func Writev(fd uintptr, iov [][]byte) (n int, err error) {
	if len(iov) == 1 {
		return Send(fd, iov[0])
	}
	if len(iov) <= fewPieces {
		return writevFew(fd, iov)
	}
	return writevMany(fd, iov)
}

// The vectors are in functions of their own: their 1 KB would be part of the
// frame of whoever sends, and a goroutine that is parked for ever after one
// send would keep a stack twice as large.
//
//go:noinline
func writevFew(fd uintptr, iov [][]byte) (n int, err error) {
	var vec [fewPieces]unix.Iovec
	return sendmsg(fd, vec[:fill(vec[:], iov)])
}

//go:noinline
func writevMany(fd uintptr, iov [][]byte) (n int, err error) {
	var vec [MaxPieces]unix.Iovec
	return sendmsg(fd, vec[:fill(vec[:], iov)])
}

// fill describes the pieces that are not empty, as many as vec holds.
func fill(vec []unix.Iovec, iov [][]byte) (n int) {
	for _, p := range iov {
		if n == len(vec) {
			break
		}
		if len(p) > 0 {
			vec[n].Base = &p[0]
			vec[n].SetLen(len(p))
			n++
		}
	}
	return n
}

// sendmsg sends what goes of vec without waiting, and again after a signal. It never raises SIGPIPE.
func sendmsg(fd uintptr, vec []unix.Iovec) (int, error) {
	if len(vec) == 0 {
		return 0, nil
	}
	var h unix.Msghdr
	h.Iov = &vec[0]
	h.SetIovlen(len(vec))
	for {
		// Safety: h, vec and the pieces stay alive during the call; the kernel
		// only reads them. Neither stack nor heap objects move during it.
		r, _, e := syscall.RawSyscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if e == 0 {
			return int(r), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// recvmsg receives without waiting, and again after a signal.
func recvmsg(fd uintptr, h *unix.Msghdr) (int, error) {
	for {
		// Safety: h and what it points to stay alive during the call, which
		// writes within the lengths that h states.
		r, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if e == 0 {
			return int(r), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// inqControl holds one control message with an int32.
type inqControl struct {
	h    unix.Cmsghdr
	data int32
	_    int32
}

// EnableInq asks the kernel to tell with each RecvInq on this TCP socket how
// much more is waiting (TCP_INQ, Linux 4.18). Other sockets: an error.
func EnableInq(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_INQ, 1)
}

// RecvInq is Recv, and tells besides how many bytes inq are still waiting after
// these. A FIN behind the last byte counts as one: the kernel's hint includes
// the sequence number that the FIN takes, so that inq > 0 means "receive once
// more" and inq == 0 that there is neither data nor an end to be seen: the next
// of either brings a new poller edge. That is what an edge-triggered reader
// needs when data and FIN come in one event (docs: net/ipv4/tcp.c,
// tcp_inq_hint).
//
// inq is -1 where the kernel does not tell: no EnableInq, or not TCP. Then only
// a receive that finds EAGAIN is proof.
func RecvInq(fd uintptr, p []byte) (n, inq int, err error) {
	if len(p) == 0 {
		return 0, -1, syscall.EINVAL
	}
	var vec unix.Iovec
	vec.Base = &p[0]
	vec.SetLen(len(p))
	var c inqControl
	var h unix.Msghdr
	h.Iov = &vec
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(&c)) // Safety: the length follows, and c outlives the call
	h.SetControllen(int(unsafe.Sizeof(c)))
	if n, err = recvmsg(fd, &h); err != nil {
		return 0, -1, err
	}
	inq = -1
	if h.Controllen > 0 && c.h.Level == unix.IPPROTO_TCP && c.h.Type == unix.TCP_CM_INQ {
		inq = int(c.data)
	}
	return n, inq, nil
}

// Broken reports whether a stream socket has ended in both directions: it was
// reset, or both sides have closed theirs. It looks past what is unread. A unix
// socket has ended so once its peer has closed it, a TCP one has not.
func Broken(fd uintptr) bool {
	p := unix.PollFd{Fd: int32(fd)} // hangups and errors are told unasked
	var now unix.Timespec
	for {
		// Safety: p and now stay alive during the call, which writes p only. With a
		// time of 0 it does not block.
		n, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if e != syscall.EINTR {
			return e == 0 && n > 0 && p.Revents&(unix.POLLHUP|unix.POLLERR) != 0
		}
	}
}

// Close closes fd, which is given. It is not repeated when interrupted: on
// Linux the descriptor is gone all the same.
func Close(fd uintptr) error { return unix.Close(int(fd)) }
