//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup has cmd's process lead a group of its own, which standBack needs.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// standBack gives the victim and its canary the processor before this process:
// an attacker's own work is done on another machine. All threads of the group
// are meant, where a process has one priority for each thread.
func standBack() error { return syscall.Setpriority(syscall.PRIO_PGRP, 0, 10) }
