package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/bench/echo"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/cmd/load"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A slowRow is what calls of one message cost beside streams whose reader is slow, on one
// connection. The server sends back what it receives, and so do its windows fill in both
// directions: what it holds then is its growth.
type slowRow struct {
	Bench    string  `json:"bench"`
	Peer     string  `json:"peer"`
	Round    int     `json:"round"`
	Streams  int     `json:"streams"`
	Payload  int     `json:"payload"`
	Alone50  float64 `json:"alone_p50_us"`
	Alone99  float64 `json:"alone_p99_us"`
	Beside50 float64 `json:"beside_p50_us"`
	Beside99 float64 `json:"beside_p99_us"`
	Ratio99  float64 `json:"p99_ratio"`
	Held     float64 `json:"server_kib_per_stream"` // resident memory above that before the streams, at the most
	Sent     float64 `json:"sent_kib_per_stream"`   // what the client could send before it was stopped
	Errors   uint64  `json:"errors"`
}

// A slowSetting is what a client process is told.
type slowSetting struct {
	trial.Setting
	Streams int
	Every   time.Duration // between two messages that a stream's reader takes
}

const childSlow = "child-slow"

// slowPeers are those that have calls and streams on one connection.
var slowPeers = []string{"limosa", "limosa-grpc", "grpc-go"}

// slowMain runs the benchmark.
func slowMain(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("slow", flag.ContinueOnError)
	list := fs.String("peers", strings.Join(slowPeers, ","), "peers to measure, separated by commas")
	s := slowSetting{Setting: trial.Setting{Callers: 100}}
	fs.IntVar(&s.Streams, "streams", 1000, "streams on the connection")
	fs.DurationVar(&s.Every, "every", time.Second, "how often each stream's reader takes a message")
	fs.IntVar(&s.Payload, "payload", 1024, "bytes of the messages' string")
	fs.Float64Var(&s.Rate, "rate", 1000, "calls of one message a second")
	fs.DurationVar(&s.Duration, "d", 3*time.Second, "length of each of the two measurements")
	rounds := fs.Int("rounds", 3, "rounds; every peer runs once in each, in rotated order")
	fs.Int64Var(&s.Seed, "seed", 1, "seed of the messages' text")
	asJSON := false
	if err := parseShared(fs, args, &asJSON, "calls of one message beside streams whose readers are slow, on one connection"); err != nil {
		return err
	}
	peers, err := parseNames(*list, slowPeers)
	if err != nil {
		return err
	}
	if *rounds < 1 || s.Streams < 1 || s.Payload < 0 || s.Rate <= 0 || s.Every <= 0 || s.Duration <= 0 {
		return usageError{"-rounds and -streams are at least 1, -rate, -every and -d above 0, -payload at least 0"}
	}
	rows := json.NewEncoder(os.Stdout)
	var done []*slowRow
	for round := range *rounds {
		for k := range peers {
			s.Peer, s.Round = peers[(k+round)%len(peers)], round+1
			fmt.Fprintf(os.Stderr, "round %d: %s\n", s.Round, s.Peer)
			r, err := runSlow(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Peer, err)
			}
			if err := rows.Encode(r); err != nil {
				return err
			}
			done = append(done, r)
		}
	}
	if !asJSON {
		slowTable(os.Stderr, done)
	}
	return nil
}

// slowTable prints the rows.
func slowTable(w io.Writer, rows []*slowRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "peer\tround\talone p50 us\tp99\tbeside p50 us\tp99\tp99 ratio\tserver KiB/stream\tsent KiB/stream\terrors\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.1f\t%.1f\t%d\t\n", r.Peer, r.Round, r.Alone50, r.Alone99, r.Beside50, r.Beside99, r.Ratio99, r.Held, r.Sent, r.Errors)
	}
	t.Flush() //nolint:errcheck // to the terminal
}

// runSlow measures in a process of its own, which starts the server.
func runSlow(ctx context.Context, s slowSetting) (*slowRow, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+2*s.Duration)
	defer cancel()
	cmd := trial.Command(ctx, childSlow, s)
	var stderr strings.Builder
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	r := new(slowRow)
	return r, json.Unmarshal(out, r)
}

// slowChildMain is the client process.
func slowChildMain(ctx context.Context, args []string) error {
	var s slowSetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childSlow + " is for bench itself"}
	}
	server, err := trial.Start(trial.Command(ctx, trial.Server, s.Setting))
	if err != nil {
		return err
	}
	defer server.Stop()
	c, err := dialSlow(server.Addr, s)
	if err != nil {
		return err
	}
	defer c.close()
	r := &slowRow{Bench: "slow", Peer: s.Peer, Round: s.Round, Streams: s.Streams, Payload: s.Payload}
	alone, err := c.calls(ctx, s)
	if err != nil {
		return err
	}
	before := residentOf(server.Cmd.Process.Pid)
	most := watchMemory(server.Cmd.Process.Pid)
	ctx, end := context.WithCancel(ctx)
	defer end()
	if err := c.stall(ctx, s); err != nil {
		return err
	}
	beside, err := c.calls(ctx, s)
	if err != nil {
		return err
	}
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	r.Alone50, r.Alone99 = us(alone.Latency.Quantile(.5)), us(alone.Latency.Quantile(.99))
	r.Beside50, r.Beside99 = us(beside.Latency.Quantile(.5)), us(beside.Latency.Quantile(.99))
	r.Ratio99 = r.Beside99 / r.Alone99
	r.Held = max(0, float64(most()-before)/1024/float64(s.Streams))
	r.Sent = float64(c.sent.Load()) * float64(s.Payload) / 1024 / float64(s.Streams)
	r.Errors = alone.Errors + beside.Errors + uint64(c.failed.Load())
	return json.NewEncoder(os.Stdout).Encode(r)
}

// A slowClient is one connection.
type slowClient struct {
	call   func(ctx context.Context, worker int, seq uint64) error
	stream func(ctx context.Context, next func() bool, got func()) error // sends while next says so, got is called for each message that comes
	close  func()

	sent   atomic.Int64 // messages
	failed atomic.Int64 // streams
}

// calls measures calls of one message.
func (c *slowClient) calls(ctx context.Context, s slowSetting) (*load.Result, error) {
	return load.Run(ctx, load.Config{Call: c.call, Callers: s.Callers, Rate: s.Rate, Warmup: 500 * time.Millisecond, Duration: s.Duration, Precise: true})
}

// stall opens the streams, and returns when little more can be sent on them than their readers
// take, or after five seconds: windows that open in bursts never look so.
func (c *slowClient) stall(ctx context.Context, s slowSetting) error {
	for i := range s.Streams {
		go func() {
			pause := time.NewTimer(s.Every * time.Duration(i) / time.Duration(s.Streams)) // not all at once
			defer pause.Stop()
			err := c.stream(ctx, func() bool { c.sent.Add(1); return ctx.Err() == nil }, func() {
				select {
				case <-pause.C:
					pause.Reset(s.Every)
				case <-ctx.Done():
				}
			})
			if err != nil && ctx.Err() == nil {
				c.failed.Add(1)
			}
		}()
	}
	const look = 250 * time.Millisecond
	few := 2 * float64(s.Streams) * (look.Seconds()/s.Every.Seconds() + .1) // what the readers make room for
	for by := time.Now().Add(5 * time.Second); ; {
		was := c.sent.Load()
		time.Sleep(look)
		n := c.sent.Load()
		if n >= int64(s.Streams) && float64(n-was) <= few {
			return nil
		}
		if time.Now().After(by) {
			if n < int64(s.Streams) {
				return fmt.Errorf("only %d messages were sent on %d streams in five seconds", n, s.Streams)
			}
			return nil
		}
	}
}

// dialSlow connects as s.Peer does.
func dialSlow(addr string, s slowSetting) (*slowClient, error) {
	text := trial.RandomText(s.Payload, s.Seed)
	switch s.Peer {
	case "grpc-go":
		return slowGRPC(addr, text)
	case "limosa-grpc":
		to := grpcEndpoint(addr)
		client := echopb.NewClient(to)
		return slowOwn(to, func() { to.Close() }, exchangeProto(), func(m *echopb.Message) echoFields { return echoFields{&m.ID, &m.Text, &m.List, text} }, client.Echo), nil
	}
	to, err := limosa.Dial(addr)
	if err != nil {
		return nil, err
	}
	client := limosaecho.NewClient(to)
	return slowOwn(to, func() { to.Close() }, exchangeMethod(), func(m *limosaecho.Message) echoFields { return echoFields{&m.ID, &m.Text, &m.List, text} }, client.Echo), nil
}

// slowOwn is one connection of Limosa.
func slowOwn[M any](to rpc.Caller, end func(), m *rpc.Method, fields func(*M) echoFields, echo func(context.Context, *M) (*M, error)) *slowClient {
	return &slowClient{close: end, call: func(ctx context.Context, _ int, seq uint64) error {
		req := new(M)
		fields(req).fill(int64(seq))
		res, err := echo(ctx, req)
		if err != nil {
			return err
		}
		return fields(res).verify(int64(seq))
	}, stream: func(ctx context.Context, next func() bool, got func()) error {
		in := iter.Seq2[*M, error](func(yield func(*M, error) bool) {
			req := new(M)
			for id := int64(0); next(); id++ {
				if fields(req).fill(id); !yield(req, nil) {
					return
				}
			}
		})
		id := int64(0)
		for res, err := range stub.Exchange[M, M](ctx, to, &stub.NewCall[M, M](m, m.Service).Call, in) {
			if err == nil {
				err = fields(res).verify(id)
			}
			if err != nil {
				return err
			}
			id++
			got()
		}
		return nil
	}}
}

// slowGRPC is one connection of grpc-go.
func slowGRPC(addr, text string) (*slowClient, error) {
	conns, closeAll, err := grpcConns(addr, 1)
	if err != nil {
		return nil, err
	}
	client := echo.NewEchoClient(conns[0])
	message := func(id int64) *echo.Message {
		m := &echo.Message{Id: id, Text: text, List: make([]int64, trial.ListLen)}
		trial.Fill(m.List, id)
		return m
	}
	return &slowClient{close: closeAll, call: func(ctx context.Context, _ int, seq uint64) error {
		m, err := client.Echo(ctx, message(int64(seq)))
		if err != nil {
			return err
		}
		return trial.Verify(int64(seq), text, m.Id, m.Text, m.List)
	}, stream: func(ctx context.Context, next func() bool, got func()) error {
		stream, err := client.Exchange(ctx)
		if err != nil {
			return err
		}
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			req := message(0)
			for id := int64(0); next(); id++ {
				req.Id = id
				if trial.Fill(req.List, id); stream.Send(req) != nil {
					return // Recv says why
				}
			}
		})
		for id := int64(0); ; id++ {
			m, err := stream.Recv()
			if err == nil {
				err = trial.Verify(id, text, m.Id, m.Text, m.List)
			}
			if err != nil {
				return err
			}
			got()
		}
	}}, nil
}
