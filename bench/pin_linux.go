package main

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinTo keeps this process on one processor, if the machine has several: all
// threads that it has now, and those that they make.
func pinTo(cpu int) {
	if runtime.NumCPU() <= cpu {
		return
	}
	var set unix.CPUSet
	set.Set(cpu)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			unix.SchedSetaffinity(tid, &set) //nolint:errcheck // it runs as well where it may run anywhere
		}
	}
}
