package netio

import (
	"context"
	"net"
)

// Dial connects to addr. network is "tcp", "tcp4", "tcp6" or "unix". Of the
// addresses of a host name both families are tried, the second one a little
// later (RFC 6555). ctx bounds the dialing only; without a deadline the system
// decides how long it may take. The error is an *Error.
func Dial(ctx context.Context, network, addr string, cfg *Config) (Conn, error) {
	c := cfg.orDefault()
	d := net.Dialer{KeepAlive: -1} // Config.tune sets it
	nc, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, addrError("dial", network, addr, err)
	}
	return wrap(nc, c, nil), nil
}

// Wrap makes a Conn of nc, which it owns from then on. TCP and unix sockets get
// a parked reader on unix systems; anything else is read in the goroutine that
// calls Receive, and owed output is sent by a goroutine.
//
// A tls.Conn may be wrapped; Client and Server are the better way. A
// [View] becomes its Conn again: nothing must have been done with it.
func Wrap(nc net.Conn, cfg *Config) Conn {
	if c, ok := viewed(nc); ok {
		return c
	}
	return wrap(nc, cfg.orDefault(), nil)
}

// addrError is an *Error with an address as the user wrote it.
func addrError(op, network, addr string, err error) error {
	e := wrapError(op, nil, err).(*Error)
	e.Net, e.Addr = network, addr
	return e
}
