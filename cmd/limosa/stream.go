package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// A streamCall is one call of a method with streams. Messages are read, sent,
// received and printed one at a time.
//
// Two goroutines have it: that of the call receives and prints, another one reads and
// sends. Nothing is kept of a message that was passed on, so that a stream may be
// endless.
type streamCall struct {
	// Set when made, then constant.
	app     *app
	target  *target
	options callOptions
	first   *dynamic.Args // of a method that takes one message: that one
	in      *messages     // of one that takes a stream: where they come from

	// Owned by the goroutine that receives.
	got    int
	result json.RawMessage // the one answer of a method that only takes a stream
	line   []byte

	// Atomic: the goroutine that sends may outlive the call.
	sent atomic.Int64
}

// callStream makes a call with streams. arg is the request as it was given;
// given is false without any.
//
// What cannot be sent cancels the call, and is the error that is told: the server's
// answer to the cancellation says less.
func (a *app) callStream(ctx context.Context, t *target, arg string, given bool, o callOptions) error {
	x := &streamCall{app: a, target: t, options: o}
	if t.method.ClientStream {
		from, err := a.source(arg, given)
		if err != nil {
			return err
		}
		x.in = newMessages(from, maxBody)
	} else {
		body, err := a.body(arg)
		if err != nil {
			return err
		}
		if x.first, _, err = t.arguments(body); err != nil {
			return err
		}
	}
	c := stub.Make(t.rpc, t.rpc.Service, nil, nil)
	c.Header = t.header.Clone()
	// A context within that of the command, to tell what this side has cancelled for from an
	// interrupt and from the end of -timeout.
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	err := stub.Converse(within, t.client, c, func(_ context.Context, s rpc.Stream) error { return x.drive(s, cancel) })
	took := time.Since(start)
	if x.in != nil && !rpc.EngineOf(c).Driven() {
		x.in.close() // nobody else does
	}
	// Of the call's own error, before another one stands in its place.
	sent := rpc.SentOf(err)
	if own := context.Cause(within); own != nil && ctx.Err() == nil && rpc.CodeOf(err) == rpc.Canceled {
		err = own // what this side has cancelled the call for
	}
	return x.tell(c, took, err, sent)
}

// drive sends and receives. fail cancels the call.
func (x *streamCall) drive(s rpc.Stream, fail context.CancelCauseFunc) error {
	if x.in == nil {
		if err := s.Send(x.first); err != nil && err != io.EOF {
			return err
		}
		if err := s.CloseSend(); err != nil {
			return err
		}
	} else {
		// It is not waited for: nothing ends a read of stdin but its end. With
		// the next message it finds that the call is over.
		go func() {
			if err := x.send(s); err != nil {
				fail(err)
			}
		}()
	}
	for {
		var r dynamic.Result
		switch err := s.Receive(&r); {
		case err == io.EOF && !x.target.method.ServerStream && x.result == nil:
			return rpc.Errorf(rpc.Internal, "answered without a message")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := x.received(r.JSON); err != nil {
			return err
		}
		// A limit of zero is never met: got is one by now.
		if x.got == x.options.limit {
			return rpc.ErrStopped
		}
	}
}

// send sends what is read until it ends, or until the call is over. A message
// that does not fit is told with its number and its place in the whole text: a
// file of a million lines has to be mended there.
func (x *streamCall) send(s rpc.Stream) error {
	defer x.in.close()
	for {
		text, at, err := x.in.next()
		if err == io.EOF {
			return s.CloseSend()
		}
		if err == nil {
			err = s.Send(&dynamic.Args{JSON: text})
		}
		if err == io.EOF {
			return nil // the server has ended the call
		}
		if bad, ok := errors.AsType[*dynamic.Error](err); ok {
			return usagef("message %d does not fit %s/%s: %s (at byte %d)", x.in.n, x.target.service.Name, x.target.method.Name,
				strings.TrimPrefix(bad.Error(), "dynamic: "), at+int64(bad.Offset)+1)
		}
		if err != nil {
			return err
		}
		x.sent.Add(1)
	}
}

// received prints a message of a server's stream, and keeps an only answer.
//
// A write that fails, such as into a pipe whose reader has gone, ends the call.
func (x *streamCall) received(text []byte) error {
	x.got++
	if !x.target.method.ServerStream {
		if x.got > 1 {
			return rpc.Errorf(rpc.Internal, "answered with several messages")
		}
		x.result = text
		return nil
	}
	x.line = x.line[:0]
	if x.options.asJSON {
		x.line = append(append(append(x.line, `{"message":`...), text...), '}')
	} else {
		x.line = append(x.line, text...)
	}
	x.line = append(x.line, '\n')
	_, err := x.app.stdout.Write(x.line)
	return err
}

// tell says how the call went. What was printed before stays good, so with
// -o json the last line differs from the others by having no "message".
//
// A message counts as sent once the connection has taken it: what became of it only the
// server's answer says.
func (x *streamCall) tell(c *rpc.Call, took time.Duration, err error, sent rpc.Sent) error {
	var counts []string
	report := callReport{}
	if x.in != nil {
		report.MessagesSent = new(int(x.sent.Load()))
		counts = append(counts, fmt.Sprintf("%d sent", *report.MessagesSent))
	}
	if x.target.method.ServerStream {
		report.Messages = &x.got
		counts = append(counts, fmt.Sprintf("%d received", x.got))
	}
	x.app.finished(x.target, c, took, x.options.verbose, "; messages: "+strings.Join(counts, ", "), &report)
	if !x.options.asJSON {
		if err != nil || x.result == nil {
			return err
		}
		return writeJSON(x.app.stdout, x.result)
	}
	code := codeError(exitFailed)
	if err == nil {
		report.Result = x.result
	} else {
		report.Error = &callError{Code: rpc.CodeOf(err).String(), Message: oneLine(err.Error()), Sent: sent.String()}
	}
	if _, ok := errors.AsType[usageError](err); ok {
		report.Error.Code = rpc.InvalidArgument.String()
		code = exitUsage
	}
	if printed := x.app.printLine(report); printed != nil {
		return printed
	}
	if err != nil {
		return code
	}
	return nil
}

// source opens what the messages of a client's stream are read from.
//
// A file is closed by who has read it (messages.close).
func (a *app) source(arg string, given bool) (io.Reader, error) {
	if name, ok := strings.CutPrefix(arg, "@"); ok {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileError(err)
		}
		return f, nil
	}
	if !given || arg == "-" {
		return a.stdin, nil
	}
	return strings.NewReader(arg), nil
}

// messages cuts a text into its JSON values, with or without white space in
// between. It holds one value, and at most as much again that was read ahead.
//
// It is the reader of its own decoder, which is how a value's length is bounded: that of
// encoding/json has no limit.
type messages struct {
	from io.Reader
	dec  *json.Decoder // reads through Read
	n    int           // values so far
	read int64         // bytes of from
	most int           // bytes of one value, with the white space before it
	left int           // of them, what the value at hand may still take
}

// newMessages reads messages from one text of JSON behind the other, each of most bytes at the most.
func newMessages(from io.Reader, most int) *messages {
	m := &messages{from: from, most: most}
	m.dec = json.NewDecoder(m)
	return m
}

// errLong never leaves messages: next makes an error of it that names the message.
var errLong = errors.New("too long")

// Read reads the text, as long as the value at hand does not become too long.
func (m *messages) Read(p []byte) (int, error) {
	// The decoder asks for more only if the value has not ended in what it has read.
	if m.left <= 0 {
		return 0, errLong
	}
	n, err := m.from.Read(p)
	m.left -= n
	m.read += int64(n)
	return n, err
}

// next gives the next value, in memory of its own, and the place where it
// begins. io.EOF: there is none.
func (m *messages) next() (text json.RawMessage, at int64, err error) {
	// What was read ahead of this value is not counted again: it is at most a buffer's length.
	m.left = m.most
	switch err = m.dec.Decode(&text); {
	case err == nil:
		m.n++
		return text, m.dec.InputOffset() - int64(len(text)), nil
	case err == io.EOF:
		return nil, 0, err
	case err == errLong:
		return nil, 0, usagef("message %d is longer than %d bytes", m.n+1, m.most)
	case err == io.ErrUnexpectedEOF:
		return nil, 0, usagef("message %d is no JSON: the text ends within it, at byte %d", m.n+1, m.read)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, 0, usagef("message %d is no JSON: %w at byte %d", m.n+1, err, bad.Offset)
	}
	return nil, 0, fmt.Errorf("reading the messages to send: %w", err)
}

// close closes a file; stdin is not ours.
func (m *messages) close() {
	if f, ok := m.from.(*os.File); ok && f != os.Stdin {
		_ = f.Close() // it was only read
	}
}
