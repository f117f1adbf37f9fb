package mux_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A frame whose rest a client does not read, because nobody waits for anything,
// is not its server's fault.
func TestFrameRestOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{NoOffer: true}
		r := &rig{cend: a, client: mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})}
		s := p.Open(wire.Server, lim)
		answer := func(ev *wire.Event) []byte {
			var out buf.Out
			defer out.Reset()
			reply := *ev
			reply.Flags, reply.Header, reply.Body = wire.Message|wire.End, nil, buf.View{}
			m := s.Begin(&out, &reply)
			out.Append(ev.Body.Bytes())
			if err := s.End(&out, m, &reply); err != nil {
				t.Fatal(err)
			}
			return append([]byte(nil), out.Bytes()...)
		}
		done := make(chan struct{})
		go func() { // answers, and behind it sends half an answer that nobody waits for
			defer close(done)
			b.Receive(false, func(in *buf.In) (bool, error) { //nolint:errcheck // until the end
				for {
					ev, need, err := s.Cut(in)
					if ev.Flags == 0 || err != nil {
						in.Expect(need)
						return true, err
					}
					whole := answer(&ev)
					put(b, append(whole, whole[:len(whole)/2]...))
					ev.Body.Release()
				}
			})
		}()
		if got, _, err := r.call(t.Context(), "echo", "here"); err != nil || got != "here" {
			t.Fatalf("echo = %q, %v", got, err)
		}
		time.Sleep(time.Minute)
		if _, usable := r.client.Status(); !usable {
			t.Fatal("the connection was given up")
		}
		r.client.Close()
		<-done
		netio.CloseWithin(b, time.Second)
	})
}
