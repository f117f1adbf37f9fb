package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// portAtConnect has a socket that is bound to an address get its port when it
// connects, so that one port serves several peers.
func portAtConnect(_, _ string, raw syscall.RawConn) error {
	var err error
	if e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); e != nil {
		return e
	}
	return err
}
