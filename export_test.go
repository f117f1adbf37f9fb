package limosa

import (
	"context"

	"github.com/limosa-rpc/limosa/netio"
)

// DialOn has c make its connections with dial, before its first call.
func (c *Client) DialOn(dial func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)) {
	c.network = dial
}

// Earned sets what calls have earned toward retries, and tells it.
func (c *Client) Earned(have int) (now func() int) {
	c.once.Do(c.start)
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.pool.mu.earned = have
	return func() int {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		return c.pool.mu.earned
	}
}

// DialOnceMore is DialOn of a client that has made calls; none is under way.
func (c *Client) DialOnceMore(dial func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)) {
	c.pool.network = dial
}

// DropAll has c forget its connections, which have no calls.
func (c *Client) DropAll() {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for pc := range c.pool.mu.all {
		c.pool.dropLocked(pc)
	}
}
