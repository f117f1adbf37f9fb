package mux_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"strings"
	"sync/atomic"
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

// packed is a frame with a THeader and a compressed message.
func packed(t testing.TB, seq uint32, message []byte) []byte {
	t.Helper()
	return packedBy(t, zlib.DefaultCompression, seq, message)
}

// stored is packed for noise, as which the compressor leaves it after much work.
func stored(t testing.TB, seq uint32, noise []byte) []byte {
	t.Helper()
	return packedBy(t, zlib.NoCompression, seq, noise)
}

func packedBy(t testing.TB, level int, seq uint32, message []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(message); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return packedAs(seq, z.Bytes())
}

func packedAs(seq uint32, compressed []byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(14+len(compressed)))
	p = binary.BigEndian.AppendUint32(append(p, 0x0f, 0xff, 0, 0), seq)
	return append(append(p, 0, 1, 0, 1, 1, 0), compressed...)
}

func message(typ raw.MessageType, seq int32, method, body string) []byte {
	return append(raw.AppendMessageBegin(nil, method, typ, seq), body...)
}

// put queues p on nc and sends it; it parks while the peer takes nothing.
func put(nc netio.Conn, p []byte) {
	o := nc.Output()
	o.Lock()
	o.Out().Append(p)
	if o.Unlock() {
		o.Flush() //nolint:errcheck // what the peer answers tells
	}
}

// hangUp aborts nc, which the test itself receives from, and gives back what it was lent.
func hangUp(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, func(*buf.In) (bool, error) { return false, nil }) //nolint:errcheck // lost
}

// Compressed requests are inflated by the worker that serves them: what is wrong
// with one is that call's error, and the answers come in order.
func TestPackedRequests(t *testing.T) {
	bomb := message(raw.Call, 2, "echo", strings.Repeat("x", 8<<20))
	for _, where := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		synctest.Test(t, func(t *testing.T) {
			var fired atomic.Int32
			h := handlers{
				"echo":   func(_ context.Context, arg string) (string, error) { return arg, nil },
				"oneway": func(context.Context, string) (string, error) { fired.Add(1); return "", nil },
			}
			live := buf.Live()
			lim := rpc.Limits{}.WithDefaults()
			a, b := pipe.New(pipe.Config{})
			s := ttheader.Protocol{}.Open(wire.Server, lim)
			server := mux.NewServerConn(b, s, &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context(), Handlers: where})
			ended := make(chan struct{})
			go server.Run(func(error) { close(ended) })
			var all []byte
			for _, p := range [][]byte{
				packed(t, 1, message(raw.Call, 1, "echo", "small")),
				packed(t, 2, bomb), // 1,000 times what was sent
				packed(t, 3, message(raw.Oneway, 3, "oneway", "")),
				packedAs(4, []byte("no zlib at all")),
				packed(t, 5, message(raw.Call, 5, "oneway", "")), // the IDL decides
				packed(t, 6, message(raw.Call, 6, "unknown", "")),
				packed(t, 7, message(raw.Call, 7, "echo", strings.Repeat("large", 10_000))),
				packed(t, 8, message(raw.Reply, 8, "echo", "")),
			} {
				all = append(all, p...)
			}
			put(a, all)
			client := ttheader.Protocol{Form: ttheader.THeader}.Open(wire.Client, lim)
			var got []string
			for len(got) < 6 {
				why, err := a.Receive(false, func(in *buf.In) (bool, error) {
					ev, need, err := client.Cut(in)
					if err != nil || ev.Flags == 0 {
						in.Expect(need)
						return true, err
					}
					if ev.Flags&wire.Packed != 0 {
						client.Unpack(&ev, lim.MessageBytes)
					}
					text := string(ev.Body.Bytes())
					if ev.Body.Release(); ev.Err != nil {
						text = ev.Err.Code.String()
					}
					got = append(got, text[:min(len(text), 20)])
					return false, nil
				})
				if err != nil || why == netio.Lost {
					t.Fatalf("after %q: %v", got, err)
				}
			}
			want := []string{"small", "Internal", "Internal", "Unimplemented", "largelargelargelarge", "Internal"} // Thrift has no type for limits
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("answers %q, want %q", got, want)
					break
				}
			}
			hangUp(a)
			<-ended
			if fired.Load() != 2 || buf.Live() != live {
				t.Errorf("%d oneway calls ran, %d blocks were not released", fired.Load(), buf.Live()-live)
			}
		})
	}
}

// Compressed answers are inflated by their callers, and judged by them.
func TestPackedAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(seq int32) []byte
		code   rpc.Code
		result string
		usable bool
	}{
		"small":   {func(seq int32) []byte { return packed(t, uint32(seq), message(raw.Reply, seq, "echo", "hi")) }, rpc.OK, "hi", true},
		"id of 0": {func(seq int32) []byte { return packed(t, 0, message(raw.Reply, seq, "echo", "hi")) }, rpc.OK, "hi", true}, // Node's
		"exception": {func(seq int32) []byte {
			return packed(t, 0, raw.AppendException(message(raw.Exception, 9, "echo", ""), "no", 6))
		}, rpc.Internal, "", true},
		"foreign": {func(seq int32) []byte { return packed(t, uint32(seq), message(raw.Reply, seq+1, "echo", "hi")) }, rpc.DataLoss, "", false},
		"method":  {func(seq int32) []byte { return packed(t, uint32(seq), message(raw.Reply, seq, "other", "hi")) }, rpc.DataLoss, "", true},
		"bomb": {func(seq int32) []byte {
			return packed(t, uint32(seq), message(raw.Reply, seq, "echo", strings.Repeat("x", 8<<20)))
		}, rpc.ResourceExhausted, "", true},
		"garbage": {func(seq int32) []byte { return packedAs(uint32(seq), []byte("no zlib at all")) }, rpc.DataLoss, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := buf.Live()
				lim := rpc.Limits{}.WithDefaults()
				a, b := pipe.New(pipe.Config{})
				c := mux.NewConn(a, ttheader.Protocol{Form: ttheader.THeader}.Open(wire.Client, lim), mux.Config{Limits: lim})
				server := ttheader.Protocol{}.Open(wire.Server, lim)
				go b.Receive(false, func(in *buf.In) (bool, error) {
					ev, _, err := server.Cut(in)
					if err != nil || ev.Flags == 0 {
						return true, err
					}
					ev.Body.Release()
					put(b, tt.answer(int32(uint32(ev.Tag[1]))))
					return false, nil
				})
				x := stub.NewCall[string, string](method("echo", rpc.Unary), "Test")
				x.Args = "hello"
				if err := c.Do(t.Context(), &x.Call); rpc.CodeOf(err) != tt.code || x.Result != tt.result {
					t.Errorf("echo = %.20q, %v", x.Result, err)
				}
				synctest.Wait()
				if _, usable := c.Status(); usable != tt.usable {
					t.Errorf("usable afterwards: %v", usable)
				}
				hangUp(b)
				c.Close()
				if n := buf.Live() - live; n != 0 {
					t.Errorf("%d blocks were not released", n)
				}
			})
		})
	}
}

// A compressed request waits for its place to be inflated, and holds nobody up
// meanwhile.
func TestInflatingHasPlaces(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		synctest.Test(t, func(t *testing.T) {
			var echoed, others atomic.Int32
			h := handlers{
				"echo":   func(_ context.Context, arg string) (string, error) { echoed.Add(1); return arg, nil },
				"oneway": func(context.Context, string) (string, error) { others.Add(1); return "", nil },
			}
			lim := rpc.Limits{}.WithDefaults()
			a, b := pipe.New(pipe.Config{})
			s := ttheader.Protocol{}.Open(wire.Server, lim)
			places := make(chan struct{}, 1)
			places <- struct{}{} // somebody else inflates
			server := mux.NewServerConn(b, s, &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context(), Handlers: where, Zlib: places})
			ended := make(chan struct{})
			go server.Run(func(error) { close(ended) })
			put(a, packed(t, 1, message(raw.Call, 1, "echo", "hi")))
			synctest.Wait()
			for seq := range 3 {
				m := message(raw.Oneway, int32(seq+2), "oneway", "")
				put(a, append(binary.BigEndian.AppendUint32(nil, uint32(len(m))), m...))
				synctest.Wait()
			}
			if echoed.Load() != 0 || others.Load() != 3 {
				t.Errorf("with no place to inflate %d compressed requests ran, and %d others of 3", echoed.Load(), others.Load())
			}
			<-places
			synctest.Wait()
			if echoed.Load() != 1 || len(places) != 0 {
				t.Errorf("with a place %d ran, and %d places are taken", echoed.Load(), len(places))
			}
			a.Abort()
			<-ended
			a.Receive(false, nil)
		})
	}
}

// A compressed answer waits for its place likewise, and is charged meanwhile: answers
// for which there is no room are dropped at once. One that nobody awaits any more is
// not compressed.
func TestCompressingHasPlaces(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		synctest.Test(t, func(t *testing.T) {
			const calls, size = 10, 100 << 10
			total := mux.NewTotal(6*size, nil, "")
			open := make(chan struct{})
			h := handlers{"wait": func(context.Context, string) (string, error) { <-open; return strings.Repeat("x", size), nil }}
			page, _, _ := h.route("", "wait")
			page.Method = method("wait", rpc.Unary) // nothing is known of its answers: all are begun
			route := func(string, string) (rpc.Handler, string, bool) { return page, "", true }
			lim := rpc.Limits{}.WithDefaults()
			a, b := pipe.New(pipe.Config{})
			places := make(chan struct{}, 1)
			s := &packingSession{Session: ttheader.Protocol{}.Open(wire.Server, lim)}
			cfg := &mux.ServerConfig{Config: mux.Config{Limits: lim, Total: total}, Base: t.Context(), Handlers: where, Zlib: places, Route: route}
			server := mux.NewServerConn(b, s, cfg)
			ended := make(chan struct{})
			go server.Run(func(error) { close(ended) })
			for seq := range uint32(calls) {
				put(a, packed(t, seq+1, message(raw.Call, int32(seq+1), "wait", "hi")))
				synctest.Wait()
			}
			places <- struct{}{} // somebody else has it
			close(open)
			synctest.Wait()
			if n := total.Held(); s.packs.Load() != 0 || n < 6*size || n > 9*size {
				t.Errorf("with no place %d answers were compressed, and %d bytes are held", s.packs.Load(), n)
			}
			<-places
			synctest.Wait()
			served := s.packs.Load()
			if served < 3 || served > 5 || len(places) != 0 || total.Held() > size {
				t.Errorf("with a place %d answers were compressed, %d places are taken, %d bytes are held", served, len(places), total.Held())
			}
			places <- struct{}{}
			put(a, packed(t, 99, message(raw.Call, 99, "wait", "hi")))
			synctest.Wait()
			a.Abort()
			synctest.Wait()
			<-places
			<-ended
			if n := s.packs.Load(); n != served {
				t.Errorf("%d answers were compressed that nobody awaits", n-served)
			}
			a.Receive(false, nil)
			if total.Held() != 0 {
				t.Errorf("%d bytes are held in the end", total.Held())
			}
		})
	}
}

// packingSession counts what is compressed.
type packingSession struct {
	wire.Session
	packs atomic.Int32
}

func (s *packingSession) Pack(ev *wire.Event, body *buf.Out) error {
	s.packs.Add(1)
	return s.Session.Pack(ev, body)
}

// A compressed request that waits for its place to be inflated is given up when its
// connection ends, or its time is over.
func TestInflatingIsWaitedForInTime(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		for what, end := range map[string]func(a *pipe.Conn){
			"lost": func(a *pipe.Conn) { a.Abort() },
			"late": func(*pipe.Conn) {},
		} {
			synctest.Test(t, func(t *testing.T) {
				lim := rpc.Limits{QueueTime: 2 * time.Second}.WithDefaults()
				a, b := pipe.New(pipe.Config{})
				places := make(chan struct{}, 1)
				places <- struct{}{} // somebody else inflates, and takes for ever
				server := mux.NewServerConn(b, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: handlers(echo).route, Base: t.Context(), Handlers: where, Zlib: places})
				ended := make(chan struct{})
				go server.Run(func(error) { close(ended) })
				put(a, packed(t, 1, message(raw.Call, 1, "echo", "hi")))
				synctest.Wait()
				start := time.Now()
				end(a)
				why, _ := a.Receive(false, func(in *buf.In) (bool, error) { return in.Len() == 0, nil })
				if took := time.Since(start); took > 3*time.Second || why != map[string]netio.Outcome{"lost": netio.Lost, "late": netio.Enough}[what] {
					t.Errorf("%s: %v after %v", what, why, took)
				}
				hangUp(a)
				<-ended
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("%s: the connection ended after %v", what, took)
				}
			})
		}
	}
}

// What a compressed request has become counts as the block that it takes.
func TestInflatedBlocksAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		h := handlers{"wait": func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}
		server := mux.NewServerConn(b, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: plainRoute(h), Base: t.Context()})
		ended := make(chan struct{})
		go server.Run(func(error) { close(ended) })
		put(a, packed(t, 1, message(raw.Call, 1, "wait", strings.Repeat("x", 33<<10))))
		synctest.Wait()
		if n, _ := mux.Charges(server); n < 64<<10 {
			t.Errorf("%d bytes are charged, of a block of %d", n, 64<<10)
		}
		hangUp(a)
		<-ended
	})
}
