package mux_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A peer without ids that numbers its answers at will, or answers something
// else, must not leave its caller waiting.
func TestStrangeAnswersOnAConnectionWithoutIDs(t *testing.T) {
	for name, tt := range map[string]struct {
		typ    raw.MessageType
		seq    int32
		method string
		body   string
		code   rpc.Code
		text   string
		usable bool
	}{
		"right":                  {raw.Reply, 0, "echo", "hi", rpc.OK, "", true},
		"exception, foreign id":  {raw.Exception, 99, "echo", "\x0b\x00\x01\x00\x00\x00\x04oops\x08\x00\x02\x00\x00\x00\x06\x00", rpc.Internal, "oops", true},
		"reply, foreign id":      {raw.Reply, 99, "echo", "hi", rpc.DataLoss, "another call's id", false},
		"reply, foreign method":  {raw.Reply, 0, "other", "hi", rpc.DataLoss, `"other" was answered`, true},
		"answer that is garbage": {raw.MessageType(9), 0, "echo", "hi", rpc.Unavailable, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := rpc.Limits{}.WithDefaults()
				a, b := pipe.New(pipe.Config{})
				defer netio.CloseWithin(b, time.Second)
				c := mux.NewConn(a, ttheader.Protocol{Form: ttheader.Framed}.Open(wire.Client, lim), mux.Config{Limits: lim})
				defer c.Close()
				go b.Receive(false, func(in *buf.In) (bool, error) {
					if in.Len() < 4 || in.Len() < 4+int(binary.BigEndian.Uint32(in.Peek(4))) {
						return true, nil
					}
					_, _, seq, _, err := raw.ParseMessageBegin(in.Peek(in.Len())[4:], false)
					if err != nil {
						return false, err
					}
					if tt.seq != 0 {
						seq = tt.seq
					}
					msg := append(raw.AppendMessageBegin(nil, tt.method, tt.typ, seq), tt.body...)
					o := b.Output()
					o.Lock()
					o.Out().Append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))))
					o.Out().Append(msg)
					if o.Unlock() {
						o.TryFlush()
					}
					return false, nil
				})
				x := stub.NewCall[string, string](method("echo", rpc.Unary), "Test")
				x.Args = "hello"
				err := c.Do(t.Context(), &x.Call)
				if rpc.CodeOf(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
					t.Errorf("echo = %q, %v", x.Result, err)
				}
				if _, usable := c.Status(); usable != tt.usable {
					t.Errorf("usable afterwards: %v", usable)
				}
			})
		})
	}
}

// The answer that says what was wrong with a frame reaches the peer although
// the connection is closed upon it, with more of the peer's bytes unread.
func TestLastWordIsHeard(t *testing.T) {
	for range 20 {
		lim := rpc.Limits{Depth: 8}.WithDefaults()
		l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			nc, err := l.Accept(t.Context())
			if err != nil {
				done <- err
				return
			}
			cfg := &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: echo.route, Base: t.Context()}
			mux.NewServerConn(nc, ttheader.Protocol{}.Open(wire.Server, lim), cfg).Run(func(err error) { done <- err })
		}()
		nc, err := netio.Dial(t.Context(), "tcp", l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// A bare message whose struct makes no sense: its end cannot be found.
		msg := append(raw.AppendMessageBegin(nil, "echo", raw.Call, 7), 0x55, 0, 1)
		o := nc.Output()
		o.Lock()
		o.Out().Append(msg)
		o.Out().Append(make([]byte, 256<<10))
		if o.Unlock() {
			o.TryFlush()
		}
		var answer []byte
		_, err = nc.Receive(false, func(in *buf.In) (bool, error) {
			answer = append(answer, in.Next(in.Len())...)
			return true, nil
		})
		if _, typ, seq, _, perr := raw.ParseMessageBegin(answer, false); perr != nil || typ != raw.Exception || seq != 7 {
			t.Fatalf("answer %q, %v; then %v", answer, perr, err)
		}
		netio.CloseWithin(nc, time.Second)
		if err := <-done; err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Run = %v", err)
		}
		l.Close()
	}
}

// An answer of one message to a call of several ends that call; it does not
// keep those from waking whose answers come behind it.
func TestAnswerToAStreamsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		defer netio.CloseWithin(b, time.Second)
		c := mux.NewConn(a, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
		defer c.Close()
		peer := ttheader.Protocol{}.Open(wire.Server, lim)
		echo := func(arg string) error {
			x := stub.NewCall[string, string](method("echo", rpc.Unary), "Test")
			x.Args = arg
			err := c.Do(t.Context(), &x.Call)
			if err == nil && x.Result != arg {
				t.Errorf("echo = %q, want %q", x.Result, arg)
			}
			return err
		}
		// The first call settles that the peer is of our kind.
		first := make(chan error, 1)
		go func() { first <- echo("first") }()
		answerAll(t, b, peer, 1)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		streamed := make(chan error, 1)
		go func() {
			x := stub.NewCall[string, string](chatMethod, "Test")
			streamed <- stub.Converse(t.Context(), c, &x.Call, func(_ context.Context, s rpc.Stream) error {
				if err := s.Send(new("hello")); err != nil {
					return err
				}
				return s.Receive(new(string))
			})
		}()
		synctest.Wait()
		answers := make(chan error, 3)
		for _, arg := range []string{"a", "b", "c"} {
			go func() { answers <- echo(arg) }()
		}
		synctest.Wait()
		answerAll(t, b, peer, 4)
		for range 3 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if err := <-streamed; rpc.CodeOf(err) != rpc.DataLoss {
			t.Errorf("the stream = %v", err)
		}
	})
}

// answerAll receives n calls and then answers them in one batch; those that are
// streams, first, as if they were calls of one message.
func answerAll(t *testing.T, b netio.Conn, peer wire.Session, n int) {
	t.Helper()
	var calls []wire.Event
	var sample wire.Event
	o := b.Output()
	for len(calls) < n {
		_, err := b.Receive(false, func(in *buf.In) (bool, error) {
			for {
				ev, need, err := peer.Cut(in)
				if err != nil || ev.Flags == 0 {
					in.Expect(need)
					return len(calls) < n, err
				}
				if ev.Flags&wire.Settings != 0 {
					o.Lock()
					peer.Apply(o.Out(), &ev)
					if o.Unlock() {
						o.TryFlush()
					}
				}
				if ev.Flags&wire.Open == 0 {
					ev.Body.Release()
					continue
				}
				if ev.Flags&wire.Stream == 0 {
					sample = ev
				}
				calls = append(calls, ev)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o.Lock()
	answer := func(ev *wire.Event) {
		reply := wire.Event{Flags: wire.Message | wire.End, ID: ev.ID, Method: "echo", Tag: sample.Tag}
		reply.Tag[0] = reply.Tag[0]&(1<<32-1) | ev.ID<<32
		reply.Tag[1] = ev.ID
		m := peer.Begin(o.Out(), &reply)
		o.Out().Append(ev.Body.Bytes())
		if err := peer.End(o.Out(), m, &reply); err != nil {
			t.Error(err)
		}
		ev.Body.Release()
	}
	for _, wanted := range [...]bool{true, false} {
		for i := range calls {
			if calls[i].Flags&wire.Stream != 0 == wanted {
				answer(&calls[i])
			}
		}
	}
	if o.Unlock() {
		o.TryFlush()
	}
}
