package limosa

import (
	"context"

	"github.com/limosa-rpc/limosa/internal/hook"
	"github.com/limosa-rpc/limosa/rpc"
)

// DialOn has c make its connections with dial, before its first call.
func (c *Client) DialOn(dial hook.Dialer) {
	c.Interceptors = append(c.Interceptors, func(ctx context.Context, call *rpc.Call, next rpc.Next) error {
		return next(hook.WithDialer(ctx, dial), call)
	})
}
