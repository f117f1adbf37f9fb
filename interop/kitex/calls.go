package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// soon is the timeout of calls that are to run into it.
const soon = 300 * time.Millisecond

// want is an error unless err is of the kind, and says what.
func (p *pair) want(err error, kind, says string) error {
	if got := p.c.kind(err); got != kind {
		return fmt.Errorf("comes to %q, want %q: %v", got, kind, err)
	}
	if err != nil && !strings.Contains(err.Error(), says) {
		return fmt.Errorf("does not say %q: %w", says, err)
	}
	return nil
}

// fine makes sure that the connection, or a new one, carries the next call.
func (p *pair) fine(ctx context.Context, pr *probe) error {
	res, err := p.c.echo(ctx, &Item{Text: "again", N: 41, Row: pr.id})
	if err != nil {
		return fmt.Errorf("the next call: %w", err)
	}
	if res.Text != "again" || res.N != 42 {
		return fmt.Errorf("the next call: %v", res)
	}
	return nil
}

// theBusiness is the kind of a business error that arrives whole.
var theBusiness = fmt.Sprintf("business %d %s {%q:%q}", businessStatus, businessMessage, businessKey, businessValue)

// callRows are the rows of calls of one message.
func callRows(p *pair) []row {
	rows := []row{
		{"calls, empty to 1 MB", callSizes},
		{"64 at once, one of them slow", callMany},
		{"void", callVoid},
		{"oneway", callOneway},
		{"declared exception", callDeclared},
		{"handler's error", callFails},
		{"handler panics", callPanics},
		{"business error", callBusiness},
		{"unknown method", callMissing},
		{"timeout", callTimeout},
	}
	if p.meta {
		rows = append(rows, row{"metadata both ways", callMeta})
	}
	return rows
}

func callSizes(ctx context.Context, p *pair, pr *probe) (string, error) {
	for _, size := range []int{0, 1, 100, 4 << 10, 64 << 10, 1 << 20} {
		body := bytes.Repeat([]byte{byte(size), 0xd9}, size)[:size]
		res, err := p.c.echo(ctx, &Item{Text: "x", N: int64(size), Body: body, Row: pr.id})
		if err != nil {
			return "", err
		}
		if res.Text != "x" || res.N != int64(size)+1 || res.Row != pr.id || !bytes.Equal(res.Body, body) {
			return "", fmt.Errorf("with %d bytes came %q, %d, %d bytes", size, res.Text, res.N, len(res.Body))
		}
	}
	return "", nil
}

func callMany(ctx context.Context, p *pair, pr *probe) (string, error) {
	slow := make(chan error, 1)
	go func() {
		_, err := p.c.echo(ctx, &Item{Text: doWait, Row: pr.id})
		slow <- err
	}()
	select { // the others come while it is being handled
	case <-pr.entered:
	case <-ctx.Done():
		return "", errors.New("the slow call is not handled")
	}
	var wg sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		wg.Go(func() {
			res, err := p.c.echo(ctx, &Item{N: int64(i), Row: pr.id})
			if err == nil && res.N != int64(i)+1 {
				err = fmt.Errorf("%d is answered with %d", i, res.N)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	select {
	case err := <-slow:
		return "", fmt.Errorf("the slow call ends too early: %v", err)
	default:
	}
	pr.let()
	return "", errors.Join(append(errs, <-slow)...)
}

func callVoid(ctx context.Context, p *pair, pr *probe) (string, error) {
	return "", p.c.nothing(ctx, &Item{Row: pr.id})
}

func callOneway(ctx context.Context, p *pair, pr *probe) (string, error) {
	for i := range 5 {
		if err := p.c.note(ctx, &Item{N: int64(i), Row: pr.id}); err != nil {
			return "", err
		}
		select {
		case it := <-pr.notes:
			if it.N != int64(i) {
				return "", fmt.Errorf("number %d arrives as %d", i, it.N)
			}
		case <-ctx.Done():
			return "", fmt.Errorf("number %d does not arrive", i)
		}
	}
	return "", p.fine(ctx, pr)
}

func callDeclared(ctx context.Context, p *pair, pr *probe) (string, error) {
	_, err := p.c.deny(ctx, &Item{Row: pr.id})
	return "", cmp.Or(p.want(err, fmt.Sprintf("denied %d %s", deniedCode, deniedReason), ""), p.fine(ctx, pr))
}

func callFails(ctx context.Context, p *pair, pr *probe) (string, error) {
	_, err := p.c.echo(ctx, &Item{Text: doFail, Row: pr.id})
	return "", cmp.Or(p.want(err, "Internal", errBoom.Error()), p.fine(ctx, pr))
}

func callPanics(ctx context.Context, p *pair, pr *probe) (string, error) {
	_, err := p.c.echo(ctx, &Item{Text: doPanic, Row: pr.id})
	return "", cmp.Or(p.want(err, "Internal", ""), p.fine(ctx, pr))
}

func callBusiness(ctx context.Context, p *pair, pr *probe) (string, error) {
	_, err := p.c.echo(ctx, &Item{Text: doBusiness, Row: pr.id})
	kind, says, note := theBusiness, "", ""
	switch {
	case p.handlers:
	case p.kitexServes():
		// Kitex's server keeps the status to itself and answers with nothing.
		kind, says, note = "Internal", "no result", "Kitex loses the status; an empty answer is no success"
	default:
		kind, says, note = "Unknown", businessMessage, "an exception with the text: the client has no handlers"
	}
	return note, cmp.Or(p.want(err, kind, says), p.fine(ctx, pr))
}

func callMissing(ctx context.Context, p *pair, pr *probe) (string, error) {
	_, err := p.c.missing(ctx, &Item{Row: pr.id})
	// Kitex's server closes the connection behind this answer.
	return "", cmp.Or(p.want(err, "Unimplemented", ""), p.fine(ctx, pr))
}

func callTimeout(ctx context.Context, p *pair, pr *probe) (note string, _ error) {
	x := &extras{timeout: soon}
	began := time.Now()
	_, err := p.c.echo(x.in(ctx), &Item{Text: doWait, Row: pr.id})
	if err := p.want(err, "DeadlineExceeded", ""); err != nil {
		return "", err
	}
	if took := time.Since(began); took < soon || took > soon+5*time.Second {
		return "", fmt.Errorf("ends after %v", took)
	}
	if p.handlers {
		select {
		case timed := <-pr.ended:
			if !timed {
				return "", errors.New("the handler was not told the timeout")
			}
			note = "the handler's context ends too"
		case <-ctx.Done():
			return "", errors.New("the handler does not end")
		}
	}
	return note, p.fine(ctx, pr)
}

func callMeta(ctx context.Context, p *pair, pr *probe) (string, error) {
	for i := range 2 {
		x := &extras{meta: true, transient: fmt.Sprint("one hop ", i), persistent: fmt.Sprint("all hops ", i)}
		if _, err := p.c.echo(x.in(ctx), &Item{Text: doMeta, Row: pr.id}); err != nil {
			return "", err
		}
		if want := x.transient + " and " + x.persistent; x.back != want {
			return "", fmt.Errorf("back came %q, want %q", x.back, want)
		}
	}
	return "", p.fine(ctx, pr)
}
