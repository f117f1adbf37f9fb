package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/interop/kitex/limosa_gen/peer"
)

// An Item is the one message. Kitex's generated type has the same fields, so
// that one converts into the other.
type Item = peer.Item

// Keys of metadata, and the values that rows send under them.
const (
	keyTransient  = "TENANT"
	keyPersistent = "TRACE"
	keyBack       = "BACK"
	keyHead       = "HEAD" // Kitex's servers: in a stream's HEADER instead of its TRAILER
)

// What handlers are asked for in Item.Text.
const (
	doAll      = "all"      // everything in order
	doFail     = "fail"     // errBoom; streams after three messages
	doBusiness = "business" // errBusiness; streams after three messages
	doPanic    = "panic"
	doWait     = "wait"   // until the context ends or the row releases; streams after three messages
	doMeta     = "meta"   // say what metadata came, and send some back
	doSlow     = "slow"   // streams: no message is taken after the first until the row releases
	doSteady   = "steady" // streams: some messages take a while
	doStay     = "stay"   // streams: when all is done wait until the context ends or the row releases
)

// rest is what steady receivers do now and then, so that they need longer than
// who sends.
func rest(n int64) {
	if n%10 == 0 {
		time.Sleep(100 * time.Microsecond)
	}
}

// before is how many messages a stream exchanges before what its row is about.
const before = 3

// Errors of handlers; each side makes its own of them.
var (
	errBoom     = errors.New("boom")
	errBusiness = errors.New("business error")
)

const (
	businessStatus  = 4001
	businessMessage = "the shop is closed"
	businessKey     = "until"
	businessValue   = "monday"
	deniedCode      = 7
	deniedReason    = "not you"
)

// about is what a handler sees and says besides messages.
type about struct {
	transient, persistent string
	reply                 func(value string)
}

// A backend serves both sides' calls and streams.
type backend struct {
	mu    sync.Mutex
	rows  map[int64]*probe // guarded by mu
	count int64            // guarded by mu
}

// A probe is what a row sees of its handlers.
type probe struct {
	id      int64
	entered chan struct{} // one for each handler that waits
	release chan struct{} // closed: nobody waits any more
	ended   chan bool     // one for each that waited: whether its context had a deadline, once it has ended
	notes   chan *Item    // oneway calls
	done    chan error    // how handlers of streams returned
	got     atomic.Int64  // messages that handlers of streams received
	once    sync.Once
}

func (b *backend) begin() *probe {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	p := &probe{
		id: b.count, entered: make(chan struct{}, 100), release: make(chan struct{}),
		ended: make(chan bool, 100), notes: make(chan *Item, 100), done: make(chan error, 100),
	}
	if b.rows == nil {
		b.rows = map[int64]*probe{}
	}
	b.rows[p.id] = p
	return p
}

func (p *probe) let() { p.once.Do(func() { close(p.release) }) }

func (b *backend) of(it *Item) (*probe, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.rows[it.Row]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("item of no row: %v", it)
}

// wait holds a handler until the row lets go or its context ends.
func (p *probe) wait(ctx context.Context) error {
	p.entered <- struct{}{}
	select {
	case <-p.release:
		return nil
	case <-ctx.Done():
		_, timed := ctx.Deadline()
		p.ended <- timed
		return ctx.Err()
	}
}

// act does what the handlers of all shapes have in common.
func (p *probe) act(ctx context.Context, a about, text string) error {
	switch text {
	case doFail:
		return errBoom
	case doBusiness:
		return errBusiness
	case doPanic:
		panic("the handler falls over")
	case doWait:
		return p.wait(ctx)
	case doMeta:
		a.reply(a.transient + " and " + a.persistent)
	}
	return nil
}

func (b *backend) echo(ctx context.Context, a about, it *Item) (*Item, error) {
	p, err := b.of(it)
	if err == nil {
		err = p.act(ctx, a, it.Text)
	}
	if it.Text == doWait {
		<-p.release // no answer before the caller's own deadline
	}
	if err != nil {
		return nil, err
	}
	return &Item{Text: it.Text, N: it.N + 1, Body: it.Body, Row: it.Row}, nil
}

func (b *backend) note(it *Item) {
	if p, err := b.of(it); err == nil {
		p.notes <- it
	}
}

// produce sends it.N messages with the body of the request.
func (b *backend) produce(ctx context.Context, a about, it *Item, send func(*Item) error) (err error) {
	p, err := b.of(it)
	if err != nil {
		return err
	}
	defer func() { p.done <- err }()
	for n := range it.N {
		if n == before {
			if err := p.act(ctx, a, it.Text); err != nil {
				return err
			}
		}
		if err := send(&Item{N: n, Body: it.Body, Row: it.Row}); err != nil {
			return err
		}
	}
	if it.Text == doStay {
		return p.wait(ctx)
	}
	return nil
}

// collect answers with how many messages came, if they came in order.
func (b *backend) collect(ctx context.Context, a about, recv func() (*Item, error)) (res *Item, err error) {
	n, err := b.receive(ctx, a, recv, func(*Item) error { return nil })
	if err != nil {
		return nil, err
	}
	return &Item{N: n}, nil
}

// talk sends every message back.
func (b *backend) talk(ctx context.Context, a about, recv func() (*Item, error), send func(*Item) error) error {
	_, err := b.receive(ctx, a, recv, send)
	return err
}

func (b *backend) receive(ctx context.Context, a about, recv func() (*Item, error), each func(*Item) error) (n int64, err error) {
	var p *probe
	var text string
	defer func() {
		if p != nil {
			p.done <- err
		}
	}()
	for ; ; n++ {
		it, err := recv()
		if err == io.EOF {
			if text == doStay {
				return n, p.wait(ctx)
			}
			return n, nil
		} else if err != nil {
			return n, err
		}
		if p == nil {
			if p, err = b.of(it); err != nil {
				return n, err
			}
		}
		text = it.Text
		p.got.Add(1)
		if it.N != n {
			return n, fmt.Errorf("message %d came as number %d", it.N, n)
		}
		if err := each(it); err != nil {
			return n, err
		}
		if it.Text == doSlow && n == 0 {
			select {
			case <-p.release:
			case <-ctx.Done():
			}
		}
		if it.Text == doSteady {
			rest(n)
		}
		if n == before-1 {
			if err := p.act(ctx, a, it.Text); err != nil {
				return n, err
			}
		}
	}
}
