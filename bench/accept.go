package main

import (
	"context"
	"flag"
	"time"
)

// acceptMain runs the accept benchmark: connections that are opened, carry one
// exchange and are closed by the client.
func acceptMain(ctx context.Context, args []string) error {
	p, err := parseAccept(args)
	if err != nil {
		return err
	}
	progs, done, err := buildC(ctx)
	if err != nil {
		return p.skipAll(err)
	}
	defer done()
	return p.run(ctx, func(ctx context.Context, s netSetting) (*netRow, error) { return measureAccept(ctx, p, progs, s) }, "std",
		netColumn{"conns/s", func(r *netRow) float64 { return r.ConnsPerS }},
		netColumn{"server CPU us", serverCPUOf})
}

// parseAccept reads the flags of the accept benchmark.
func parseAccept(args []string) (*netPlan, error) {
	p := &netPlan{bench: "accept", payloads: []int{64}, depths: []int{0}}
	fs := flag.NewFlagSet("accept", flag.ContinueOnError)
	conns := fs.String("conns", "20000", "connections, after a tenth of them to warm up; may be a list")
	err := p.parse(fs, args, append(echoNames(), "c-epoll", stepPeer), echoNames(), "connections of one exchange each, by a C client")
	if err == nil {
		p.conns, err = parseInts("conns", *conns, 1)
	}
	return p, err
}

// measureAccept measures connections that are made, used once and closed, which is what a server pays for clients
// that keep none.
func measureAccept(ctx context.Context, p *netPlan, progs cPrograms, s netSetting) (*netRow, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second+time.Duration(s.Conns)*time.Millisecond)
	defer cancel()
	server, err := startEcho(ctx, s.Peer, progs.server)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	c, err := progs.against(ctx, server, "short", int64(s.Conns), int64(s.Payload), shortAtOnce, int64(s.Conns/10), p.seed)
	if err != nil {
		return nil, err
	}
	return &netRow{
		ConnsPerS: float64(c.Count) / c.Seconds,
		ServerCPU: float64(c.ServerCPU) / float64(time.Microsecond) / float64(c.Count),
	}, nil
}
