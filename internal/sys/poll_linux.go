package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a Poll waits for and reports.
const (
	Readable uint32 = unix.EPOLLIN
	Writable uint32 = unix.EPOLLOUT
	PeerGone uint32 = unix.EPOLLRDHUP // the peer closed its side, or all
	Hangup   uint32 = unix.EPOLLHUP   // both sides are closed; reported unasked
	Failed   uint32 = unix.EPOLLERR   // it broke; reported unasked
	Edge     uint32 = unix.EPOLLET & 0xffffffff
)

// A Poll is an epoll: it tells which descriptors are ready. A descriptor leaves
// it when the last one of its socket is closed; events that were fetched before
// may still be handled then: compare the Gen of their Tag. Add and Modify may be
// called while Poll runs; Poll by one goroutine at a time.
type Poll struct{ fd int }

// An Event is one ready descriptor, in the kernel's layout.
type Event struct{ e unix.EpollEvent }

// Flags is what the descriptor is ready for.
func (e *Event) Flags() uint32 { return e.e.Events }

// Tag is what Add or Modify were given.
func (e *Event) Tag() Tag { return Tag{uint32(e.e.Fd), uint32(e.e.Pad)} }

// NewPoll makes an epoll. Its descriptor is non-blocking, so that os.NewFile
// puts it into Go's own poller; it is closed on exec.
func NewPoll() (*Poll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// An epoll ignores the flag, but os.NewFile looks at it.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Poll{fd}, nil
}

// Fd is the descriptor, for nesting. Whoever wraps it in a file owns it.
func (p *Poll) Fd() uintptr { return uintptr(p.fd) }

// Add waits for flags on fd; t comes back with every event.
func (p *Poll) Add(fd uintptr, flags uint32, t Tag) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, flags, t)
}

// Modify replaces flags and tag of fd; with Edge it reports anew what is ready.
func (p *Poll) Modify(fd uintptr, flags uint32, t Tag) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, flags, t)
}

// control changes what fd is watched for. t comes back with its events.
func (p *Poll) control(op int, fd uintptr, flags uint32, t Tag) error {
	e := unix.EpollEvent{Events: flags, Fd: int32(t.Slot), Pad: int32(t.Gen)}
	return unix.EpollCtl(p.fd, op, int(fd), &e)
}

// Poll fetches ready descriptors without waiting and returns how many there
// are, 0 if none.
func (p *Poll) Poll(events []Event) (int, error) {
	if len(events) == 0 {
		return 0, nil
	}
	// Safety: an Event is one unix.EpollEvent; the kernel writes at most
	// len(events) of them. With timeout 0 the call does not block.
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	switch e {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	}
	return 0, e
}

// Eventfd makes a counter to wake a Poll with: non-blocking, closed on exec. With
// Edge each Ring is an event, so that nobody has to read it. The caller owns the
// descriptor.
func Eventfd() (uintptr, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return uintptr(fd), err
}

// Ring makes an eventfd readable. It never blocks: an eventfd that is full is
// readable anyway.
func Ring(fd uintptr) error {
	one := uint64(1)
	// Safety: the kernel reads the 8 bytes of one.
	_, _, e := syscall.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&one)), 8)
	if e != 0 && e != syscall.EAGAIN {
		return e
	}
	return nil
}
