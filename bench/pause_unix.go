//go:build unix

package main

import (
	"os"
	"syscall"
)

// pauseProcess has the kernel run p no more, until resumeProcess.
func pauseProcess(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resumeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
