// Command h2spec runs the suite h2spec against a server of Limosa that speaks gRPC, on a
// plain port and over TLS. It ends with 'N passed, N failed'; the exit status is 1 if
// anything failed.
//
//	go run ./interop/h2spec -suite PROGRAM
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

func main() {
	suite := flag.String("suite", "h2spec", "h2spec's program")
	only := flag.String("only", "", "one section, such as http2/6.9.1")
	flag.Parse()
	failed, err := run(*suite, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "h2spec:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run runs the suite on both ports, and prints what failed.
func run(suite, only string) (failed int, err error) {
	cert, err := certificate()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "h2spec")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	passed := 0
	for _, way := range []struct {
		name string
		tls  *tls.Config
		args []string
	}{
		{"plain", nil, nil},
		{"TLS", &tls.Config{Certificates: []tls.Certificate{cert}}, []string{"-t", "-k"}},
	} {
		s := &limosa.Server{Services: health.With(), Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}, TLS: way.tls}
		l, err := limosa.Listen("127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		go func() { ended <- s.Serve(ctx, l) }()
		report := filepath.Join(dir, way.name+".xml")
		_, port, _ := net.SplitHostPort(l.Addr().String())
		args := append([]string{"-h", "127.0.0.1", "-p", port, "-j", report}, way.args...)
		if only != "" {
			args = append(args, only)
		}
		out, err := exec.Command(suite, args...).CombinedOutput()
		stop()
		if e := <-ended; e != nil && !errors.Is(e, context.Canceled) {
			return 0, fmt.Errorf("the server: %w", e)
		}
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			return 0, err
		}
		good, bad, err := tell(way.name, report)
		if err != nil {
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
		fmt.Printf("%s: %d passed, %d failed\n", way.name, good, len(bad))
		for _, line := range bad {
			fmt.Println("  " + line)
		}
		passed += good
		failed += len(bad)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return failed, nil
}

// tell reads a report in the form of JUnit. A case that was skipped has not passed.
func tell(way, file string) (passed int, failed []string, err error) {
	type note struct {
		Text string `xml:",chardata"`
	}
	var all struct {
		Suites []struct {
			Package string `xml:"package,attr"`
			ID      string `xml:"id,attr"`
			Cases   []struct {
				Name    string `xml:"classname,attr"`
				Failure *note  `xml:"failure"`
				Error   *note  `xml:"error"`
				Skipped *note  `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, err
	}
	if err := xml.Unmarshal(b, &all); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range all.Suites {
		for i, c := range s.Cases {
			what := ""
			switch {
			case c.Failure != nil:
				what = c.Failure.Text
			case c.Error != nil:
				what = c.Error.Text
			case c.Skipped != nil:
				what = "skipped"
			default:
				passed++
				continue
			}
			failed = append(failed, fmt.Sprintf("%s %s/%d: %s: %s", way, s.ID, i+1, c.Name, strings.Join(strings.Fields(what), " ")))
		}
	}
	if passed+len(failed) == 0 {
		return 0, nil, fmt.Errorf("%s names no cases", file)
	}
	return passed, failed, nil
}

// certificate makes one for the loopback address, for an hour.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
