package limosa

import (
	"context"

	"github.com/limosa-rpc/limosa/netio"
)

// DialOn has c make its connections with dial, before its first call.
func (c *Client) DialOn(dial func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)) {
	c.network = dial
}
