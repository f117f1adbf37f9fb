//go:build !linux

package netio

import "net"

// inherits: an accepted socket has the options of the listening one; that is
// relied upon on Linux only.
const inherits = false

// beforeBind has nothing to set on this system.
func (c *Config) beforeBind(uintptr) {}

// setUserTimeout does nothing: TCP_USER_TIMEOUT is Linux's.
func (c *Config) setUserTimeout(*net.TCPConn) {}
