package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/cmd/load"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// A victimArgs is the arguments of each of the victim's methods.
type victimArgs struct {
	Msg  *limosaecho.Message `thrift:"msg,1"`
	Many []*victimItem       `thrift:"many,2"`
}

// A victimItem takes a byte on the wire, and a hundred times that in memory.
type victimItem struct {
	A, B, C, D, E, F, G string
}

// A victimResult is what a victim says about itself in the end.
type victimResult struct {
	Success *limosaecho.Message `thrift:"success,0,optional"`
}

// victimService has one method for each way in which a handler may behave.
//
// Its length is that of the table of methods, of which each stands for itself.
func victimService() rpc.Service {
	unary := func(name string, f func(ctx context.Context, m *limosaecho.Message) (*limosaecho.Message, error)) rpc.Handler {
		return rpc.Handler{
			Method: &rpc.Method{Service: "Echo", Name: name, Codec: thrift.Binary{}, New: stub.New[victimArgs, victimResult]},
			Serve: func(ctx context.Context, c *rpc.Call) error {
				args, err := stub.Args[victimArgs](c)
				if err != nil {
					return err
				}
				m := args.Msg
				if m == nil {
					m = new(limosaecho.Message)
				}
				stub.Result[victimResult](c).Success, err = f(ctx, m)
				return err
			},
		}
	}
	stream := func(name string, f func(ctx context.Context, c *rpc.Call) error) rpc.Handler {
		return rpc.Handler{
			Method: &rpc.Method{Service: "Echo", Name: name, Kind: rpc.Bidi, Codec: thrift.Binary{}, New: stub.New[limosaecho.Message, limosaecho.Message]},
			Serve:  f,
		}
	}
	page := strings.Repeat("x", 32<<10) // of all streams that pour: what is measured is what Limosa holds
	note := unary("note", func(context.Context, *limosaecho.Message) (*limosaecho.Message, error) {
		time.Sleep(time.Millisecond)
		return nil, nil
	})
	note.Method.Kind = rpc.Oneway
	return rpc.Service{Name: "Echo", IDL: victimIDL(), Methods: []rpc.Handler{
		unary("echo", func(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) { return m, nil }),
		// answer answers with as many bytes as its id says.
		unary("answer", func(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
			return &limosaecho.Message{Text: strings.Repeat("x", int(min(m.ID, 8<<20)))}, nil
		}),
		// later is answer, after a while.
		unary("later", func(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
			time.Sleep(50 * time.Millisecond)
			return &limosaecho.Message{Text: strings.Repeat("x", int(min(m.ID, 15<<20)))}, nil
		}),
		// fail fails with what it was given, and makes no copies of its own.
		unary("fail", func(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
			return nil, errors.New(m.Text)
		}),
		// wait ends with its caller.
		unary("wait", func(ctx context.Context, _ *limosaecho.Message) (*limosaecho.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		unary("boom", func(context.Context, *limosaecho.Message) (*limosaecho.Message, error) { panic("boom") }),
		note,
		exchangeHandler(),
		// hold receives nothing.
		stream("hold", func(ctx context.Context, _ *rpc.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}),
		// pour sends until its caller has gone.
		stream("pour", func(_ context.Context, c *rpc.Call) error {
			m := &limosaecho.Message{Text: page}
			for {
				if err := rpc.EngineOf(c).Stream().Send(m); err != nil {
					return err
				}
			}
		}),
	}}
}

// victimIDL is 100 KB of definitions, as a large program has them.
func victimIDL() string {
	var b strings.Builder
	b.WriteString("#file echo.thrift\n")
	for i := 0; b.Len() < 100<<10; i++ {
		fmt.Fprintf(&b, "struct Message%d{1:string text 2:list<i64>numbers}\n", i)
	}
	return b.String()
}

// victimMain is the process that is attacked: a server with all defaults, or a client that calls.
func victimMain(ctx context.Context, args []string) error {
	var s victimSetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childVictim + " is for bench itself"}
	}
	v := &victimClient{grpc: s.GRPC}
	addr := ""
	if !s.Client {
		l, err := limosa.Listen("0.0.0.0:0")
		if err != nil {
			return err
		}
		server := victimServer(s.GRPC)
		if s.TLS {
			server.TLS = victimTLS()
		}
		go server.Serve(ctx, l) //nolint:errcheck // it ends with this process
		addr = l.Addr().String()
		addr = "127.0.0.1" + addr[strings.LastIndexByte(addr, ':'):]
	}
	return answerStates(addr, os.Stdin, os.Stdout, v)
}

// answerStates says addr, and then answers each line of in with this process's
// state. A client is told whom to call by lines of their own.
func answerStates(addr string, in io.Reader, out io.Writer, v *victimClient) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(trial.Hello{Addr: addr}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch verb, rest, _ := strings.Cut(lines.Text(), " "); verb {
		case "call":
			hostile, good, _ := strings.Cut(rest, " ")
			v.begin(hostile, good)
		case "end":
			v.end()
		}
		if err := enc.Encode(ownState(v)); err != nil {
			return err
		}
	}
	return nil
}

// ownState is what this process holds, after a collection.
func ownState(v *victimClient) victimState {
	s := victimState{RSS: residentOf(os.Getpid()), Goroutines: runtime.NumGoroutine(), CPU: load.CPUTime()}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.FDs = len(fds)
	}
	if b := v.bird; b != nil {
		b.mu.Lock()
		s.Times, s.Errors, s.First = b.times, b.errors, b.first
		b.mu.Unlock()
	}
	return s
}

// victimCallers is how many goroutines of a client call a hostile server, each
// again and again.
const victimCallers = 8

// A victimClient calls a hostile server in every way, with a canary that calls
// a good one from the same process.
type victimClient struct {
	grpc bool // it calls the hostile server by that

	bird   *canary
	cancel context.CancelFunc
	over   chan struct{}
}

// begin has the client call the hostile server and the good one beside it.
func (v *victimClient) begin(hostile, good string) {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel, v.over, v.bird = cancel, make(chan struct{}), new(canary)
	go v.bird.sing(good)
	go func() {
		defer close(v.over)
		caller, call := &limosa.Client{Target: hostile}, v.callOnce
		if v.grpc {
			caller.Protocols, call = []wire.Protocol{web.Protocol{}}, v.callOverHTTP2
		}
		defer caller.Close()
		done := make(chan struct{})
		for i := range victimCallers {
			go func() {
				defer func() { done <- struct{}{} }()
				for ctx.Err() == nil {
					call(ctx, caller, i%2 == 0)
				}
			}()
		}
		for range victimCallers {
			<-done
		}
	}()
}

// callOnce makes a call whose outcome does not matter.
func (v *victimClient) callOnce(ctx context.Context, c rpc.Caller, stream bool) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if !stream {
		limosaecho.NewEchoClient(c).Echo(ctx, &limosaecho.Message{Text: "victim", List: []int64{1}}) //nolint:errcheck
		return
	}
	call := stub.NewCall[limosaecho.Message, limosaecho.Message](exchangeMethod(), "Echo")
	stub.Converse(ctx, c, &call.Call, func(ctx context.Context, st rpc.Stream) error { //nolint:errcheck
		if err := st.Send(&limosaecho.Message{Text: "victim"}); err != nil {
			return err
		}
		<-ctx.Done() // it is slow to receive
		return st.Receive(new(limosaecho.Message))
	})
}

// callOverHTTP2 is callOnce by gRPC.
func (v *victimClient) callOverHTTP2(ctx context.Context, c rpc.Caller, stream bool) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	client := echopb.NewClient(c)
	if !stream {
		client.Echo(ctx, &echopb.Message{Text: "victim", List: []int64{1}}) //nolint:errcheck
		return
	}
	for range client.Exchange(ctx, func(yield func(*echopb.Message, error) bool) { yield(&echopb.Message{Text: "victim"}, nil) }) {
		<-ctx.Done() // it is slow to receive
	}
}

// end stops the calls and waits for them.
func (v *victimClient) end() {
	v.cancel()
	v.bird.stop()
	<-v.over
}
