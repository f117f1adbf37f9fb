package mux_test

import (
	"testing"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Streams that a peer has opened which is known to be gone are not even looked up:
// to take a thousand in and give them up again costs more than to send them.
func TestStreamsOfAPeerThatHasGone(t *testing.T) {
	client, server := sockets(t, new(netio.Config))["tcp"](t)
	lim := rpc.Limits{}.WithDefaults()
	s := ttheader.Protocol{}.Open(wire.Client, lim)
	o := client.Output()
	o.Lock()
	for i := range uint64(50) {
		ev := wire.Event{Flags: streamFlags, ID: i + 1, Method: "chat"}
		m := s.Begin(o.Out(), &ev)
		o.Out().AppendString("x")
		if err := s.End(o.Out(), m, &ev); err != nil {
			t.Fatal(err)
		}
	}
	o.Unlock()
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	server.OnLost(func() { close(told) })
	client.Abort()
	client.Receive(false, nil) //nolint:errcheck // gives its memory back
	<-told
	looks := 0 // on the server's goroutines, which have ended when it is read
	route := func(string, string) (rpc.Handler, string, bool) { looks++; return rpc.Handler{}, "", false }
	ended := make(chan error, 1)
	c := mux.NewServerConn(server, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: route, Base: t.Context()})
	c.Run(func(err error) { ended <- err })
	<-ended
	if looks > 0 {
		t.Errorf("%d streams of a peer that has gone were taken in", looks)
	}
}

// ending is a session whose calls end with its connection, as HTTP's do.
type ending struct{ wire.Session }

func (e ending) Caps() wire.Caps {
	caps := e.Session.Caps()
	caps.Final = true
	return caps
}

// What a peer has sent that is known to be gone is dropped as it is where nothing of it could
// be run: to cut it costs more than to send it. Where there are oneway calls it is cut.
func TestWhatHasComeOfAPeerThatHasGone(t *testing.T) {
	for _, final := range []bool{false, true} {
		client, server := sockets(t, new(netio.Config))["tcp"](t)
		lim := rpc.Limits{}.WithDefaults()
		s := ttheader.Protocol{}.Open(wire.Client, lim)
		o := client.Output()
		o.Lock()
		for i := range uint64(50) {
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: i + 1, Method: "echo"}
			m := s.Begin(o.Out(), &ev)
			o.Out().AppendString("x")
			if err := s.End(o.Out(), m, &ev); err != nil {
				t.Fatal(err)
			}
		}
		o.Unlock()
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
		told := make(chan struct{})
		server.OnLost(func() { close(told) })
		client.Abort()
		client.Receive(false, nil) //nolint:errcheck // gives its memory back
		<-told
		looks := 0 // on the server's goroutines, which have ended when it is read
		route := func(string, string) (rpc.Handler, string, bool) { looks++; return rpc.Handler{}, "", false }
		ended := make(chan error, 1)
		var sess wire.Session = ttheader.Protocol{}.Open(wire.Server, lim)
		if final {
			sess = ending{sess}
		}
		c := mux.NewServerConn(server, sess, &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: route, Base: t.Context()})
		c.Run(func(err error) { ended <- err })
		<-ended
		if (looks == 0) != final {
			t.Errorf("final %v: %d calls of a peer that has gone were looked up", final, looks)
		}
	}
}
