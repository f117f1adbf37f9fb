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
)

// A setting is one measurement: what a client process and its server are told.
type setting struct {
	Peer     string
	Round    int
	Callers  int
	Payload  int           // bytes of the message's string
	Rate     float64       // calls a second; 0: closed loop
	Conns    int           // connections; 0: what the peer makes by itself
	Work     string        // what the handler does
	Beside   int           // bytes of the messages of one more caller; 0: there is none
	Duration time.Duration // of the measured window
	Seed     int64
}

// works names what a handler can do with its time.
const (
	workNone  = "none"
	workSleep = "sleep1ms"
	workBurn  = "burn20us"
)

// A plan is what the flags ask for.
type plan struct {
	setting  // what all measurements share
	peers    []*peer
	callers  []int
	payloads []int
	rounds   int
	json     bool
}

func parsePlan(args []string) (*plan, error) {
	p := new(plan)
	fs := flag.NewFlagSet("rpc", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	peers := fs.String("peers", "limosa,grpc-go", "peers to measure, separated by commas; all: every peer")
	callers := fs.String("callers", "1,100", "numbers of concurrent callers")
	payload := fs.String("payload", "1024", "bytes of the message's string; may be a list")
	fs.Float64Var(&p.Rate, "rate", 0, "calls due a second (open loop); 0: closed loop")
	fs.IntVar(&p.Conns, "conns", 0, "connections; 0: what the peer makes by itself")
	fs.StringVar(&p.Work, "work", workNone, "what the handler does: none, sleep1ms or burn20us")
	fs.IntVar(&p.Beside, "beside", 0, "one more caller on the same connection, with messages of so many bytes")
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
	case !slices.Contains([]string{workNone, workSleep, workBurn}, p.Work):
		return nil, usageError{fmt.Sprintf("-work %s: there are none, sleep1ms and burn20us", p.Work)}
	case p.Rate < 0 || p.Conns < 0 || p.Beside < 0 || p.rounds < 1 || p.Duration <= 0:
		return nil, usageError{"-rate, -conns and -beside are at least 0, -rounds at least 1, -d more than 0"}
	}
	return p, nil
}

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
		if slices.ContainsFunc(peers, func(q *peer) bool { return q.name == name }) {
			return nil, usageError{fmt.Sprintf("peer %s is named twice", name)}
		}
		peers = append(peers, p)
	}
	return peers, nil
}

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
// heat fall on all of them alike.
func (p *plan) measurements(peers []*peer) []setting {
	var all []setting
	for round := range p.rounds {
		for i, callers := range p.callers {
			for j, payload := range p.payloads {
				for k := range peers {
					s := p.setting
					s.Peer = peers[(k+round+i+j)%len(peers)].name
					s.Round, s.Callers, s.Payload = round+1, callers, payload
					all = append(all, s)
				}
			}
		}
	}
	return all
}
