// Package hook is where the project's own tests reach in, past the public API.
package hook

import (
	"context"

	"github.com/limosa-rpc/limosa/netio"
)

// A Dialer makes a connection, in the place of netio.Dial.
type Dialer = func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)

type dialerKey struct{}

// WithDialer gives a context whose calls, where they need a connection, dial it
// with d: what a client's interceptor passes on.
func WithDialer(ctx context.Context, d Dialer) context.Context {
	return context.WithValue(ctx, dialerKey{}, d)
}

// DialerOf is the dialer of a call's context, or else the one given.
func DialerOf(ctx context.Context, or Dialer) Dialer {
	if d, ok := ctx.Value(dialerKey{}).(Dialer); ok {
		return d
	}
	return or
}
