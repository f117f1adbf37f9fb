package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
)

const (
	// idleWait is how long the connections of one measurement may take.
	idleWait = 2 * time.Minute
	// idleAddresses is from how many addresses of ours connections are made: each
	// has about 28,000 ports, which are the slower to find the fewer are free.
	idleAddresses = 200
)

// A memory is what a server process says of itself.
type memory struct {
	RSS   int64 // bytes, after the heap's free memory was given back
	Error string
}

// idleMain runs the idle benchmark: what a server's memory grows by for
// connections that have exchanged one message and sleep.
func idleMain(ctx context.Context, args []string) error {
	p, err := parseIdle(args)
	if err != nil {
		return err
	}
	return p.run(ctx, func(ctx context.Context, s netSetting) (*netRow, error) { return measureIdle(ctx, p, s) }, "std",
		netColumn{"bytes/conn", func(r *netRow) float64 { return r.BytesPerConn }})
}

// parseIdle reads the flags of the idle benchmark.
func parseIdle(args []string) (*netPlan, error) {
	p := &netPlan{bench: "idle", payloads: []int{64}, depths: []int{0}}
	fs := flag.NewFlagSet("idle", flag.ContinueOnError)
	conns := fs.String("conns", "10000", "connections; may be a list")
	usual := echoNames()
	err := p.parse(fs, args, append(usual, stepPeer, idleRPC), usual, "memory of a server for connections that sleep; "+idleRPC+" is a whole RPC server")
	if err == nil {
		p.conns, err = parseInts("conns", *conns, 1)
	}
	return p, err
}

// measureIdle measures what connections cost that do nothing: memory each, and goroutines.
func measureIdle(ctx context.Context, p *netPlan, s netSetting) (*netRow, error) {
	ctx, cancel := context.WithTimeout(ctx, idleWait)
	defer cancel()
	server, err := startEcho(ctx, s.Peer, "")
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	connect := connectIdle
	if s.Peer == idleRPC {
		connect = connectIdleRPC
	}
	// The first connection brings in code and tables that later ones share.
	closeFirst, err := connect(ctx, server.Addr, 1, s.Payload, p.seed)
	if err != nil {
		return nil, err
	}
	defer closeFirst()
	before, err := askMemory(server)
	if err != nil {
		return nil, err
	}
	closeAll, err := connect(ctx, server.Addr, s.Conns, s.Payload, p.seed)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	after, err := askMemory(server)
	if err != nil {
		return nil, err
	}
	return &netRow{BytesPerConn: float64(after-before) / float64(s.Conns)}, nil
}

// connectIdle opens n connections, with one verified exchange on each.
func connectIdle(ctx context.Context, addr string, n, payload int, seed int64) (closeAll func(), err error) {
	var conns []net.Conn
	closeAll = func() {
		for _, c := range conns {
			c.Close()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(payload)), trial.RandomText(payload, seed)...)
	answer := make([]byte, len(frame))
	for i := range n {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, 0, byte(1+i%idleAddresses))}, Control: portAtConnect}
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		conns = append(conns, c)
		if until, ok := ctx.Deadline(); ok {
			c.SetDeadline(until)
		}
		if _, err := c.Write(frame); err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		if !bytes.Equal(answer, frame) {
			return nil, fmt.Errorf("connection %d: an answer that is not the request", i)
		}
	}
	return closeAll, nil
}

// connectIdleRPC is the same with n clients of Limosa and one call of each.
func connectIdleRPC(ctx context.Context, addr string, n, payload int, seed int64) (closeAll func(), err error) {
	t := limosaTarget(n, func() rpc.Caller { return &limosa.Client{Target: addr} })
	text := trial.RandomText(payload, seed)
	for i := range n {
		call, err := t.Caller(ctx, i, text)
		if err == nil {
			err = call(ctx, int64(i))
		}
		if err != nil {
			t.Close()
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return t.Close, nil
}

// askMemory asks the server process for its resident memory.
func askMemory(p *trial.Process) (rss int64, err error) {
	var m memory
	if err = p.Ask("memory", &m); err == nil && m.Error != "" {
		err = errors.New(m.Error)
	}
	return m.RSS, err
}

// answerMemory says addr, and then answers each line of in with the memory that
// this process holds.
func answerMemory(addr string, in io.Reader, out io.Writer) error {
	return trial.Answer(addr, in, out, func() any {
		var m memory
		var err error
		if m.RSS, err = residentBytes(); err != nil {
			m.Error = err.Error()
		}
		return m
	})
}

// residentBytes gives back what is free, and then tells what is left.
func residentBytes() (int64, error) {
	// Pools are empty after the second collection. A stack is halved by each
	// that finds most of it unused.
	for range 3 {
		debug.FreeOSMemory()
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}
