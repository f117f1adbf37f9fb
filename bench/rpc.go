package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// rpcMain runs the rpc benchmark: every measurement of the plan, one row each.
func rpcMain(ctx context.Context, args []string) error {
	p, err := parsePlan(args)
	if err != nil {
		return err
	}
	rows := json.NewEncoder(os.Stdout)
	var able []*peer
	for _, x := range p.peers {
		if x.later == "" {
			able = append(able, x)
		} else if err := rows.Encode(row{Bench: "rpc", Peer: x.name, Skipped: x.later}); err != nil {
			return err
		}
	}
	scratch, err := os.MkdirTemp("", "limosa-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var done []*row
	gone := map[string]bool{} // peers that could not run: one row says so, once
	var failed error
	all := p.measurements(able)
	for i, s := range all {
		if gone[s.Peer] {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d/%d round %d, %d callers, %d bytes: %s\n", i+1, len(all), s.Round, s.Callers, s.Payload, s.Peer)
		r, err := runClient(ctx, s, scratch)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			gone[s.Peer] = true
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.Peer, err))
			r = &row{Bench: "rpc", Peer: s.Peer, Skipped: err.Error()}
		} else {
			done = append(done, r)
		}
		if err := rows.Encode(r); err != nil {
			return err
		}
	}
	if !p.json {
		table(os.Stderr, p, done)
	}
	return failed
}

// runClient measures s in a process of its own, which starts the server. Both
// have scratch as their temporary folder.
func runClient(ctx context.Context, s setting, scratch string) (*row, error) {
	// A peer that hangs costs its own measurement only.
	ctx, cancel := context.WithTimeout(ctx, 4*s.Duration+20*time.Second)
	defer cancel()
	cmd := childCommand(ctx, childClient, s)
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, strings.TrimPrefix(lines[0], "bench: "))
	}
	r := &row{figures: new(figures)}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("the client's row: %w", err)
	}
	return r, nil
}

// table prints the medians over the rounds, and for CPU and p99 the median of
// each round's ratio to the base: grpc-go if it ran, else the last peer.
func table(w io.Writer, p *plan, rows []*row) {
	if len(rows) == 0 {
		return
	}
	base := p.peers[len(p.peers)-1].name
	if slices.ContainsFunc(rows, func(r *row) bool { return r.Peer == "grpc-go" }) {
		base = "grpc-go"
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\ncallers\tbytes\tpeer\tcalls/s\tp50 us\tp99 us\tCPU us\tclient\tserver\tallocs c\ts\terrors\tCPU / %s\tp99 / %s\t\n", base, base)
	for _, callers := range p.callers {
		for _, payload := range p.payloads {
			of := func(peer string) []*row {
				return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.Peer != peer || r.Callers != callers || r.Payload != payload })
			}
			for _, x := range p.peers {
				mine := of(x.name)
				if len(mine) == 0 {
					continue
				}
				errs := uint64(0)
				for _, r := range mine {
					errs += r.Errors
				}
				fmt.Fprintf(tw, "%d\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\t%s\t\n", callers, payload, x.name,
					median(mine, callsPerS), median(mine, p50), median(mine, p99), median(mine, cpu), median(mine, clientCPU), median(mine, serverCPU),
					median(mine, clientAllocs), median(mine, serverAllocs), errs, ratio(mine, of(base), cpu), ratio(mine, of(base), p99))
			}
		}
	}
	tw.Flush()
}

func callsPerS(f *figures) float64    { return f.CallsPerS }
func p50(f *figures) float64          { return f.P50 }
func p99(f *figures) float64          { return f.P99 }
func cpu(f *figures) float64          { return f.CPU }
func clientCPU(f *figures) float64    { return f.ClientCPU }
func serverCPU(f *figures) float64    { return f.ServerCPU }
func clientAllocs(f *figures) float64 { return f.ClientAllocs }
func serverAllocs(f *figures) float64 { return f.ServerAllocs }

func median(rows []*row, field func(*figures) float64) float64 {
	var vs []float64
	for _, r := range rows {
		vs = append(vs, field(r.figures))
	}
	return middle(vs)
}

// ratio is the median of the ratios of rounds that both have: noise of the
// machine falls on both sides of each.
func ratio(rows, base []*row, field func(*figures) float64) string {
	var vs []float64
	for _, r := range rows {
		for _, b := range base {
			if r.Round == b.Round && field(b.figures) > 0 {
				vs = append(vs, field(r.figures)/field(b.figures))
			}
		}
	}
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", middle(vs))
}

func middle(vs []float64) float64 {
	slices.Sort(vs)
	n := len(vs)
	if n%2 == 1 {
		return vs[n/2]
	}
	return (vs[n/2-1] + vs[n/2]) / 2
}
