package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
)

// A shape is one of the three kinds of calls with several messages.
type shape string

const (
	produce shape = "server stream"
	collect shape = "client stream"
	talk    shape = "bidi"
)

// A try is one stream as a row has it made.
type try struct {
	shape   shape
	missing bool   // call the method that the server does not have
	text    string // what the handler is to do
	n       int64  // messages, of each side that sends many
	body    []byte // of each message
	x       *extras
	// sent is told how many messages have been sent, before each further one
	// and, with last, when no more are.
	sent func(n int64, last bool)
	// got is told how many messages have been received. false: leave.
	got func(n int64) bool
}

// run makes the call. n is how many messages came, or for a client stream how
// many the server says it has received.
func (t *try) run(ctx context.Context, p *pair, pr *probe) (n int64, err error) {
	if t.x != nil {
		ctx = t.x.in(ctx)
	}
	if t.shape == collect {
		res, err := p.c.collect(ctx, !t.missing, t.items(pr))
		if err != nil {
			return 0, err
		}
		return res.N, nil
	}
	out := p.c.produce(ctx, !t.missing, &Item{Text: t.text, N: t.n, Body: t.body, Row: pr.id})
	if t.shape == talk {
		out = p.c.talk(ctx, !t.missing, t.items(pr))
	}
	for it, err := range out {
		if err != nil {
			return n, err
		}
		if it.N != n || !bytes.Equal(it.Body, t.body) {
			return n, fmt.Errorf("message %d comes as number %d with %d bytes", n, it.N, len(it.Body))
		}
		n++
		if t.got != nil && !t.got(n) {
			break
		}
	}
	return n, nil
}

// items are the messages of the client's side.
func (t *try) items(pr *probe) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		var n int64
		if t.sent != nil {
			defer func() { t.sent(n, true) }()
		}
		for ; n < t.n; n++ {
			if t.sent != nil {
				t.sent(n, false)
			}
			if !yield(&Item{Text: t.text, N: n, Body: t.body, Row: pr.id}) {
				return
			}
		}
	}
}

// streamRows are the rows of all shapes.
func streamRows(p *pair) (rows []row) {
	for _, s := range []shape{produce, collect, talk} {
		add := func(name string, f func(ctx context.Context, p *pair, pr *probe, s shape) (string, error)) {
			rows = append(rows, row{string(s) + ": " + name, func(ctx context.Context, p *pair, pr *probe) (string, error) { return f(ctx, p, pr, s) }})
		}
		add("normal end", streamAll)
		add("metadata both ways", streamMeta)
		add("handler's error", streamFails)
		add("handler panics", streamPanics)
		add("business error", streamBusiness)
		add("cancel by leaving early", streamLeft)
		add("unknown method", streamMissing)
		add("deadline", streamDeadline)
		add("10,000 of 1 KB", streamMuch)
		add("10,000 of 1 KB, received slowly", streamSteady)
		if s != collect {
			add("10,000 of 1 KB, slow client", streamSlowClient)
		}
		if s != produce {
			add("10,000 of 1 KB, slow server", streamSlowServer)
		}
	}
	return append(rows, row{"50 streams at once", streamMany}, row{"calls beside streams", streamsAndCalls})
}

// handled waits for a handler of a stream to return.
func (pr *probe) handled(ctx context.Context) error {
	select {
	case err := <-pr.done:
		return err
	case <-ctx.Done():
		return errors.New("the handler does not end")
	}
}

func streamAll(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	for _, n := range []int64{0, 1, 100} {
		if n == 0 && s == collect {
			continue // the handler finds its row in the first message
		}
		t := try{shape: s, text: doAll, n: n, body: []byte("some")}
		if got, err := t.run(ctx, p, pr); err != nil || got != n {
			return "", fmt.Errorf("%d of %d: %v", got, n, err)
		}
		if n == 0 && s == talk {
			continue
		}
		if err := pr.handled(ctx); err != nil {
			return "", fmt.Errorf("the handler: %w", err)
		}
	}
	return "", nil
}

func streamMeta(ctx context.Context, p *pair, pr *probe, s shape) (note string, _ error) {
	x := &extras{meta: true, transient: "one hop", persistent: "all hops"}
	t := try{shape: s, text: doMeta, n: 5, x: x}
	if got, err := t.run(ctx, p, pr); err != nil || got != 5 {
		return "", fmt.Errorf("%d of 5: %v", got, err)
	}
	if want := "one hop and all hops"; x.back != want {
		return "", fmt.Errorf("the trailer has %q, want %q", x.back, want)
	}
	if p.kitexServes() {
		note = "header and trailer"
		if x.head != "head" {
			return "", fmt.Errorf("the header has %q", x.head)
		}
	}
	return note, nil
}

// ends runs a stream whose handler ends it with an error after some messages.
func ends(ctx context.Context, p *pair, pr *probe, t try, kind, says string) error {
	got, err := t.run(ctx, p, pr)
	if err := p.want(err, kind, says); err != nil {
		return err
	}
	if drops := !p.kitexServes() && kind == theBusiness; drops && got < before {
		got = before // Kitex's client lets what it has received go
	}
	if t.shape != collect && got != before {
		return fmt.Errorf("%d messages came before the error, want %d", got, before)
	}
	again := try{shape: t.shape, text: doAll, n: 10}
	if got, err := again.run(ctx, p, pr); err != nil || got != 10 {
		return fmt.Errorf("the next stream: %d of 10: %w", got, err)
	}
	return nil
}

// failure is the kind of a handler's failure in a stream.
func (p *pair) failure() string {
	if p.kitexServes() {
		return "Internal"
	}
	return application
}

func streamFails(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	return "", ends(ctx, p, pr, try{shape: s, text: doFail, n: 10}, p.failure(), errBoom.Error())
}

func streamPanics(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	return "", ends(ctx, p, pr, try{shape: s, text: doPanic, n: 10}, p.failure(), "")
}

func streamBusiness(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	return "", ends(ctx, p, pr, try{shape: s, text: doBusiness, n: 10}, theBusiness, "")
}

// enough is more messages than are sent before a stream is over.
const enough = 1000

func streamLeft(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	leaving, cancel := context.WithCancel(ctx)
	defer cancel()
	t := try{shape: s, text: doWait, n: enough, got: func(n int64) bool { return n < before }}
	if s == collect { // there is no loop to leave: its context ends
		t.sent = func(n int64, last bool) {
			if n == before && !last {
				<-pr.entered
				cancel()
			}
		}
	}
	_, err := t.run(leaving, p, pr)
	if kind := map[bool]string{true: "Canceled", false: "ok"}[s == collect]; p.c.kind(err) != kind {
		return "", p.want(err, kind, "")
	}
	// Kitex's handlers get an error of its own. Its client looks every five
	// seconds whether somebody has left a stream without receiving.
	if err := pr.handled(ctx); err == nil || !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "anceled") {
		return "", fmt.Errorf("the handler ends with %v", err)
	}
	return "the handler's context ends", nil
}

func streamMissing(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	x, kind, note := new(extras), application, "told at once"
	if p.kitexServes() {
		x.timeout, kind, note = soon, "DeadlineExceeded", "Kitex says nothing: only the deadline helps"
	}
	t := try{shape: s, missing: true, n: 1, x: x}
	_, err := t.run(ctx, p, pr)
	if err := p.want(err, kind, ""); err != nil {
		return "", err
	}
	again := try{shape: s, text: doAll, n: 10}
	if got, err := again.run(ctx, p, pr); err != nil || got != 10 {
		return "", fmt.Errorf("the next stream: %d of 10: %w", got, err)
	}
	return note, nil
}

func streamDeadline(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	began := time.Now()
	if err := ends(ctx, p, pr, try{shape: s, text: doWait, n: enough, x: &extras{timeout: soon}}, "DeadlineExceeded", ""); err != nil {
		return "", err
	}
	if took := time.Since(began); took < soon {
		return "", fmt.Errorf("ends after %v", took)
	}
	select {
	case <-pr.ended:
	case <-ctx.Done():
		return "", errors.New("the handler's context does not end")
	}
	return "the handler's context ends", nil
}

// Many messages: 10,000 of 1 KB, and how many fit into the 4 MiB that Limosa
// holds for a peer that it cannot stop. As many again may have been taken from
// the queue by who receives.
const (
	many     = 10_000
	leastFit = 3_000
	mostFit  = 2*(4<<20)/1024 + 100
)

var kilobyte = []byte(strings.Repeat("0123456789abcdef", 64))

func streamMuch(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	t := try{shape: s, text: doAll, n: many, body: kilobyte}
	got, err := t.run(ctx, p, pr)
	if err != nil || got != many {
		return "", fmt.Errorf("%d of %d: %v", got, many, err)
	}
	return "", pr.handled(ctx)
}

// streamSteady has the receiver need longer than the sender, but receive.
func streamSteady(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	t := try{shape: s, text: doAll, n: many, body: kilobyte}
	if s == collect {
		t.text = doSteady
	} else {
		t.got = func(n int64) bool {
			rest(n)
			return true
		}
	}
	got, err := t.run(ctx, p, pr)
	if err != nil || got != many {
		return "", fmt.Errorf("%d of %d: %v", got, many, err)
	}
	return "", pr.handled(ctx)
}

// exhausted checks how a stream ended on Limosa's side whose messages were not
// received.
func exhausted(got int64) (string, error) {
	if got < leastFit || got > mostFit {
		return "", fmt.Errorf("%d messages were held, want %d to %d", got, leastFit, mostFit)
	}
	return fmt.Sprintf("Limosa holds %d, then ends the stream", got), nil
}

// streamSlowClient has the client take one message and no more until the
// handler has returned: Kitex's when it is told that the stream has ended.
func streamSlowClient(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	var handler error
	t := try{shape: s, text: doAll, n: many, body: kilobyte}
	if p.kitexServes() {
		t.text = doStay
	}
	t.got = func(n int64) bool {
		if n == 1 {
			handler = pr.handled(ctx)
		}
		return true
	}
	got, err := t.run(ctx, p, pr)
	if !p.kitexServes() {
		if err != nil || got != many || handler != nil {
			return "", fmt.Errorf("%d of %d: %v; the handler: %v", got, many, err, handler)
		}
		return "Kitex's client holds it all", nil
	}
	if err := p.want(err, "ResourceExhausted", "wait to be received"); err != nil {
		return "", err
	}
	return exhausted(got)
}

// streamSlowServer has the handler take one message and no more until the
// client has sent all, or has been told to stop.
func streamSlowServer(ctx context.Context, p *pair, pr *probe, s shape) (string, error) {
	t := try{shape: s, text: doSlow, n: many, body: kilobyte}
	if p.kitexServes() {
		t.sent = func(_ int64, last bool) {
			if last {
				pr.let()
			}
		}
	}
	got, err := t.run(ctx, p, pr)
	handler := pr.handled(ctx)
	if p.kitexServes() {
		if err != nil || got != many || handler != nil {
			return "", fmt.Errorf("%d of %d: %v; the handler: %v", got, many, err, handler)
		}
		return "Kitex's server holds it all", nil
	}
	if err := p.want(err, application, "wait to be received"); err != nil {
		return "", err
	}
	if s == talk { // it could not send, and did not look what else has come
		if !errors.Is(handler, errStopped) {
			return "", fmt.Errorf("the handler ends with %v", handler)
		}
		return "Limosa ends the stream", nil
	}
	if handler == nil || !strings.Contains(handler.Error(), "wait to be received") {
		return "", fmt.Errorf("the handler ends with %v", handler)
	}
	return exhausted(pr.got.Load())
}

// streamMany has streams of all shapes open at the same time.
func streamMany(ctx context.Context, p *pair, pr *probe) (string, error) {
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		t := try{shape: []shape{produce, collect, talk}[i%3], text: doAll, n: 200, body: kilobyte}
		wg.Go(func() {
			if got, err := t.run(ctx, p, pr); err != nil || got != t.n {
				errs[i] = cmp.Or(err, fmt.Errorf("%s: %d of %d", t.shape, got, t.n))
			}
		})
	}
	wg.Wait()
	return "", errors.Join(errs...)
}

// streamsAndCalls makes calls while streams are open, with one client of
// Limosa's. Kitex's server takes no call on a connection that carries a stream.
func streamsAndCalls(ctx context.Context, p *pair, pr *probe) (string, error) {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		t := try{shape: talk, text: doWait, n: 10}
		wg.Go(func() {
			got, err := t.run(ctx, p, pr)
			if err != nil || got != t.n {
				errs[i] = fmt.Errorf("%d of %d: %v", got, t.n, err)
			}
		})
	}
	for range errs {
		select {
		case <-pr.entered:
		case <-ctx.Done():
			return "", errors.New("not all streams are open")
		}
	}
	_, err := callMany(ctx, p, pr) // which lets the streams go on
	wg.Wait()
	return "", errors.Join(append(errs, err)...)
}
