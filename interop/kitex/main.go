// Command kitex runs Kitex, a Go RPC framework of CloudWeGo, against Limosa in
// one process: Limosa's client with Kitex's server, and Kitex's client with
// Limosa's server. It prints one row for each thing that is tried and at the
// end the sum. It is built by the script run, which generates both sides from
// peer.thrift: without that it does not compile. See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/bytedance/gopkg/util/logger"
	kitexclient "github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/limosa-rpc/limosa"
)

// A client is one side's client, as rows use it. known chooses the method that
// the server has, or one that it does not have.
type client interface {
	echo(ctx context.Context, it *Item) (*Item, error)
	deny(ctx context.Context, it *Item) (*Item, error)
	nothing(ctx context.Context, it *Item) error
	note(ctx context.Context, it *Item) error
	missing(ctx context.Context, it *Item) (*Item, error)
	produce(ctx context.Context, known bool, it *Item) iter.Seq2[*Item, error]
	collect(ctx context.Context, known bool, in iter.Seq[*Item]) (*Item, error)
	talk(ctx context.Context, known bool, in iter.Seq[*Item]) iter.Seq2[*Item, error]
	// kind names what a call came to, in the words of Limosa's codes.
	kind(err error) string
	close() error
}

// extras is what a call has besides its message, in its context.
type extras struct {
	meta                  bool // send the two pairs, and look for what comes back
	transient, persistent string
	back, head            string
	timeout               time.Duration
}

type extrasKey struct{}

func (x *extras) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, extrasKey{}, x)
}

func extrasOf(ctx context.Context) *extras {
	if x, ok := ctx.Value(extrasKey{}).(*extras); ok {
		return x
	}
	return new(extras)
}

// A pair is a client and a server, how they speak, and what of it works.
type pair struct {
	client, server, form string

	meta     bool // metadata travels
	handlers bool // Kitex's side has its meta handlers: business errors and timeouts travel too
	stream   bool // the rows of streams are run

	b *backend
	c client
}

func (p *pair) kitexServes() bool { return p.server == "kitex" }

// pairs starts everything. stop ends it, and tells how Limosa's server ended.
//
// It is one list of what is started and what ends it, in order; its length is theirs.
func pairs(b *backend) (all []*pair, stop func() error, err error) {
	var stops []func() error
	limosaAddr, stopLimosa, err := startLimosa(b)
	if err != nil {
		return nil, nil, err
	}
	kitex := func(opts ...server.Option) string {
		addr, s, e := startKitex(b, opts...)
		err = errors.Join(err, e)
		stops = append(stops, s)
		return addr
	}
	plain := kitex()
	handlers := server.WithMetaHandler(transmeta.ServerTTHeaderHandler)
	meta := kitex(handlers, server.WithEnableContextTimeout(true))
	mux := kitex(handlers, server.WithEnableContextTimeout(true), server.WithMuxTransport())
	if err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		addr string
		as   limosa.Form
		p    pair
	}{
		{plain, limosa.Framed, pair{form: "framed"}},
		{plain, limosa.Buffered, pair{form: "buffered"}},
		{plain, limosa.TTHeader, pair{form: "ttheader", meta: true, stream: true}},
		{meta, limosa.TTHeader, pair{form: "ttheader+meta", meta: true, handlers: true}},
		{mux, limosa.TTHeader, pair{form: "mux+meta", meta: true, handlers: true}},
	} {
		x.p.client, x.p.server, x.p.b, x.p.c = "limosa", "kitex", b, newLimosaClient(x.addr, x.as)
		all = append(all, &x.p)
	}
	ttheader := kitexclient.WithTransportProtocol(transport.TTHeader)
	clientHandlers := kitexclient.WithMetaHandler(transmeta.ClientTTHeaderHandler)
	for _, x := range []struct {
		opts []kitexclient.Option
		p    pair
	}{
		{nil, pair{form: "framed", stream: true}},
		{[]kitexclient.Option{kitexclient.WithTransportProtocol(transport.PurePayload)}, pair{form: "buffered"}},
		{[]kitexclient.Option{ttheader}, pair{form: "ttheader", meta: true}},
		{[]kitexclient.Option{ttheader, clientHandlers}, pair{form: "ttheader+meta", meta: true, handlers: true}},
		{[]kitexclient.Option{ttheader, kitexclient.WithMuxConnection(1)}, pair{form: "mux", meta: true}},
		{[]kitexclient.Option{ttheader, clientHandlers, kitexclient.WithMuxConnection(1)}, pair{form: "mux+meta", meta: true, handlers: true}},
	} {
		c, err := newKitexClient(limosaAddr, x.opts...)
		if err != nil {
			return nil, nil, err
		}
		x.p.client, x.p.server, x.p.b, x.p.c = "kitex", "limosa", b, c
		all = append(all, &x.p)
	}
	return all, func() error {
		var errs []error
		for _, p := range all {
			errs = append(errs, p.c.close())
		}
		for _, s := range stops {
			s() //nolint:errcheck // how Kitex's server ends is its own affair
		}
		return errors.Join(append(errs, stopLimosa())...)
	}, nil
}

// A row is one thing that is tried between a client and a server.
type row struct {
	name string
	run  func(ctx context.Context, p *pair, pr *probe) (note string, err error)
}

// report prints rows and counts them.
type report struct {
	only           string
	limit          time.Duration
	passed, failed int
}

func (r *report) row(client, server, form, name string, run func(ctx context.Context) (string, error)) {
	title := fmt.Sprintf("%-6s -> %-6s  %-13s  %-42s", client, server, form, name)
	if !strings.Contains(strings.Join(strings.Fields(title), " "), r.only) {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), r.limit)
	defer cancel()
	type result struct {
		note string
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		note, err := run(ctx)
		ended <- result{note, err}
	}()
	var res result
	select {
	case res = <-ended:
	case <-time.After(r.limit + 5*time.Second):
		res.err = fmt.Errorf("no end within %v", r.limit)
	}
	verdict := "PASS"
	if r.passed++; res.err != nil {
		verdict, res.note = "FAIL", res.err.Error()
		r.passed--
		r.failed++
	}
	fmt.Println(strings.TrimRight(fmt.Sprintf("%s  %s  %5.1f s  %s", verdict, title, time.Since(began).Seconds(), res.note), " "))
}

func (r *report) all(p *pair, rows []row) {
	for _, x := range rows {
		r.row(p.client, p.server, p.form, x.name, func(ctx context.Context) (string, error) {
			pr := p.b.begin()
			defer pr.let()
			return x.run(ctx, p, pr)
		})
	}
}

func run(r *report, log io.Writer) error {
	klog.SetOutput(log)
	if log == io.Discard {
		logger.SetLevel(logger.LevelFatal) // of Kitex's pool of goroutines
	}
	all, stop, err := pairs(new(backend))
	if err != nil {
		return err
	}
	for _, p := range all {
		r.all(p, callRows(p))
	}
	for _, p := range all {
		if p.stream {
			ttstream := *p
			ttstream.form = "ttstream"
			r.all(&ttstream, streamRows(&ttstream))
		}
	}
	r.row("all", "limosa", "", "drain, and everything ends", func(context.Context) (string, error) { return "", stop() })
	return nil
}

func main() {
	r := new(report)
	flag.StringVar(&r.only, "only", "", "run the rows whose `words`, such as 'kitex -> limosa framed timeout', contain this")
	flag.DurationVar(&r.limit, "timeout", time.Minute, "how long one row may take")
	verbose := flag.Bool("v", false, "show what Kitex logs")
	flag.Parse()
	log := io.Discard
	if *verbose {
		log = os.Stderr
	}
	if err := run(r, log); err != nil {
		fmt.Fprintln(os.Stderr, "interop/kitex:", err)
		os.Exit(2)
	}
	fmt.Printf("%d passed, %d failed\n", r.passed, r.failed)
	switch {
	case r.failed > 0:
		os.Exit(1)
	case r.passed == 0:
		fmt.Fprintln(os.Stderr, "interop/kitex: no row is called so")
		os.Exit(2)
	}
}
