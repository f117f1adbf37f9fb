package mux_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// streamFrame is a frame of a stream as Kitex writes it, with one pair.
func streamFrame(id uint32, typ, key, value string) []byte {
	h := []byte{0x10, 0, 1, 0, 1} // protocol, no transforms, one string
	for _, s := range []string{key, value} {
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(s))), s...)
	}
	h = append(h, 0x10, 0, 1, 0, 27, 0, 1, typ[0])
	for len(h)%4 != 0 {
		h = append(h, 0)
	}
	p := binary.BigEndian.AppendUint32(nil, uint32(10+len(h)))
	p = append(p, 0x10, 0, 0, 2)
	p = binary.BigEndian.AppendUint32(p, id)
	return append(binary.BigEndian.AppendUint16(p, uint16(len(h)/4)), h...)
}

func heapBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A server keeps little of the trailers that a client makes up for a stream whose
// handler does not receive.
func TestTrailersOfAClientAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		h := simple
		blocked := make(chan struct{})
		h.sum = func(ctx context.Context, _ iter.Seq2[*string, error]) (*string, error) {
			close(blocked)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		server := mux.NewServerConn(b, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context()})
		ended := make(chan struct{})
		go server.Run(func(error) { close(ended) })
		var out buf.Out
		client := ttheader.Protocol{NoOffer: true}.Open(wire.Client, lim)
		ev := wire.Event{Flags: wire.Stream | wire.Open, ID: 7, Method: "sum"}
		if err := client.End(&out, client.Begin(&out, &ev), &ev); err != nil {
			t.Fatal(err)
		}
		put(a, out.Bytes())
		out.Reset()
		<-blocked
		before := heapBytes()
		for i := range 3000 {
			put(a, streamFrame(7, "4", fmt.Sprint("k", i), strings.Repeat("v", 10_000)))
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := heapBytes() - before; n > 1<<20 {
			t.Errorf("%d bytes are held", n)
		}
		a.Abort()
		<-ended
	})
}

// A stream that is opened and reset in one batch has no handler and ends all the
// same, with what it had received given back; its neighbours are as they were.
func TestStreamsResetInTheirBatchNeverBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		live := buf.Live()
		var began atomic.Int32
		h := simple
		h.sum = func(ctx context.Context, _ iter.Seq2[*string, error]) (*string, error) {
			began.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		server := mux.NewServerConn(b, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context()})
		ended := make(chan struct{})
		go server.Run(func(error) { close(ended) })
		var out buf.Out
		client := ttheader.Protocol{NoOffer: true}.Open(wire.Client, lim)
		frame := func(ev *wire.Event, body string) {
			m := client.Begin(&out, ev)
			out.AppendString(body)
			if err := client.End(&out, m, ev); err != nil {
				t.Fatal(err)
			}
		}
		const streams = 20
		for id := uint64(1); id <= streams; id++ {
			frame(&wire.Event{Flags: wire.Stream | wire.Open, ID: id, Method: "sum"}, "")
			if id > 1 { // the first goes on
				frame(&wire.Event{Flags: wire.Stream | wire.Message, ID: id}, "never received")
				frame(&wire.Event{Flags: wire.Stream | wire.Reset, ID: id}, "")
			}
		}
		put(a, out.Bytes())
		out.Reset()
		synctest.Wait()
		if n := began.Load(); n != 1 {
			t.Errorf("%d handlers were begun, want that of the stream that goes on", n)
		}
		if got := server.Running(); len(got) != 1 {
			t.Errorf("%q run", got)
		}
		a.Abort()
		<-ended
		if n := buf.Live() - live; n > 0 {
			t.Errorf("%d blocks leaked: %s", n, buf.Unreleased())
		}
	})
}
