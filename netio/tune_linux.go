package netio

import (
	"net"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// inherits: an accepted socket has the options of the listening one.
const inherits = true

// beforeBind sets on a listening socket what accepted ones inherit, so that
// tuning costs them nothing. Errors are left alone, as in tune.
func (c *Config) beforeBind(fd uintptr) {
	if c.SocketMode != 0 {
		sys.SetFileMode(fd, uint32(c.SocketMode.Perm())) //nolint:errcheck // not a unix socket, or the Chmod after bind tells
	}
	if k := c.keepAlive(); k.Enable {
		sys.SetKeepAlive(fd, k.Idle, k.Interval, k.Count) //nolint:errcheck
	}
	sys.SetBuffers(fd, c.ReadBuffer, c.WriteBuffer) //nolint:errcheck
}

// setUserTimeout sets TCP_USER_TIMEOUT, which accepted sockets do not inherit.
func (c *Config) setUserTimeout(nc *net.TCPConn) {
	d := c.userTimeout()
	raw, err := nc.SyscallConn()
	if d == 0 || err != nil {
		return
	}
	raw.Control(func(fd uintptr) { sys.SetUserTimeout(fd, d) }) //nolint:errcheck // as in tune
}
