package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// A plan is what the flags ask for.
type plan struct {
	trial.Setting // what all measurements share
	peers         []*peer
	callers       []int
	payloads      []int
	rounds        int
	json          bool
}

// parsePlan reads the flags of the rpc benchmark.
func parsePlan(args []string) (*plan, error) {
	p := new(plan)
	fs := flag.NewFlagSet("rpc", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	peers := fs.String("peers", "limosa,grpc-go", "peers to measure, separated by commas; all: every peer")
	callers := fs.String("callers", "1,100", "numbers of concurrent callers")
	payload := fs.String("payload", "1024", "bytes of the message's string; may be a list")
	fs.Float64Var(&p.Rate, "rate", 0, "calls due a second (open loop); 0: closed loop")
	fs.StringVar(&p.Arrivals, "arrivals", trial.Even, "how calls of an open loop come: even, or poisson (at random times; what null costs is taken off the client's CPU)")
	fs.IntVar(&p.Conns, "conns", 0, "connections; 0: what the peer makes by itself")
	fs.StringVar(&p.Work, "work", trial.WorkNone, "what the handler does: none, sleep1ms or burn20us")
	fs.IntVar(&p.Beside, "beside", 0, "one more caller on the same connection, with messages of so many bytes")
	fs.IntVar(&p.GOGC, "gogc", 0, "GOGC of every process, client and server; 0: untouched")
	fs.IntVar(&p.rounds, "rounds", 3, "rounds; every peer runs once in each, in rotated order")
	fs.DurationVar(&p.Duration, "d", 2*time.Second, "measured window, after a warm-up of half of it")
	fs.Int64Var(&p.Seed, "seed", 1, "seed of the messages' text")
	output := fs.String("o", "", "json: rows only, no table")
	if err := fs.Parse(args); err == flag.ErrHelp {
		fs.SetOutput(os.Stderr)
		fmt.Fprintf(os.Stderr, "bench rpc: echo calls, closed or open loop\npeers: %s\n", strings.Join(peerNames(), " "))
		fs.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, usageError{err.Error()}
	}
	if fs.NArg() > 0 {
		return nil, usageError{fmt.Sprintf("unexpected argument %q", fs.Arg(0))}
	}
	var err error
	if p.peers, err = parsePeers(*peers); err != nil {
		return nil, err
	}
	if p.callers, err = parseInts("callers", *callers, 1); err != nil {
		return nil, err
	}
	if p.payloads, err = parseInts("payload", *payload, 0); err != nil {
		return nil, err
	}
	p.json = *output == "json"
	switch {
	case *output != "" && !p.json:
		return nil, usageError{fmt.Sprintf("-o %s: there is only json", *output)}
	case !slices.Contains([]string{trial.WorkNone, trial.WorkSleep, trial.WorkBurn}, p.Work):
		return nil, usageError{fmt.Sprintf("-work %s: there are none, sleep1ms and burn20us", p.Work)}
	case p.Arrivals != trial.Even && p.Arrivals != trial.Poisson:
		return nil, usageError{fmt.Sprintf("-arrivals %s: there are even and poisson", p.Arrivals)}
	case p.Arrivals == trial.Poisson && p.Rate == 0:
		return nil, usageError{"-arrivals poisson needs a -rate: a closed loop calls when the last call has ended"}
	case p.Rate < 0 || p.Conns < 0 || p.Beside < 0 || p.GOGC < 0 || p.rounds < 1 || p.Duration <= 0:
		return nil, usageError{"-rate, -conns, -beside and -gogc are at least 0, -rounds at least 1, -d more than 0"}
	}
	return p, nil
}

// parsePeers reads a list of names with commas; unknown ones are a usage error that shows those there are.
func parsePeers(list string) ([]*peer, error) {
	if list == "all" {
		list = strings.Join(peerNames(), ",")
	}
	var peers []*peer
	for name := range strings.SplitSeq(list, ",") {
		p := findPeer(name)
		if p == nil {
			return nil, usageError{fmt.Sprintf("unknown peer %q; there are: %s", name, strings.Join(peerNames(), " "))}
		}
		if slices.ContainsFunc(peers, func(q *peer) bool { return q.Name == name }) {
			return nil, usageError{fmt.Sprintf("peer %s is named twice", name)}
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// parseInts reads a list of numbers with commas, of which none is below least.
func parseInts(name, list string, least int) ([]int, error) {
	var ns []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < least {
			return nil, usageError{fmt.Sprintf("-%s %s: %q is not a number of at least %d", name, list, s, least)}
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// measurements gives the plan's settings in order: every peer once in each
// round and setting, starting with another one each time, so that noise and
// heat fall on all of them alike. Before each group of an open loop whose calls
// come as they like goes null, since its cost is taken off the others'.
func (p *plan) measurements(peers []*peer) []trial.Setting {
	first := []string(nil)
	if p.Arrivals == trial.Poisson {
		first = []string{nullPeer}
		peers = slices.DeleteFunc(slices.Clone(peers), func(x *peer) bool { return x.Name == nullPeer })
	}
	var all []trial.Setting
	for round := range p.rounds {
		for i, callers := range p.callers {
			for j, payload := range p.payloads {
				group := slices.Clone(first)
				for k := range peers {
					group = append(group, peers[(k+round+i+j)%len(peers)].Name)
				}
				for _, name := range group {
					s := p.Setting
					s.Peer, s.Round, s.Callers, s.Payload = name, round+1, callers, payload
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// nullPeer is the name of the peer that is the load generator alone.
const nullPeer = "null"
