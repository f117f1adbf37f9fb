// Command thrift runs Apache Thrift's own test programs, in Python, Java, Node
// and Go, against Limosa: each as client of Limosa's server and as server of
// Limosa's client, over buffered and framed connections, in the binary and the
// compact protocol, and behind Apache's header transport.
//
// It installs what the peers need into a cache (setup/*.sh), generates code
// from Apache's ThriftTest.thrift with Limosa's generator, builds Limosa's two
// programs (testdata/peer) from it, and prints one row for each pair. Nothing
// of Apache is kept in this repository. See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the command line, and below it what a run makes for itself.
type options struct {
	peers, transports, protocols []string
	self, verbose, setupOnly     bool
	jobs                         int
	timeout                      time.Duration
	cache, root                  string
	build                        []string // flags of go build for Limosa's programs

	work  string // a folder of this run alone, for what is built from the checkout
	ports ports  // for all servers of this run
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, parseFlags())
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "interop/thrift:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

func parseFlags() *options {
	o := new(options)
	list := func(into *[]string, name, value, usage string) {
		*into = strings.Split(value, ",")
		flag.Func(name, usage+" (default "+value+")", func(s string) error {
			if s != "" { // an empty value, as from an unset variable of make, keeps the default
				*into = strings.Split(s, ",")
			}
			return nil
		})
	}
	list(&o.peers, "peers", "python,java,node,go", "comma-separated `peers`; limosa is one too")
	list(&o.transports, "transports", "buffered,framed", "comma-separated `transports`")
	list(&o.protocols, "protocols", "binary,compact,header,headerc,multi,multic,multih",
		"comma-separated `protocols`: binary, compact, header (with binary messages), headerc (with compact ones), "+
			"and multiplexed: multi, multic, multih")
	flag.BoolVar(&o.self, "self", false, "pair the peers with each other and leave Limosa out: a check of this program")
	flag.BoolVar(&o.verbose, "v", false, "show what the programs print even if a pair passes")
	flag.BoolVar(&o.setupOnly, "setup-only", false, "install and build, then stop")
	flag.IntVar(&o.jobs, "j", 2, "`pairs` that run at the same time")
	flag.DurationVar(&o.timeout, "timeout", 60*time.Second, "how long one program may take")
	flag.StringVar(&o.cache, "cache", os.Getenv("LIMOSA_INTEROP_CACHE"), "`folder` for what is installed; LIMOSA_INTEROP_CACHE")
	flag.StringVar(&o.root, "root", "", "the checkout of Limosa (default: found upwards from here)")
	build := flag.String("build", "", "`flags` of go build for Limosa's programs, separated by spaces")
	flag.Parse()
	o.build = strings.Fields(*build)
	return o
}

// run does all and reports how many pairs failed.
func run(ctx context.Context, o *options) (failed int, err error) {
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return 0, err
		}
		o.cache = filepath.Join(dir, "limosa-interop")
	}
	if o.cache, err = filepath.Abs(o.cache); err != nil {
		return 0, err
	}
	if o.root == "" {
		if o.root, err = findRoot(); err != nil {
			return 0, err
		}
	}
	if o.work, err = os.MkdirTemp("", "limosa-interop-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(o.work)
	peers, err := choosePeers(o)
	if err != nil {
		return 0, err
	}
	if err := setUp(ctx, o, peers); err != nil {
		return 0, err
	}
	if o.setupOnly {
		return 0, nil
	}
	pairs := makePairs(o, peers)
	if len(pairs) == 0 {
		return 0, errors.New("no pair speaks what was asked for")
	}
	return runPairs(ctx, o, pairs), nil
}

// findRoot looks upwards from the working folder for the checkout of Limosa.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module github.com/limosa-rpc/limosa\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the checkout of Limosa is not above this folder: give -root")
		}
		dir = up
	}
}
