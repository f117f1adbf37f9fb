package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/bench/echo"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

// A streamRow is what one stream cost: every message goes to the server and
// comes back on it. CPU is of both processes, per message that came back.
type streamRow struct {
	Bench    string  `json:"bench"`
	Peer     string  `json:"peer"`
	Skipped  string  `json:"skipped,omitempty"`
	Round    int     `json:"round"`
	Messages int     `json:"messages"`
	Payload  int     `json:"payload"`
	Wait     bool    `json:"wait"`
	PerS     float64 `json:"msgs_per_s"`
	CPU      float64 `json:"cpu_us"`
	Client   float64 `json:"client_cpu_us"`
	Server   float64 `json:"server_cpu_us"`
	Allocs   float64 `json:"allocs"`
	Errors   int     `json:"errors"`
}

// A streamSetting is what a client process is told.
type streamSetting struct {
	trial.Setting
	Messages int
	Wait     bool // each message is sent when the one before it has come back
}

const childStream = "child-stream"

// streamPeers are those that can exchange messages on one stream.
var streamPeers = []string{"limosa", "limosa-grpc", "grpc-go"}

// streamMain runs the stream benchmark.
func streamMain(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("stream", flag.ContinueOnError)
	list := fs.String("peers", "limosa,limosa-grpc,grpc-go", "peers to measure, separated by commas")
	var s streamSetting
	fs.IntVar(&s.Messages, "messages", 100_000, "messages on the stream")
	fs.IntVar(&s.Payload, "payload", 1024, "bytes of the message's string")
	fs.BoolVar(&s.Wait, "wait", false, "send each message when the one before it has come back")
	rounds := fs.Int("rounds", 3, "rounds; every peer runs once in each, in rotated order")
	fs.Int64Var(&s.Seed, "seed", 1, "seed of the messages' text")
	asJSON := false
	if err := parseShared(fs, args, &asJSON, "messages on one stream, there and back"); err != nil {
		return err
	}
	peers, err := parseNames(*list, streamPeers)
	if err != nil {
		return err
	}
	if *rounds < 1 || s.Messages < 1 || s.Payload < 0 {
		return usageError{"-rounds and -messages are at least 1, -payload at least 0"}
	}
	rows := json.NewEncoder(os.Stdout)
	var done []*streamRow
	for round := range *rounds {
		for k := range peers {
			s.Peer, s.Round = peers[(k+round)%len(peers)], round+1
			fmt.Fprintf(os.Stderr, "round %d: %s\n", s.Round, s.Peer)
			r, err := runStream(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Peer, err)
			}
			if err := rows.Encode(r); err != nil {
				return err
			}
			if r.Skipped == "" {
				done = append(done, r)
			}
		}
	}
	if !asJSON {
		streamTable(os.Stderr, peers, done)
	}
	return nil
}

// runStream measures in a process of its own, which starts the server.
func runStream(ctx context.Context, s streamSetting) (*streamRow, error) {
	r := &streamRow{Bench: "stream", Peer: s.Peer}
	if later := findPeer(s.Peer).later; later != "" {
		r.Skipped = later
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := trial.Command(ctx, childStream, s)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return r, json.Unmarshal(out, r)
}

// streamChildMain is the client process.
func streamChildMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usageError{childStream + " is for bench itself"}
	}
	var s streamSetting
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return usageError{err.Error()}
	}
	server, err := trial.Start(trial.Command(ctx, trial.Server, s.Setting))
	if err != nil {
		return err
	}
	defer server.Stop()
	run, end, err := streamOf(ctx, server.Addr, s)
	if err != nil {
		return err
	}
	defer end()
	if err := run(max(s.Messages/10, 1)); err != nil { // warm-up
		return err
	}
	marks := new(trial.Marker)
	marks.Take(server.Mark)
	err = run(s.Messages)
	marks.Take(server.Mark)
	if err = errors.Join(err, marks.Err); err != nil {
		return err
	}
	w, n := marks.Window(0), float64(s.Messages)
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
	return json.NewEncoder(os.Stdout).Encode(&streamRow{
		Bench: "stream", Peer: s.Peer, Round: s.Round, Messages: s.Messages, Payload: s.Payload, Wait: s.Wait,
		PerS: n / w.Length.Seconds(), CPU: us(w.Client.CPU + w.Server.CPU), Client: us(w.Client.CPU), Server: us(w.Server.CPU),
		Allocs: float64(w.Client.Mallocs+w.Server.Mallocs) / n,
	})
}

// streamOf connects as s.Peer does; run exchanges messages on one stream.
func streamOf(ctx context.Context, addr string, s streamSetting) (run func(messages int) error, end func(), err error) {
	switch s.Peer {
	case "grpc-go":
		return grpcStream(ctx, addr, s)
	case "limosa-grpc":
		c := grpcEndpoint(addr)
		text := trial.RandomText(s.Payload, s.Seed)
		return func(messages int) error {
			return ownStream(ctx, c, exchangeProto(), messages, s.Wait, func(m *echopb.Message) echoFields { return echoFields{&m.ID, &m.Text, &m.List, text} })
		}, func() { c.Close() }, nil
	}
	c, err := limosa.Dial(addr)
	if err != nil {
		return nil, nil, err
	}
	text := trial.RandomText(s.Payload, s.Seed)
	return func(messages int) error {
		return ownStream(ctx, c, exchangeMethod(), messages, s.Wait, func(m *limosaecho.Message) echoFields { return echoFields{&m.ID, &m.Text, &m.List, text} })
	}, func() { c.Close() }, nil
}

// echoFields are those of an echo message, whatever its IDL, and the text that it is to have.
type echoFields struct {
	id   *int64
	text *string
	list *[]int64
	want string
}

// fill makes it message number id.
func (f echoFields) fill(id int64) {
	if *f.list == nil {
		*f.text, *f.list = f.want, make([]int64, trial.ListLen)
	}
	*f.id = id
	trial.Fill(*f.list, id)
}

// verify looks whether it is message number id.
func (f echoFields) verify(id int64) error { return trial.Verify(id, f.want, *f.id, *f.text, *f.list) }

// ownStream exchanges messages over one call of Limosa.
func ownStream[M any](ctx context.Context, c rpc.Caller, m *rpc.Method, messages int, wait bool, fields func(*M) echoFields) error {
	in := func(yield func(*M, error) bool) {
		req := new(M)
		for id := range int64(messages) {
			if fields(req).fill(id); !yield(req, nil) {
				return
			}
		}
	}
	call := stub.NewCall[M, M](m, m.Service)
	id := int64(0)
	if wait {
		return stub.Converse(ctx, c, &call.Call, func(_ context.Context, st rpc.Stream) error {
			for req := range in {
				m := new(M)
				if err := errors.Join(st.Send(req), st.Receive(m)); err != nil {
					return err
				}
				if err := fields(m).verify(id); err != nil {
					return err
				}
				id++
			}
			return st.CloseSend()
		})
	}
	for m, err := range stub.Exchange[M, M](ctx, c, &call.Call, in) {
		if err != nil {
			return err
		}
		if err := fields(m).verify(id); err != nil {
			return err
		}
		id++
	}
	if id != int64(messages) {
		return fmt.Errorf("%d messages of %d came back", id, messages)
	}
	return nil
}

// exchangeMethod is what the generator makes of a method with streams.
func exchangeMethod() *rpc.Method {
	return &rpc.Method{Service: "Echo", Name: "exchange", Kind: rpc.Bidi, Codec: thrift.Binary{}, New: stub.New[limosaecho.Message, limosaecho.Message]}
}

// exchangeProto is that of the generator, of echo.proto.
func exchangeProto() *rpc.Method {
	return &rpc.Method{Service: "limosa.bench.echo.Echo", Name: "Exchange", Kind: rpc.Bidi, Codec: protobuf.Codec{}, New: stub.New[echopb.Message, echopb.Message]}
}

// exchangeHandler sends every message back.
func exchangeHandler() rpc.Handler {
	return rpc.Handler{Method: exchangeMethod(), Serve: func(_ context.Context, c *rpc.Call) error {
		return stub.SendAll(c, stub.Arriving[limosaecho.Message](c))
	}}
}

// grpcStream exchanges messages over one stream of grpc-go, with one goroutine
// that sends and one that receives, as its documentation has it.
func grpcStream(ctx context.Context, addr string, s streamSetting) (run func(int) error, end func(), err error) {
	conns, closeAll, err := grpcConns(addr, 1)
	if err != nil {
		return nil, nil, err
	}
	text := trial.RandomText(s.Payload, s.Seed)
	return func(messages int) error {
		stream, err := echo.NewEchoClient(conns[0]).Exchange(ctx)
		if err != nil {
			return err
		}
		if s.Wait {
			return grpcTurns(stream, messages, text)
		}
		sent := make(chan error, 1)
		go func() {
			req := &echo.Message{Text: text, List: make([]int64, trial.ListLen)}
			for id := range int64(messages) {
				req.Id = id
				trial.Fill(req.List, id)
				if err := stream.Send(req); err != nil {
					sent <- err
					return
				}
			}
			sent <- stream.CloseSend()
		}()
		id := int64(0)
		for {
			m, err := stream.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if err := trial.Verify(id, text, m.Id, m.Text, m.List); err != nil {
				return err
			}
			id++
		}
		if id != int64(messages) {
			return fmt.Errorf("%d messages of %d came back", id, messages)
		}
		return <-sent
	}, closeAll, nil
}

// grpcTurns sends messages on a stream of grpc-go and waits for each answer.
func grpcTurns(stream echo.Echo_ExchangeClient, messages int, text string) error {
	req := &echo.Message{Text: text, List: make([]int64, trial.ListLen)}
	for id := range int64(messages) {
		req.Id = id
		trial.Fill(req.List, id)
		if err := stream.Send(req); err != nil {
			return err
		}
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := trial.Verify(id, text, m.Id, m.Text, m.List); err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

// streamTable prints messages per second and CPU by peer, for people.
func streamTable(w io.Writer, peers []string, rows []*streamRow) {
	base := peers[len(peers)-1]
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\npeer\tmessages/s\tCPU us\tclient\tserver\tallocs\tCPU / %s\t\n", base)
	for _, name := range peers {
		var per, cpu, client, server, allocs, ratios []float64
		for _, r := range rows {
			if r.Peer != name {
				continue
			}
			per, cpu, client, server, allocs = append(per, r.PerS), append(cpu, r.CPU), append(client, r.Client), append(server, r.Server), append(allocs, r.Allocs)
			for _, b := range rows {
				if b.Peer == base && b.Round == r.Round {
					ratios = append(ratios, r.CPU/b.CPU)
				}
			}
		}
		if len(per) > 0 {
			fmt.Fprintf(tw, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f\t%.3f\t\n", name, middle(per), middle(cpu), middle(client), middle(server), middle(allocs), middle(ratios))
		}
	}
	tw.Flush()
}
