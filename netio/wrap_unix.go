//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import "net"

// wrap makes a Conn of nc, on an event loop or a parked reader where there is a
// descriptor.
func wrap(nc net.Conn, cfg Config, l *Limit) Conn {
	var s stream
	switch nc := nc.(type) {
	case *net.TCPConn:
		s = nc
	case *net.UnixConn:
		if nc.LocalAddr().Network() == "unix" { // not datagrams or packets
			s = nc
		}
	}
	if s != nil {
		if c, ok := cfg.Net.loops.wrap(s, &cfg, l); ok {
			return c
		}
		if c, err := newSockConn(s, cfg); err == nil {
			c.limit = l
			return c
		}
	}
	p := newWrappedConn(nc, cfg)
	p.limit = l
	return p
}
