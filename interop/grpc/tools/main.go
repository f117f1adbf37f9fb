// Command tools has programs that people use with gRPC talk to a server of Limosa: grpcurl,
// ghz and buf curl, none of which is given an IDL. It ends with 'N passed, N failed'; the
// exit status is 1 if anything failed.
//
//	go run ./interop/grpc/tools -grpcurl PROGRAM -ghz PROGRAM -buf PROGRAM
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/testdata"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/greet"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// caseTime bounds a case, with the start of its program.
const caseTime = time.Minute

// greeter is the service of Protobuf.
type greeter struct{}

func (greeter) Greet(_ context.Context, req *greet.GreetRequest) (*greet.GreetResponse, error) {
	if req.Name == "" {
		return nil, rpc.Errorf(rpc.InvalidArgument, "whom?")
	}
	return &greet.GreetResponse{Text: "hello " + req.Name}, nil
}

func (g greeter) GreetAll(ctx context.Context, all iter.Seq2[*greet.GreetRequest, error]) iter.Seq2[*greet.GreetResponse, error] {
	return func(yield func(*greet.GreetResponse, error) bool) {
		for req, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if res, err := g.Greet(ctx, req); !yield(res, err) || err != nil {
				return
			}
		}
	}
}

func main() {
	programs := map[string]*string{}
	for _, name := range []string{"grpcurl", "ghz", "buf"} {
		programs[name] = flag.String(name, "", "the program; none of its cases run if it is not given")
	}
	flag.Parse()
	passed, failed := 0, 0
	for _, secure := range []bool{false, true} {
		addr, end, err := serve(secure)
		if err != nil {
			fmt.Fprintln(os.Stderr, "tools:", err)
			os.Exit(2)
		}
		for _, c := range cases {
			program := *programs[c.tool]
			if program == "" || c.tool == "buf" && !secure {
				continue
			}
			if err := c.run(program, addr, secure); err != nil {
				failed++
				fmt.Printf("FAIL  %s %s, TLS %t: %v\n", c.tool, c.name, secure, err)
				continue
			}
			passed++
			fmt.Printf("ok    %s %s, TLS %t\n", c.tool, c.name, secure)
		}
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "tools:", err)
			os.Exit(2)
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

// serve serves both IDLs, described for tools. end drains, and gives the error of Serve.
func serve(secure bool) (addr string, end func() error, err error) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &limosa.Server{
		Services:  reflection.With(health.With(greet.Service(greeter{}), hello.Service(hello.Unimplemented{}))...),
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}},
		Drain:     5 * time.Second,
	}
	if secure {
		cert, err := tls.LoadX509KeyPair(testdata.Path("server1.pem"), testdata.Path("server1.key"))
		if err != nil {
			l.Close()
			return "", nil, err
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	return l.Addr().String(), func() error {
		stop()
		return <-ended
	}, nil
}

// A tried is one command line of a tool. Those of buf run over TLS alone.
type tried struct {
	tool, name string
	args       []string // ADDR stands for the address
	stdin      string
	fails      bool     // it is to fail
	want       []string // all of this is to be in what it says
}

// plain and secured are what each tool has to be told so that it speaks without TLS, or does not check the
// certificate, which is of a test.
var plain, secured = map[string][]string{
	"grpcurl": {"-plaintext"}, "ghz": {"--insecure"},
}, map[string][]string{
	"grpcurl": {"-insecure"}, "ghz": {"--skipTLS"}, "buf": {"--insecure"},
}

var cases = []tried{
	{tool: "grpcurl", name: "list", args: []string{"ADDR", "list"},
		want: []string{"Hello\n", "greet.v1.Greeter\n", "grpc.health.v1.Health\n", "grpc.reflection.v1.ServerReflection\n"}},
	{tool: "grpcurl", name: "list of Thrift's methods", args: []string{"ADDR", "list", "Hello"}, want: []string{"Hello.count\n", "Hello.echo\n"}},
	{tool: "grpcurl", name: "describe", args: []string{"ADDR", "describe", "greet.v1.Greeter"}, want: []string{"rpc Greet ( .greet.v1.GreetRequest ) returns ( .greet.v1.GreetResponse );"}},
	{tool: "grpcurl", name: "describe of Thrift", args: []string{"ADDR", "describe", "Hello"}, want: []string{"rpc count (", "returns ( stream "}},
	{tool: "grpcurl", name: "call", args: []string{"-d", `{"name":"you"}`, "ADDR", "greet.v1.Greeter/Greet"}, want: []string{`"text": "hello you"`}},
	{tool: "grpcurl", name: "stream", args: []string{"-d", `{"name":"a"}{"name":"b"}`, "ADDR", "greet.v1.Greeter/GreetAll"}, want: []string{`"text": "hello a"`, `"text": "hello b"`}},
	{tool: "grpcurl", name: "failing call", args: []string{"-d", `{}`, "ADDR", "greet.v1.Greeter/Greet"}, fails: true, want: []string{"Code: InvalidArgument", "Message: whom?"}},
	{tool: "grpcurl", name: "failing stream", args: []string{"-d", `{"name":"a"}{}`, "ADDR", "greet.v1.Greeter/GreetAll"}, fails: true, want: []string{`"text": "hello a"`, "Code: InvalidArgument"}},
	{tool: "grpcurl", name: "call of Thrift", args: []string{"-d", `{}`, "ADDR", "Hello/echo"}, fails: true, want: []string{"Code: Unimplemented", "is a method of Thrift"}},
	{tool: "grpcurl", name: "health", args: []string{"ADDR", "grpc.health.v1.Health/Check"}, want: []string{`"status": "SERVING"`}},
	{tool: "ghz", name: "load", args: []string{"--call", "greet.v1.Greeter.Greet", "-d", `{"name":"you"}`, "-n", "2000", "-c", "20", "--connections", "4", "ADDR"}, want: []string{"[OK]   2000 responses"}},
	{tool: "ghz", name: "load of streams", args: []string{"--call", "greet.v1.Greeter.GreetAll", "-d", `[{"name":"a"},{"name":"b"}]`, "-n", "500", "-c", "20", "ADDR"}, want: []string{"[OK]   500 responses"}},
	{tool: "ghz", name: "load of failures", args: []string{"--call", "greet.v1.Greeter.Greet", "-d", `{}`, "-n", "500", "-c", "10", "ADDR"}, want: []string{"[InvalidArgument]   500 responses"}},
	{tool: "buf", name: "curl, list", args: []string{"curl", "--list-methods", "https://ADDR"}, want: []string{"greet.v1.Greeter/Greet", "Hello/echo"}},
	{tool: "buf", name: "curl", args: []string{"curl", "--protocol", "grpc", "-d", `{"name":"you"}`, "https://ADDR/greet.v1.Greeter/Greet"}, want: []string{`"text": "hello you"`}},
	{tool: "buf", name: "curl, stream", args: []string{"curl", "--protocol", "grpc", "-d", "@-", "https://ADDR/greet.v1.Greeter/GreetAll"}, stdin: `{"name":"a"}{"name":"b"}`, want: []string{`"text": "hello a"`, `"text": "hello b"`}},
	{tool: "buf", name: "curl, failing", args: []string{"curl", "--protocol", "grpc", "-d", `{}`, "https://ADDR/greet.v1.Greeter/Greet"}, fails: true, want: []string{"invalid_argument", "whom?"}},
}

// run runs it, and compares what it says.
func (c tried) run(program, addr string, secure bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	how := plain[c.tool]
	if secure {
		how = secured[c.tool]
	}
	args := slices.Concat(how, c.args)
	if c.tool == "buf" { // its flags belong to its command
		args = slices.Concat(c.args[:1], how, c.args[1:])
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "ADDR", addr)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(c.stdin)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if _, ended := errors.AsType[*exec.ExitError](err); (err != nil) != c.fails || err != nil && !ended {
		return fmt.Errorf("it ends with %v: %s", err, text[:min(len(text), 500)])
	}
	for _, w := range c.want {
		if !strings.Contains(text, w) {
			return fmt.Errorf("it does not say %q: %s", w, text[:min(len(text), 1000)])
		}
	}
	return nil
}
