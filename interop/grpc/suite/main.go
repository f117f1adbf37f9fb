// Command suite runs the cases of gRPC's interoperability tests, each of Limosa's sides
// against grpc-go's, on a plain port and over TLS. It ends with 'N passed, N failed';
// the exit status is 1 if anything failed.
//
//	go run ./interop/grpc/suite -client PROGRAM -server PROGRAM
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc/testdata"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// hostOfTest is the name that grpc-go's certificates for tests are for.
const hostOfTest = "foo.test.google.fr"

// caseTime bounds a case, with the start of its program.
const caseTime = time.Minute

func main() {
	clientProgram := flag.String("client", "", "grpc-go's client")
	serverProgram := flag.String("server", "", "grpc-go's server")
	only := flag.String("case", "", "one case")
	flag.Parse()
	if *clientProgram == "" || *serverProgram == "" {
		fmt.Fprintln(os.Stderr, "suite: -client and -server are grpc-go's programs")
		os.Exit(2)
	}
	var sum tally
	for _, secure := range []bool{false, true} {
		if err := sum.theirClient(*clientProgram, *only, secure); err != nil {
			fmt.Fprintln(os.Stderr, "suite:", err)
			os.Exit(2)
		}
		if err := sum.ourClient(*serverProgram, *only, secure); err != nil {
			fmt.Fprintln(os.Stderr, "suite:", err)
			os.Exit(2)
		}
	}
	fmt.Printf("%d passed, %d failed\n", sum.passed, sum.failed)
	if sum.failed > 0 || sum.passed == 0 {
		os.Exit(1)
	}
}

// A tally is what has passed, and what not.
type tally struct{ passed, failed int }

// note takes the outcome of a case in, and shows it.
func (y *tally) note(pair string, secure bool, name string, err error) {
	way := "plain"
	if secure {
		way = "TLS"
	}
	if err == nil {
		y.passed++
		fmt.Printf("ok    %s, %s: %s\n", pair, way, name)
		return
	}
	y.failed++
	fmt.Printf("FAIL  %s, %s: %s: %v\n", pair, way, name, err)
}

// theirClient has grpc-go's client call Limosa's server.
func (y *tally) theirClient(program, only string, secure bool) error {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &limosa.Server{Services: []rpc.Service{service()}, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	args := []string{"--server_port=" + port, "--server_host=127.0.0.1", "--soak_iterations=100"}
	if secure {
		cert, err := tls.LoadX509KeyPair(testdata.Path("server1.pem"), testdata.Path("server1.key"))
		if err != nil {
			return err
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		args = append(args, "--use_tls", "--use_test_ca", "--server_host_override="+hostOfTest)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	for _, c := range cases {
		if only != "" && c.name != only {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, caseTime)
		out, err := exec.CommandContext(ctx, program, append(args, "--test_case="+c.name)...).CombinedOutput()
		cancel()
		if err != nil {
			text := strings.TrimSpace(string(out))
			err = fmt.Errorf("%w: %s", err, text[:min(len(text), 500)])
		}
		y.note("grpc-go's client, Limosa's server", secure, c.name, err)
	}
	stop()
	return <-ended
}

// ourClient calls grpc-go's server.
func (y *tally) ourClient(program, only string, secure bool) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addr)
	args := []string{"--port=" + port}
	if secure {
		args = append(args, "--use_tls")
	}
	server := exec.CommandContext(ctx, program, args...)
	said, err := server.StderrPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(os.Stderr, "grpc-go's server:", lines.Text())
		}
	}()
	if err := listens(addr); err != nil {
		return err
	}
	dial := func() *endpoint.Endpoint {
		speaks := web.Protocol{Authority: hostOfTest, Secure: secure}
		cfg := endpoint.Config{Network: "tcp", Addr: addr, Protocol: speaks, WithoutOffer: speaks, Limits: rpc.Limits{}.WithDefaults()}
		if secure {
			cfg.TLS = &tls.Config{ServerName: hostOfTest, InsecureSkipVerify: true} // whose certificate it is, is not what is tried
		}
		return endpoint.New(cfg)
	}
	to := dial()
	defer to.Close()
	for _, c := range cases {
		if only != "" && c.name != only {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, caseTime)
		err := c.run(ctx, &client{to: to, redial: dial})
		cancel()
		y.note("Limosa's client, grpc-go's server", secure, c.name, err)
	}
	stop()
	server.Wait() //nolint:errcheck // it was killed
	return nil
}

// freeAddr is an address that nobody listens at.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// listens waits until somebody listens at addr.
func listens(addr string) error {
	var err error
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		var c net.Conn
		if c, err = net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
	}
	return err
}
