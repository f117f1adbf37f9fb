package endpoint

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A server may be the first to notice that a call's time is over, and break it off. Its
// caller is told of the time; a cancel before that is one.
func TestLate(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	early, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	remote := &rpc.Error{Code: rpc.Canceled, Remote: true}
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want rpc.Code
	}{
		{over, remote, rpc.DeadlineExceeded},
		{early, remote, rpc.Canceled},
		{t.Context(), remote, rpc.Canceled},
		{over, &rpc.Error{Code: rpc.Canceled}, rpc.Canceled},
		{over, &rpc.Error{Code: rpc.NotFound, Remote: true}, rpc.NotFound},
		{over, nil, rpc.OK},
	} {
		if got := late(x.ctx, x.err); rpc.CodeOf(got) != x.want {
			t.Errorf("%v: %v, want %v", x.err, got, x.want)
		}
	}
	if remote.Code != rpc.Canceled || !errors.Is(late(over, remote), context.DeadlineExceeded) {
		t.Error("the error was changed, or is none of a deadline")
	}
}
