//go:build unix

package load

import (
	"syscall"
	"time"
)

// CPUTime is the user and system time that this process has used, all
// threads, as getrusage(2) tells; zero if it does not.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
