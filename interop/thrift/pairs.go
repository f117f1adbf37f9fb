package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A pair is one client run against one server.
type pair struct {
	client, server      *peer // server nil: nobody listens, and the client must fail
	transport, protocol string
}

// makePairs lists what is to be run: Limosa with each peer in both directions,
// or the peers with each other, in every combination that both sides speak;
// and each client once against a closed port, because a client that passes
// there would pass anywhere.
func makePairs(o *options, peers []*peer) []pair {
	var pairs []pair
	for _, protocol := range o.protocols {
		for _, transport := range o.transports {
			for _, c := range peers {
				for _, s := range peers {
					if wanted(o, c, s) && fits(transport, protocol) && slices.Contains(c.protocols, protocol) && s.serves(protocol) {
						pairs = append(pairs, pair{c, s, transport, protocol})
					}
				}
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	for _, p := range peers {
		pairs = append(pairs, pair{client: p, transport: "buffered", protocol: "binary"})
	}
	return pairs
}

func wanted(o *options, c, s *peer) bool {
	if c == s {
		return o.self || slices.Contains(o.peers, limosaName) && c.name == limosaName
	}
	return o.self || c.name == limosaName || s.name == limosaName
}

// fits reports whether a protocol can go over a transport: a THeader is a frame
// of its own, which is not to stand in another, as Apache's documentation says.
func fits(transport, protocol string) bool {
	switch protocol {
	case "header", "headerc", "multih":
		return transport == "buffered"
	}
	return true
}

// skip says why the pair cannot run here, or nothing.
func (p pair) skip() string {
	for _, side := range []*peer{p.client, p.server} {
		if side != nil && side.skip != "" {
			return side.skip
		}
	}
	return ""
}

// An outcome is what became of a pair.
type outcome struct {
	err  error
	note string
	took time.Duration
}

// runPairs runs all pairs, prints a row for each in the order of the list, and
// a sum at the end. It reports how many failed.
func runPairs(ctx context.Context, o *options, pairs []pair) int {
	outcomes := make([]outcome, len(pairs))
	ready := make([]chan struct{}, len(pairs))
	slots := make(chan struct{}, max(1, o.jobs))
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range pairs {
		ready[i] = make(chan struct{})
	}
	wg.Go(func() {
		for i, p := range pairs {
			slots <- struct{}{}
			wg.Go(func() {
				if p.skip() == "" {
					outcomes[i] = runPair(ctx, o, p)
				}
				close(ready[i])
				<-slots
			})
		}
	})
	var passed, failed, skipped int
	for i, p := range pairs {
		<-ready[i]
		switch out := outcomes[i]; {
		case p.skip() != "":
			skipped++
			printRow("SKIP", p, 0, p.skip())
		case out.err != nil:
			failed++
			printRow("FAIL", p, out.took, firstLine(out.err))
			explain(os.Stderr, p, out.err)
		default:
			passed++
			printRow("PASS", p, out.took, out.note)
		}
	}
	sum := fmt.Sprintf("%d passed, %d failed", passed, failed)
	if skipped > 0 {
		sum += fmt.Sprintf(", %d skipped", skipped)
	}
	fmt.Println(sum)
	return failed
}

func printRow(verdict string, p pair, took time.Duration, note string) {
	row := fmt.Sprintf("%s  %-16s  %-8s  %-7s  %5.1f s  %s", verdict, p.names(), p.transport, p.protocol, took.Seconds(), note)
	fmt.Println(strings.TrimRight(row, " "))
}

// names gives who calls whom.
func (p pair) names() string {
	if p.server == nil {
		return p.client.name + " -> nobody"
	}
	return p.client.name + " -> " + p.server.name
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// explain writes the whole of a failure, with what the programs said.
func explain(w io.Writer, p pair, err error) {
	fmt.Fprintf(w, "---- %s, %s, %s: %v\n", p.names(), p.transport, p.protocol, err)
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	for _, part := range parts {
		if e, ok := errors.AsType[*programError](part); ok {
			fmt.Fprintf(w, "---- output of the %s:\n%s\n", e.what, strings.TrimSpace(e.output))
		}
	}
}

func runPair(ctx context.Context, o *options, p pair) outcome {
	began := time.Now()
	var out outcome
	if p.server == nil {
		out.note, out.err = runAgainstNobody(ctx, o, p)
	} else {
		out.note, out.err = runAgainstServer(ctx, o, p)
	}
	out.took = time.Since(began)
	return out
}

// runAgainstNobody makes sure that the client can fail.
func runAgainstNobody(ctx context.Context, o *options, p pair) (string, error) {
	port, err := o.ports.take()
	if err != nil {
		return "", err
	}
	for _, args := range p.client.client(port, p.transport, p.protocol) {
		output, err := runClient(ctx, p.client, o.timeout, args)
		if err == nil {
			return "", &programError{what: p.client.name + " client", err: errors.New("passes although nobody listens"), output: output}
		}
	}
	return "fails, as it must", nil
}

func runAgainstServer(ctx context.Context, o *options, p pair) (note string, err error) {
	srv, port, err := startServer(ctx, &o.ports, p.server, p.transport, p.protocol)
	if err != nil {
		return "", err
	}
	clientErr := runClients(ctx, o, p, port)
	stopErr := srv.stop()
	output := srv.output.String()
	switch {
	case p.server.name != limosaName:
		stopErr = byItself(stopErr) // Apache's servers have no orderly end
	case stopErr == nil:
		note, stopErr = checkServed(p.client, output)
	}
	if clientErr == nil && stopErr == nil {
		return note, nil
	}
	if stopErr == nil {
		stopErr = errors.New("has no complaint") // its words may explain the client's
	}
	return "", errors.Join(clientErr, &programError{what: p.server.name + " server", err: stopErr, output: output})
}

// runClients runs the client's programs one after the other.
func runClients(ctx context.Context, o *options, p pair, port int) error {
	for _, args := range p.client.client(port, p.transport, p.protocol) {
		output, err := runClient(ctx, p.client, o.timeout, args)
		if err != nil {
			return &programError{what: p.client.name + " client", err: err, output: output}
		}
		if o.verbose {
			fmt.Fprintf(os.Stderr, "---- %s, %s, %s: output of the client:\n%s\n", p.names(), p.transport, p.protocol, strings.TrimSpace(output))
		}
	}
	return nil
}

// servedLine is what Limosa's server says at its end.
const servedLine = `(?m)^served (\d+) methods, (\d+) calls$`

// checkServed compares what Limosa's server has counted with what the client
// is known to call: a client's own verdict cannot tell whether oneway calls
// arrived, or whether its tests were run at all.
func checkServed(client *peer, output string) (note string, err error) {
	m := regexp.MustCompile(servedLine).FindStringSubmatch(output)
	if m == nil {
		return "", errors.New("does not say what it has served")
	}
	methods, err := strconv.Atoi(m[1])
	if err != nil {
		return "", err
	}
	if methods < client.calls {
		return "", fmt.Errorf("served %d methods, and the client calls %d", methods, client.calls)
	}
	return fmt.Sprintf("%d of %d methods, %s calls", methods, allMethods, m[2]), nil
}
