package stub_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// chatter is a stream that has one message, whatever is sent.
type chatter struct{ sink }

func (chatter) Receive(any) error { return nil }

type chatting struct{ driver }

func (chatting) Do(ctx context.Context, c *rpc.Call) error {
	return rpc.EngineOf(c).Drive(ctx, chatter{})
}

// TestPanicAfterTheLoop: the sequence of a call whose answers nobody looks at any
// more has no caller to panic in; the process goes on, and the log tells.
func TestPanicAfterTheLoop(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		in := func(yield func(*string, error) bool) {
			<-left
			panic("too late")
		}
		for range stub.Exchange[string, string](t.Context(), chatting{}, stub.Make(streamed, "S", nil, nil), in) {
			break
		}
		close(left)
		synctest.Wait()
	})
	if !strings.Contains(log.String(), "too late") {
		t.Errorf("the panic is not told of: %s", &log)
	}
}
