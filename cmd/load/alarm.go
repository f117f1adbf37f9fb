package load

import "time"

// An alarm wakes the one goroutine that waits for it. Another one sets it, as
// the time that is due becomes known while the first one waits already.
type alarm interface {
	set(after time.Duration)
	wait()
	close()
}

// A timer is an alarm by the runtime's timers, which are up to a millisecond
// late where nothing else happens. It implements alarm.
type timer struct{ *time.Timer }

// newTimer makes an alarm by the runtime's timers, which is not set.
func newTimer() alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return timer{t}
}

func (t timer) set(after time.Duration) { t.Reset(after) }
func (t timer) wait()                   { <-t.C }
func (t timer) close()                  { t.Stop() }

// preciseAlarms is how many callers have a descriptor of the kernel's clock; if
// there are more, the others have timers.
//
// A process may often have no more than 1,024 descriptors, and the connections need
// theirs.
const preciseAlarms = 1000

// newAlarm gives a caller its alarm: the first ones get the kernel's, which is precise and costs a descriptor.
func (r *run) newAlarm(caller int) alarm {
	if r.Precise && caller < preciseAlarms {
		if a := newPrecise(); a != nil {
			return a
		}
	}
	return newTimer()
}
