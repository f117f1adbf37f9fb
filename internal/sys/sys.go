// Package sys is the only door to system calls: receiving and sending on raw
// non-blocking descriptors, socket options, epoll and guarded memory. No cgo.
//
// Calls that cannot block skip the scheduler's bookkeeping (RawSyscall), which
// is 6 to 10 % of a small message's cost; they must therefore be used on
// non-blocking descriptors only: a call that does block stops its whole P.
//
// Errors of the hot calls are plain syscall.Errno values, without allocation,
// and may be compared: err == sys.EAGAIN. Interrupted calls are repeated.
// Every function is safe for concurrent use, as far as the kernel is; memory is
// borrowed for the call. Linux is served fully; other unixes have the portable
// part; elsewhere every call fails with ErrUnsupported.
package sys

import "errors"

// ErrUnsupported is what calls return where the system has nothing of the kind.
// errors.Is(err, errors.ErrUnsupported) holds.
var ErrUnsupported error = unsupported{}

// unsupported is the error of what another system has.
type unsupported struct{}

func (unsupported) Error() string        { return "sys: not supported on this system" }
func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }
