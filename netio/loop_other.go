//go:build !linux

package netio

import "net"

// loops do not exist here: connections have parked readers, or none.
type loops struct{}

// wrap says that there are no loops on this system: the connection gets a parked reader.
func (*loops) wrap(net.Conn, *Config, *Limit) (Conn, bool) { return nil, false }
func (*loops) close() error                                { return nil }
