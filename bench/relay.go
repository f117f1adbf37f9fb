package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// childRelay is the argument that makes this program the relay of a measurement.
const childRelay = "child-relay"

// relayWait is how long one relay measurement may take besides its load.
const relayWait = 2 * time.Minute

// A relayRow is what one measurement of a relay showed. CPU is that of the
// relay's process alone, per 1e9 bytes that it passed on, both directions
// counted.
type relayRow struct {
	Bench     string  `json:"bench"`
	Peer      string  `json:"peer"`
	Round     int     `json:"round"`
	Chunk     int     `json:"chunk"`
	Conns     int     `json:"conns"`
	CPUPerGB  float64 `json:"cpu_s_per_gb"`
	GbitPerS  float64 `json:"gbit_per_s"`
	Exchanges int64   `json:"exchanges"`
	Errors    int64   `json:"errors"`
}

// A relaySetting is one measurement, as the relay's process is told.
type relaySetting struct {
	Peer string
	Back string // where the relay connects to
}

var relayNames = []string{"limosa", "io-copy", "copy-loop"}

// relayPeer gives a way to relay: it moves bytes between two connections until
// both have ended, and closes them.
func relayPeer(name string) func(a, b *net.TCPConn) {
	switch name {
	case "limosa":
		pipes := new(relay.Pipes) // ends with the process
		return func(a, b *net.TCPConn) { relayLimosa(a, b, pipes) }
	case "io-copy":
		return relayIOCopy
	case "copy-loop":
		return relayCopyLoop
	}
	return nil
}

// relayLimosa moves bytes between two connections by Limosa's relay.
func relayLimosa(a, b *net.TCPConn, pipes *relay.Pipes) {
	ca, cb := netio.Wrap(a, nil), netio.Wrap(b, nil)
	relay.Run(context.Background(), ca, cb, pipes) // a connection that fails shows at the load
	ca.Close(context.Background())
	cb.Close(context.Background())
}

// relayIOCopy copies by io.Copy, which splices by itself between *net.TCPConn.
func relayIOCopy(a, b *net.TCPConn) {
	relayBoth(a, b, func(dst, src *net.TCPConn) { io.Copy(dst, src) })
}

// relayCopyLoop moves them by a loop with a buffer, as a proxy without splice does.
func relayCopyLoop(a, b *net.TCPConn) {
	relayBoth(a, b, func(dst, src *net.TCPConn) {
		p := make([]byte, 64<<10)
		for {
			n, err := src.Read(p)
			if err != nil {
				return
			}
			if _, err := dst.Write(p[:n]); err != nil {
				return
			}
		}
	})
}

// relayBoth moves them in both directions, by one, until both have ended.
func relayBoth(a, b *net.TCPConn, one func(dst, src *net.TCPConn)) {
	var wg sync.WaitGroup
	wg.Go(func() { one(a, b); a.CloseWrite() })
	one(b, a)
	b.CloseWrite()
	wg.Wait()
	a.Close()
	b.Close()
}

// A relayPlan is what the flags ask for.
type relayPlan struct {
	peers  []string
	chunks []int
	bytes  float64
	conns  int
	rounds int
	json   bool
}

// parseRelay reads the flags of the relay benchmark.
func parseRelay(args []string) (*relayPlan, error) {
	p := new(relayPlan)
	fs := flag.NewFlagSet("relay", flag.ContinueOnError)
	peers := fs.String("peers", strings.Join(relayNames, ","), "peers to measure, separated by commas")
	chunks := fs.String("chunk", "1024,65536", "bytes of an exchange, there and back; may be a list")
	fs.Float64Var(&p.bytes, "bytes", 1e9, "bytes to be relayed in a measurement, both directions counted")
	fs.IntVar(&p.conns, "conns", 16, "connections")
	fs.IntVar(&p.rounds, "rounds", 3, "rounds; every peer runs once in each, in rotated order")
	err := parseShared(fs, args, &p.json, "bytes between two connections, passed on by a process of its own")
	if err == nil {
		p.peers, err = parseNames(*peers, relayNames)
	}
	if err == nil {
		p.chunks, err = parseInts("chunk", *chunks, 1)
	}
	if err == nil && (p.bytes < 1 || p.conns < 1 || p.rounds < 1) {
		err = usageError{"-bytes, -conns and -rounds are at least 1"}
	}
	return p, err
}

// parseShared parses the flags of a benchmark without RPC peers, -o among them.
func parseShared(fs *flag.FlagSet, args []string, asJSON *bool, about string) error {
	fs.SetOutput(io.Discard)
	output := fs.String("o", "", "json: rows only, no table")
	if fs.Lookup("seed") == nil {
		fs.Int64("seed", 1, "taken for the sake of scripts: nothing here is random")
	}
	switch err := fs.Parse(args); {
	case err == flag.ErrHelp:
		fs.SetOutput(os.Stderr)
		fmt.Fprintf(os.Stderr, "bench %s: %s\n", fs.Name(), about)
		fs.PrintDefaults()
		return err
	case err != nil:
		return usageError{err.Error()}
	case fs.NArg() > 0:
		return usageError{fmt.Sprintf("unexpected argument %q", fs.Arg(0))}
	case *output != "" && *output != "json":
		return usageError{fmt.Sprintf("-o %s: there is only json", *output)}
	}
	*asJSON = *output == "json"
	return nil
}

// parseNames splits a list of peers, all of which must be known.
func parseNames(list string, known []string) ([]string, error) {
	if list == "all" {
		return known, nil
	}
	names := strings.Split(list, ",")
	for i, name := range names {
		if !slices.Contains(known, name) {
			return nil, usageError{fmt.Sprintf("unknown peer %q; there are: %s", name, strings.Join(known, " "))}
		}
		if slices.Contains(names[:i], name) {
			return nil, usageError{fmt.Sprintf("peer %s is named twice", name)}
		}
	}
	return names, nil
}

// relayMain runs the relay benchmark.
func relayMain(ctx context.Context, args []string) error {
	p, err := parseRelay(args)
	if err != nil {
		return err
	}
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer back.Close()
	go echoAll(back)
	rows := json.NewEncoder(os.Stdout)
	var done []*relayRow
	for round := range p.rounds {
		for i, chunk := range p.chunks {
			for k := range p.peers {
				peer := p.peers[(k+round+i)%len(p.peers)]
				fmt.Fprintf(os.Stderr, "round %d, chunks of %d bytes: %s\n", round+1, chunk, peer)
				r, err := measureRelay(ctx, peer, back.Addr().String(), p, chunk)
				if err != nil {
					return fmt.Errorf("%s: %w", peer, err)
				}
				r.Round = round + 1
				if err := rows.Encode(r); err != nil {
					return err
				}
				done = append(done, r)
			}
		}
	}
	if !p.json {
		relayTable(os.Stderr, p, done)
	}
	return nil
}

// echoAll sends back what the connections of l bring.
func echoAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			p := make([]byte, 64<<10)
			for {
				n, err := c.Read(p)
				if err != nil {
					return
				}
				if _, err := c.Write(p[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// measureRelay measures one relay between an echo server and a client, with bytes in chunks.
func measureRelay(ctx context.Context, peer, back string, p *relayPlan, chunk int) (*relayRow, error) {
	ctx, cancel := context.WithTimeout(ctx, relayWait)
	defer cancel()
	child, err := trial.Start(trial.Command(ctx, childRelay, relaySetting{Peer: peer, Back: back}))
	if err != nil {
		return nil, err
	}
	defer child.Stop()
	callers := make([]net.Conn, p.conns)
	for i := range callers {
		if callers[i], err = net.Dial("tcp", child.Addr); err != nil {
			return nil, err
		}
		defer callers[i].Close()
		stop := context.AfterFunc(ctx, func() { callers[i].SetDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	n := max(int64(p.bytes/float64(2*chunk)), int64(p.conns))
	if errs := exchange(callers, chunk, max(n/20, int64(p.conns))); errs != 0 {
		return nil, fmt.Errorf("%d exchanges failed before the measurement", errs)
	}
	before, err := child.Mark()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	errs := exchange(callers, chunk, n)
	took := time.Since(start)
	after, err := child.Mark()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errs == n {
		return nil, errors.New("no exchange succeeded")
	}
	gb := 2 * float64(chunk) * float64(n-errs) / 1e9
	return &relayRow{
		Bench: "relay", Peer: peer, Chunk: chunk, Conns: p.conns, Exchanges: n, Errors: errs,
		CPUPerGB: (after.CPU - before.CPU).Seconds() / gb, GbitPerS: 8 * gb / took.Seconds(),
	}, nil
}

// exchange makes n exchanges over all callers together and verifies them. A
// caller that fails makes no more; what is left undone counts as errors.
func exchange(callers []net.Conn, chunk int, n int64) (errs int64) {
	var left, done atomic.Int64
	left.Store(n)
	var wg sync.WaitGroup
	for i, c := range callers {
		out, in := []byte(trial.RandomText(chunk, int64(i))), make([]byte, chunk)
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				// Written beside the reading: a large chunk may not fit the buffers.
				sent := make(chan error, 1)
				if chunk > 128<<10 {
					go func() { _, err := c.Write(out); sent <- err }()
				} else {
					_, err := c.Write(out)
					sent <- err
				}
				_, err := io.ReadFull(c, in)
				if err != nil || !bytes.Equal(in, out) || <-sent != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return n - done.Load()
}

// relayChildMain is the relay's process: it answers each line of its input with
// a mark, and ends with it.
func relayChildMain(args []string) error {
	var s relaySetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childRelay + " is for bench itself"}
	}
	run := relayPeer(s.Peer)
	if run == nil {
		return usageError{"no such peer: " + s.Peer}
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer front.Close()
	go func() {
		for {
			a, err := front.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", s.Back)
			if err != nil {
				a.Close()
				continue
			}
			go run(a.(*net.TCPConn), b.(*net.TCPConn))
		}
	}()
	return trial.AnswerMarks(front.Addr().String(), os.Stdin, os.Stdout)
}

// relayTable prints medians, and the median of each round's ratio to the first
// of io-copy and copy-loop that ran.
func relayTable(w io.Writer, p *relayPlan, rows []*relayRow) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\nchunk\tpeer\tCPU s/GB\tGbit/s\terrors\t/ io-copy\t/ copy-loop\t\n")
	of := func(chunk int, peer string) map[int]*relayRow {
		found := map[int]*relayRow{}
		for _, r := range rows {
			if r.Chunk == chunk && r.Peer == peer {
				found[r.Round] = r
			}
		}
		return found
	}
	ratio := func(mine, base map[int]*relayRow) string {
		var vs []float64
		for round, r := range mine {
			if b := base[round]; b != nil && b.CPUPerGB > 0 {
				vs = append(vs, r.CPUPerGB/b.CPUPerGB)
			}
		}
		if len(vs) == 0 {
			return ""
		}
		return fmt.Sprintf("%.3f", middle(vs))
	}
	for _, chunk := range p.chunks {
		for _, peer := range p.peers {
			mine := of(chunk, peer)
			var cpu, gbit []float64
			errs := int64(0)
			for _, r := range mine {
				cpu, gbit, errs = append(cpu, r.CPUPerGB), append(gbit, r.GbitPerS), errs+r.Errors
			}
			fmt.Fprintf(tw, "%d\t%s\t%.3f\t%.2f\t%d\t%s\t%s\t\n", chunk, peer, middle(cpu), middle(gbit), errs,
				ratio(mine, of(chunk, "io-copy")), ratio(mine, of(chunk, "copy-loop")))
		}
	}
	tw.Flush()
}
