package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// rpcMain runs the rpc benchmark: every measurement of the plan, one row each.
func rpcMain(ctx context.Context, args []string) error {
	p, err := parsePlan(args)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "limosa-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	rows := json.NewEncoder(os.Stdout)
	able, paths, failed, err := ready(ctx, p.peers, rows, scratch)
	if err != nil {
		return err
	}
	var done []*trial.Row
	gone := map[string]bool{} // peers that could not run: one row says so, once
	var null *trial.Row       // the last one
	all := p.measurements(able)
	for i, s := range all {
		if gone[s.Peer] {
			continue
		}
		rate := ""
		if s.Rate > 0 {
			rate = fmt.Sprintf(", %g calls/s %s", s.Rate, s.Arrivals)
		}
		fmt.Fprintf(os.Stderr, "%d/%d round %d, %d callers, %d bytes%s: %s\n", i+1, len(all), s.Round, s.Callers, s.Payload, rate, s.Peer)
		r, err := trial.Run(ctx, paths[findPeer(s.Peer).outside], s, scratch)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && s.Peer == nullPeer && p.Arrivals == trial.Poisson {
			return fmt.Errorf("null, which the others' CPU time needs: %w", err)
		}
		if err != nil {
			gone[s.Peer] = true
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.Peer, err))
			r = &trial.Row{Bench: "rpc", Peer: s.Peer, Skipped: err.Error()}
		} else {
			if r.Peer == nullPeer {
				null = r
			} else if p.Arrivals == trial.Poisson {
				r.TakeOff(null)
			}
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

// ready gives the peers that can be measured here, and the programs of those
// that this one has not. For each of the others it writes a row that says why;
// failed has the reasons that are failures.
func ready(ctx context.Context, peers []*peer, rows *json.Encoder, scratch string) (able []*peer, paths map[string]string, failed, err error) {
	paths, broken := programs(ctx, peers, scratch)
	for _, x := range peers {
		why := broken[x.outside]
		if why == nil && x.later == "" {
			able = append(able, x)
			continue
		}
		if why == nil {
			why = errors.New(x.later)
		} else if !errors.Is(why, errUnfetched) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", x.Name, why))
		}
		fmt.Fprintf(os.Stderr, "%s is skipped: %v\n", x.Name, why)
		if err := rows.Encode(trial.Row{Bench: "rpc", Peer: x.Name, Skipped: why.Error()}); err != nil {
			return nil, nil, failed, err
		}
	}
	return able, paths, failed, nil
}

// table prints the medians over the rounds, and the medians of each round's
// ratios to the base: grpc-go if it ran, else the last peer.
func table(w io.Writer, p *plan, rows []*trial.Row) {
	if len(rows) == 0 {
		return
	}
	base := p.peers[len(p.peers)-1].Name
	if slices.ContainsFunc(rows, func(r *trial.Row) bool { return r.Peer == "grpc-go" }) {
		base = "grpc-go"
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\ncallers\tbytes\tpeer\tcalls/s\tp50 us\tp99 us\tCPU us\tclient\tserver\tallocs c\ts\terrors\tto %s: CPU\tserver\tp50\tp99\t\n", base)
	names := []string(nil)
	for _, x := range p.peers {
		names = append(names, x.Name)
	}
	if p.Arrivals == trial.Poisson && !slices.Contains(names, nullPeer) {
		names = append(names, nullPeer)
	}
	for _, callers := range p.callers {
		for _, payload := range p.payloads {
			of := func(peer string) []*trial.Row {
				return slices.DeleteFunc(slices.Clone(rows), func(r *trial.Row) bool { return r.Peer != peer || r.Callers != callers || r.Payload != payload })
			}
			for _, name := range names {
				mine := of(name)
				if len(mine) == 0 {
					continue
				}
				errs := uint64(0)
				for _, r := range mine {
					errs += r.Errors
				}
				fmt.Fprintf(tw, "%d\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\t%s\t%s\t%s\t\n", callers, payload, name,
					median(mine, callsPerS), median(mine, p50), median(mine, p99), median(mine, cpu), median(mine, clientCPU), median(mine, serverCPU),
					median(mine, clientAllocs), median(mine, serverAllocs), errs,
					ratio(mine, of(base), cpu), ratio(mine, of(base), serverCPU), ratio(mine, of(base), p50), ratio(mine, of(base), p99))
			}
		}
	}
	tw.Flush()
}

// callsPerS and those below are the columns of the tables: functions, so that one median serves them all.
func callsPerS(f *trial.Figures) float64    { return f.CallsPerS }
func p50(f *trial.Figures) float64          { return f.P50 }
func p99(f *trial.Figures) float64          { return f.P99 }
func cpu(f *trial.Figures) float64          { return f.CPU }
func clientCPU(f *trial.Figures) float64    { return f.ClientCPU }
func serverCPU(f *trial.Figures) float64    { return f.ServerCPU }
func clientAllocs(f *trial.Figures) float64 { return f.ClientAllocs }
func serverAllocs(f *trial.Figures) float64 { return f.ServerAllocs }

// median is the middle of a column over the rounds: one round in which the machine did something else does not count.
func median(rows []*trial.Row, field func(*trial.Figures) float64) float64 {
	var vs []float64
	for _, r := range rows {
		vs = append(vs, field(r.Figures))
	}
	return middle(vs)
}

// ratio is the median of the ratios of rounds that both have: noise of the
// machine falls on both sides of each.
func ratio(rows, base []*trial.Row, field func(*trial.Figures) float64) string {
	var vs []float64
	for _, r := range rows {
		for _, b := range base {
			if r.Round == b.Round && field(b.Figures) > 0 {
				vs = append(vs, field(r.Figures)/field(b.Figures))
			}
		}
	}
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", middle(vs))
}

// middle is the middle of the values, of an even number the mean of the two.
func middle(vs []float64) float64 {
	slices.Sort(vs)
	n := len(vs)
	if n%2 == 1 {
		return vs[n/2]
	}
	return (vs[n/2-1] + vs[n/2]) / 2
}
