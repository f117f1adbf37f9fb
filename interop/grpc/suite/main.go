// Command suite runs the cases of gRPC's interoperability tests, each of Limosa's sides
// against another gRPC's, on a plain port and over TLS. It ends with 'N passed, N failed';
// the exit status is 1 if anything failed.
//
//	go run ./interop/grpc/suite -go FOLDER -java FOLDER
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// A peer is another gRPC: its programs, and the cases that its client knows besides Limosa's.
type peer struct {
	name           string
	client, server []string
	also           []string
}

// peers are those of whom there are programs: grpc-go's client and server in one folder, grpc-java's jars in another.
func peers(goFolder, javaFolder string) (all []peer) {
	if goFolder != "" {
		all = append(all, peer{name: "grpc-go", client: []string{filepath.Join(goFolder, "client")}, server: []string{filepath.Join(goFolder, "server")}})
	}
	if javaFolder != "" {
		java := []string{"java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(javaFolder, "*")}
		all = append(all, peer{
			name:   "grpc-java",
			client: append(slices.Clone(java), "io.grpc.testing.integration.TestServiceClient"),
			server: append(slices.Clone(java), "io.grpc.testing.integration.TestServiceServer"),
			also:   javaCases,
		})
	}
	return all
}

// javaCases are those that grpc-java's client has besides. It does not look whether an
// answer was compressed, as it may not be.
var javaCases = []string{"server_compressed_unary", "server_compressed_streaming", "client_compressed_unary_noprobe", "client_compressed_streaming_noprobe", "very_large_request", "pick_first_unary"}

func main() {
	goFolder := flag.String("go", "", "folder of grpc-go's client and server")
	javaFolder := flag.String("java", "", "folder of grpc-java's jars")
	only := flag.String("case", "", "one case")
	flag.Parse()
	all := peers(*goFolder, *javaFolder)
	if len(all) == 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "suite: -go and -java say where the programs of the others are, as in: suite -go /tmp/grpc-go")
		os.Exit(2)
	}
	var sum tally
	for _, p := range all {
		for _, secure := range []bool{false, true} {
			if err := errors.Join(sum.theirClient(p, *only, secure), sum.ourClient(p, *only, secure)); err != nil {
				fmt.Fprintln(os.Stderr, "suite:", err)
				os.Exit(2)
			}
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

// theirClient has p's client call Limosa's server.
func (y *tally) theirClient(p peer, only string, secure bool) error {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &limosa.Server{Services: []rpc.Service{service()}, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	args := append(slices.Clone(p.client[1:]), "--server_port="+port, "--server_host=127.0.0.1", "--soak_iterations=100", "--soak_per_iteration_max_acceptable_latency_ms=10000", fmt.Sprintf("--use_tls=%t", secure))
	if secure {
		cert, err := tls.LoadX509KeyPair(testdata.Path("server1.pem"), testdata.Path("server1.key"))
		if err != nil {
			return err
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		args = append(args, "--use_test_ca=true", "--server_host_override="+hostOfTest)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	names := slices.Clone(p.also)
	for _, c := range cases {
		names = append(names, c.name)
	}
	for _, name := range names {
		if only != "" && name != only {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, caseTime)
		out, err := exec.CommandContext(ctx, p.client[0], append(slices.Clone(args), "--test_case="+name)...).CombinedOutput()
		cancel()
		if err != nil {
			text := strings.TrimSpace(string(out))
			err = fmt.Errorf("%w: %s", err, text[:min(len(text), 500)])
		}
		y.note(p.name+"'s client, Limosa's server", secure, name, err)
	}
	stop()
	return <-ended
}

// ourClient calls p's server.
func (y *tally) ourClient(p peer, only string, secure bool) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addr)
	args := append(slices.Clone(p.server[1:]), "--port="+port, fmt.Sprintf("--use_tls=%t", secure))
	server := exec.CommandContext(ctx, p.server[0], args...)
	said, err := server.StderrPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintf(os.Stderr, "%s's server: %s\n", p.name, lines.Text())
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
		y.note("Limosa's client, "+p.name+"'s server", secure, c.name, err)
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
