package mux_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A message of which nothing more comes ends the connection after FrameRest,
// whatever else is sent meanwhile; one of which now and then a piece comes, or
// that is given up, does not.
func TestUnfinishedMessageHasAnEnd(t *testing.T) {
	const total = 1000
	for name, tt := range map[string]struct {
		next func(i int) *wire.Event // each 20 seconds
		want time.Duration           // 0: the connection stays
	}{
		"nothing": {func(int) *wire.Event { return nil }, 30 * time.Second},
		"other calls": {func(i int) *wire.Event {
			return &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: uint64(10 + i), Method: "echo"}
		}, 30 * time.Second},
		"pieces": {func(i int) *wire.Event {
			return &wire.Event{Flags: wire.Message | wire.Piece, ID: 5, Offset: 10 * (i + 1), Total: total}
		}, 0},
		"its last ones": {func(i int) *wire.Event {
			return &wire.Event{Flags: wire.Message | wire.Piece, ID: 5, Offset: 10 * (i + 1), Total: 30}
		}, 0},
		"a cancel": {func(int) *wire.Event { return &wire.Event{Flags: wire.Reset, ID: 5} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := rpc.Limits{}.WithDefaults()
				a, b := pipe.New(pipe.Config{})
				h := handlers{"echo": func(context.Context, string) (string, error) { return "", nil }}
				server := mux.NewServerConn(b, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context()})
				ended := make(chan struct{})
				go server.Run(func(error) { close(ended) })
				// All that is said back is read past; the hello is made up.
				s := ttheader.Protocol{}.Open(wire.Client, lim)
				hello := ttheader.Protocol{}.Open(wire.Server, lim)
				say := func(ev *wire.Event) {
					var out buf.Out
					defer out.Reset()
					m := s.Begin(&out, ev)
					if ev.Flags&wire.Reset == 0 {
						out.Append(make([]byte, 10))
					}
					if err := s.End(&out, m, ev); err != nil {
						t.Fatal(err)
					}
					befriend(t, hello, s, out.Bytes())
					put(a, out.Bytes())
				}
				go a.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
				say(&wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 4, Method: "echo"})
				begin := time.Now()
				first := &wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 5, Method: "echo", Total: total}
				if name == "its last ones" {
					first.Total = 30
				}
				say(first)
				stop := time.After(100 * time.Second)
				tick := time.NewTicker(20 * time.Second)
				defer tick.Stop()
				for i := 0; ; i++ {
					select {
					case <-ended:
						if d := time.Since(begin); d != tt.want {
							t.Errorf("ended after %v, want %v", d, tt.want)
						}
						a.Abort()
						return
					case <-tick.C:
						if ev := tt.next(i); ev != nil && (i == 0 || name != "a cancel") && ev.Offset < max(ev.Total, 1) {
							say(ev)
						}
					case <-stop:
						if tt.want != 0 {
							t.Errorf("has not ended")
						}
						a.Abort()
						<-ended
						return
					}
				}
			})
		})
	}
}

// befriend has the server's session s1 say hello to what p offers, once.
func befriend(t *testing.T, s1, client wire.Session, p []byte) {
	t.Helper()
	if client.Caps().Pieces {
		return
	}
	var in, back buf.In
	var out buf.Out
	defer func() { in.Close(); back.Close(); out.Reset() }()
	in.Filled(copy(in.Space(), p))
	ev, _, err := s1.Cut(&in)
	if err != nil || ev.Flags&wire.Settings == 0 {
		t.Fatal(ev.Flags, err)
	}
	ev.Body.Release()
	s1.Apply(&out, &ev)
	back.Filled(copy(back.Space(), out.Bytes()))
	if ev, _, err = client.Cut(&back); err != nil {
		t.Fatal(err)
	}
	client.Apply(&out, &ev)
}
