package hook

import (
	"context"
	"errors"
	"testing"

	"github.com/limosa-rpc/limosa/netio"
)

func TestDialerOf(t *testing.T) {
	mine := errors.New("mine")
	ctx := WithDialer(t.Context(), func(context.Context, string, string, *netio.Config) (netio.Conn, error) { return nil, mine })
	for ctx, want := range map[context.Context]bool{ctx: true, t.Context(): false} {
		if _, err := DialerOf(ctx, func(context.Context, string, string, *netio.Config) (netio.Conn, error) { return nil, nil })(ctx, "", "", nil); (err == mine) != want {
			t.Errorf("%v: %v", ctx, err)
		}
	}
}
