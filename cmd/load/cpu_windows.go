package load

import (
	"syscall"
	"time"
)

// CPUTime is the user and kernel time that this process has used, all
// threads, as GetProcessTimes tells; zero if it does not.
func CPUTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var made, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &made, &ended, &kernel, &user); err != nil {
		return 0
	}
	// Filetime counts 100 ns; its Nanoseconds method would subtract an epoch.
	ticks := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
