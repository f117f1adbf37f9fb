//go:build !unix

package main

import (
	"errors"
	"os"
)

func pauseProcess(*os.Process) error  { return errors.New("no process can be stopped here") }
func resumeProcess(*os.Process) error { return errors.New("no process can be stopped here") }
