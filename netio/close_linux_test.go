package netio_test

import (
	"context"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// done, which Close calls, may close the connection as well.
func TestLoopCloseWithinClose(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		a, b, stop := looped(t, network)
		closed := make(chan error, 2)
		why, err := a.OnReadable(false, func(*buf.In) (bool, error) { return true, nil }, func(why netio.Outcome, _ error) {
			if why != netio.Lost {
				t.Errorf("done: %v", why)
			}
			closed <- a.Close(context.Background())
		})
		if why != netio.Parked {
			t.Fatalf("OnReadable: %v, %v", why, err)
		}
		go func() { closed <- a.Close(context.Background()) }()
		for range 2 {
			select {
			case err := <-closed:
				if err != nil {
					t.Error("Close:", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Close hangs")
			}
		}
		b.Abort()
		stop()
	}
}
