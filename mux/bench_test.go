//go:build unix

package mux_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// BenchmarkEcho makes calls of 1 KB over loopback TCP, client and server in
// one process.
func BenchmarkEcho(b *testing.B) {
	for _, callers := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { benchmarkEcho(b, callers) })
	}
}

func benchmarkEcho(b *testing.B, callers int) {
	lim := rpc.Limits{}.WithDefaults()
	l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	p := ttheader.Protocol{}
	m := method("echo", rpc.Unary)
	h := rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
		arg, err := stub.Args[string](c)
		*stub.Result[string](c) = *arg
		return err
	}}
	served := make(chan error, 1)
	go func() {
		nc, err := l.Accept(context.Background())
		if err != nil {
			served <- err
			return
		}
		var watch mux.StallWatch
		cfg := &mux.ServerConfig{Watch: &watch, Config: mux.Config{Limits: lim}, Base: context.Background(),
			Route: func(string, string) (rpc.Handler, string, bool) { return h, "", true }}
		mux.NewServerConn(nc, p.Open(wire.Server, lim), cfg).Run(func(err error) { served <- err })
	}()
	nc, err := netio.Dial(b.Context(), "tcp", l.Addr().String(), nil)
	if err != nil {
		b.Fatal(err)
	}
	c := mux.NewConn(nc, p.Open(wire.Client, lim), mux.Config{Limits: lim})
	arg := strings.Repeat("x", 1024)
	call := func() {
		x := stub.NewCall[string, string](m, "Test")
		x.Args = arg
		if err := c.Do(b.Context(), &x.Call); err != nil || x.Result != arg {
			b.Errorf("echo: %v", err)
		}
	}
	call()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				call()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
	c.Close()
	<-served
}

// cpu is what the process has used, user and system time together.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
