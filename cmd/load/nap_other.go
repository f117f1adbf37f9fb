//go:build !linux

package load

import "time"

// Nap lets d pass, as precisely as this system's timers are.
func Nap(d time.Duration) { time.Sleep(d) }
