//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package netio

import "net"

// wrap makes a Conn of nc. RawConn.Write cannot wait on Windows, so there is
// no parked reader.
func wrap(nc net.Conn, cfg Config, l *Limit) Conn {
	p := newWrappedConn(nc, cfg)
	p.limit = l
	return p
}
