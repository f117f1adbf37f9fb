package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A codecRow is one operation of one peer on one shape: what it costs for one
// message.
type codecRow struct {
	Bench   string  `json:"bench"`
	Peer    string  `json:"peer"`
	Skipped string  `json:"skipped,omitempty"`
	Shape   string  `json:"shape"`
	Op      string  `json:"op"`
	Round   int     `json:"round"`
	NS      float64 `json:"ns"`
	MBPerS  float64 `json:"mb_per_s"`
	Bytes   float64 `json:"bytes_per_op"`
	Allocs  float64 `json:"allocs"`
	Errors  int64   `json:"errors"`

	// What the figures are made of, from all turns of the round.
	n, size         int
	took            time.Duration
	mallocs, memory uint64
}

// codecTurns is how many turns a round has: in each of them every peer measures
// for that part of the window, so that a machine that is slow for a while is slow
// for all of them.
const codecTurns = 5

// A codecPeer is one way to encode and decode.
type codecPeer struct {
	name string
	// ops gives the operations on a shape by name: encode, decode, proxy. The
	// ones that the peer does not have are absent.
	ops func(s *shape) map[string]codecOp
}

// A codecOp is one operation on one message.
type codecOp struct {
	size  int               // of the message on this peer's wire
	run   func(n int) error // does it n times
	check func() error      // says what is wrong with the result of the last time
}

// codecPeers lists what can be asked for, Limosa first.
func codecPeers() []codecPeer {
	return []codecPeer{
		{"limosa", func(s *shape) map[string]codecOp { return s.limosa(false) }},
		{"limosa-plan", func(s *shape) map[string]codecOp { return s.limosa(true) }},
		{"limosa-lazy", lazyOps},
		{"floor", floorOps},
		{"apache-thrift", func(s *shape) map[string]codecOp { return s.apache() }},
		{"limosa-pb", func(s *shape) map[string]codecOp { return limosaProtoOps(s, false) }},
		{"limosa-pb-plan", func(s *shape) map[string]codecOp { return limosaProtoOps(s, true) }},
		{"protobuf", func(s *shape) map[string]codecOp { return s.protobuf(false) }},
		{"vtprotobuf", func(s *shape) map[string]codecOp { return s.protobuf(true) }},
	}
}

// codecMain runs the codec benchmark: everything in this process.
func codecMain(ctx context.Context, args []string) error {
	var names, shapeNames []string
	for _, p := range codecPeers() {
		names = append(names, p.name)
	}
	shapes := codecShapes()
	for _, s := range shapes {
		shapeNames = append(shapeNames, s.name)
	}
	fs := flag.NewFlagSet("codec", flag.ContinueOnError)
	peerList := fs.String("peers", strings.Join(names, ","), "peers to measure, separated by commas")
	shapeList := fs.String("shapes", strings.Join(shapeNames, ","), "messages to measure, separated by commas")
	rounds := fs.Int("rounds", 3, "rounds; every peer runs once in each, in rotated order")
	window := fs.Duration("d", time.Second, "measured window, after a warm-up of half of it")
	asJSON := false
	if err := parseShared(fs, args, &asJSON, "encoding and decoding of messages, against other codecs"); err != nil {
		return err
	}
	chosen, err := parseNames(*peerList, names)
	if err != nil {
		return err
	}
	wanted, err := parseNames(*shapeList, shapeNames)
	if err != nil {
		return err
	}
	if *rounds < 1 || *window <= 0 {
		return usageError{"-rounds is at least 1, -d more than 0"}
	}
	peers := slices.DeleteFunc(codecPeers(), func(p codecPeer) bool { return !slices.Contains(chosen, p.name) })
	shapes = slices.DeleteFunc(shapes, func(s *shape) bool { return !slices.Contains(wanted, s.name) })
	rows, done := json.NewEncoder(os.Stdout), []*codecRow(nil)
	for round := range *rounds {
		for i, s := range shapes {
			of, err := codecRound(ctx, s, peers, round+i, *window)
			if err != nil {
				return err
			}
			for _, r := range of {
				r.Round = round + 1
				done = append(done, r)
				if err := rows.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	if !asJSON {
		codecTable(os.Stderr, done)
	}
	return nil
}

// codecRound measures all operations of all peers on one shape. It begins with
// another peer each time.
func codecRound(ctx context.Context, s *shape, peers []codecPeer, first int, window time.Duration) ([]*codecRow, error) {
	type key struct{ peer, op string }
	rows, order := map[key]*codecRow{}, []*codecRow(nil)
	s.load()
	defer s.drop()
	for turn := range codecTurns {
		for k := range peers {
			p := peers[(k+first+turn)%len(peers)]
			ops := p.ops(s)
			for _, op := range slices.Sorted(maps.Keys(ops)) {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				r := rows[key{p.name, op}]
				if r == nil {
					r = &codecRow{Bench: "codec", Peer: p.name, Shape: s.name, Op: op}
					rows[key{p.name, op}] = r
					order = append(order, r)
				}
				measureCodec(r, ops[op], window/codecTurns)
			}
		}
	}
	for _, r := range order {
		if n := float64(r.n); r.n > 0 {
			r.NS, r.Bytes, r.Allocs = float64(r.took)/n, float64(r.memory)/n, float64(r.mallocs)/n
			r.MBPerS = float64(r.size) * n / 1e6 / r.took.Seconds()
		}
	}
	return order, nil
}

// measureCodec adds a turn to a row. An operation that fails, or whose result is
// wrong, counts as an error.
func measureCodec(r *codecRow, op codecOp, window time.Duration) {
	fail := func(err error) bool {
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s %s %s: %v\n", r.Peer, r.Shape, r.Op, err)
			r.Errors++
		}
		return err != nil
	}
	runtime.GC()
	// As many at a time as take about a thousandth of the window.
	n, took := 1, time.Duration(0)
	for warm := time.Now(); time.Since(warm) < window/2; {
		start := time.Now()
		if fail(op.run(n)) {
			return
		}
		if took = time.Since(start); took < window/1000 {
			n *= 2
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, all := time.Now(), 0
	for time.Since(start) < window {
		if fail(op.run(n)) {
			return
		}
		all += n
	}
	r.took += time.Since(start)
	runtime.ReadMemStats(&after)
	fail(op.check())
	r.n, r.size = r.n+all, op.size
	r.memory += after.TotalAlloc - before.TotalAlloc
	r.mallocs += after.Mallocs - before.Mallocs
}

// codecTable prints medians, and the median of each round's ratio to limosa.
func codecTable(w io.Writer, rows []*codecRow) {
	type key struct{ shape, op, peer string }
	of, order := map[key][]*codecRow{}, []key(nil)
	for _, r := range rows {
		k := key{r.Shape, r.Op, r.Peer}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], r)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		i := slices.IndexFunc(order, func(k key) bool { return k.shape == a.shape })
		j := slices.IndexFunc(order, func(k key) bool { return k.shape == b.shape })
		if i != j {
			return i - j
		}
		return strings.Compare(a.op, b.op)
	})
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\nshape\top\tpeer\tns\tMB/s\tB/op\tallocs\tlimosa /\t\n")
	for _, k := range order {
		var ns, mb, bytes, allocs, over []float64
		for i, r := range of[k] {
			ns, mb, bytes, allocs = append(ns, r.NS), append(mb, r.MBPerS), append(bytes, r.Bytes), append(allocs, r.Allocs)
			if base := of[key{k.shape, k.op, "limosa"}]; i < len(base) && r.NS > 0 {
				over = append(over, base[i].NS/r.NS)
			}
		}
		ratio := ""
		if len(over) > 0 {
			ratio = fmt.Sprintf("%.3f", middle(over))
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.1f\t%.0f\t%.0f\t%.1f\t%s\t\n", k.shape, k.op, k.peer, middle(ns), middle(mb), middle(bytes), middle(allocs), ratio)
	}
	tw.Flush()
}
