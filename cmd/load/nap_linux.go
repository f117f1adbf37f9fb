package load

import (
	"syscall"
	"time"
)

// Nap lets d pass in nanosleep(2), some 60 µs late where a timer of the
// runtime is up to a millisecond late. It holds a thread meanwhile, and a
// signal may cut it short.
func Nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
