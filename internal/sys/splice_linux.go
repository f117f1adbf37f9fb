package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenPipe makes a kernel pipe for Splice: non-blocking and closed on exec. It
// asks for size bytes of room and says what the kernel granted: a process
// without privileges gets less, or as good as nothing, once its user's pipes
// hold fs.pipe-user-pages-soft pages (pipe(7)). The caller owns both
// descriptors.
func OpenPipe(size int) (r, w uintptr, granted int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return 0, 0, 0, err
	}
	r, w = uintptr(fds[0]), uintptr(fds[1])
	if granted, err = unix.FcntlInt(w, unix.F_SETPIPE_SZ, size); err != nil {
		// EPERM: over the user's limit. It has the size that it was made with.
		if granted, err = unix.FcntlInt(w, unix.F_GETPIPE_SZ, 0); err != nil {
			Close(r)
			Close(w)
			return 0, 0, 0, err
		}
	}
	return r, w, granted, nil
}

// Splice moves up to n bytes from in to out without bringing them into this
// process; one of the two is a pipe. It does not wait for the pipe; a socket
// must be non-blocking. EAGAIN: nothing could be moved. 0, nil: in is at its
// end. EINVAL: these descriptors cannot be spliced.
//
// It enters the kernel with the scheduler's bookkeeping, unlike Send: a
// megabyte takes a tenth of a millisecond, for which a P must not be held.
func Splice(in, out uintptr, n int) (int, error) {
	for {
		r, _, e := syscall.Syscall6(unix.SYS_SPLICE, in, 0, out, 0, uintptr(n), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if e == 0 {
			return int(r), nil
		}
		if e != syscall.EINTR {
			return 0, e
		}
	}
}

// ReadPipe reads from a pipe into p, which is borrowed. EAGAIN: it is empty.
func ReadPipe(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = unix.Read(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
