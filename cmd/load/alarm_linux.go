package load

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A kernelClock is an alarm that the kernel keeps (timerfd). The runtime waits
// for it as for a socket: it is late by what waking a thread takes, holds no
// thread meanwhile, and to set it costs one short system call and wakes nobody.
// It implements alarm.
type kernelClock struct {
	fd   int // file's; its Fd method would make it block
	file *os.File
}

var longAgo = time.Unix(1, 0)

// newPrecise gives nil if the kernel has no more of them.
func newPrecise() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &kernelClock{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
}

// set has the descriptor become readable after a time; none wakes at once, without the kernel's help.
func (k *kernelClock) set(after time.Duration) {
	var err error
	if after <= 0 {
		err = k.file.SetReadDeadline(longAgo) // wakes without the kernel's help
	} else {
		in := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
		err = unix.TimerfdSettime(k.fd, 0, &in, nil)
	}
	if err != nil {
		panic(err) // a descriptor of ours, and a time from a duration
	}
}

// wait parks in Go's poller until the descriptor is readable.
func (k *kernelClock) wait() {
	var count [8]byte
	_, err := k.file.Read(count[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = k.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		panic(err) // the same
	}
}

func (k *kernelClock) close() { k.file.Close() }
