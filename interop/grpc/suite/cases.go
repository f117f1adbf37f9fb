package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

const (
	largeRequest  = 271828
	largeResponse = 314159
	specialText   = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP \U0001f608\t\n"
)

// The sizes of messages of the streams, as gRPC's document on interoperability has them.
var (
	requestSizes  = []int32{27182, 8, 1828, 45904}
	responseSizes = []int32{31415, 9, 2653, 58979}
)

// A client makes the calls of the cases.
type client struct {
	to     rpc.Caller
	redial func() *endpoint.Endpoint
}

// cases are the client's, in the order of gRPC's own script.
var cases = []struct {
	name string
	run  func(context.Context, *client) error
}{
	{"empty_unary", func(ctx context.Context, c *client) error {
		return c.to.Do(ctx, stub.Make(emptyCall, emptyCall.Service, &empty{}, &empty{}))
	}},
	{"large_unary", func(ctx context.Context, c *client) error { return large(ctx, c.to) }},
	{"client_streaming", clientStreaming},
	{"server_streaming", serverStreaming},
	{"ping_pong", pingPong},
	{"empty_stream", func(ctx context.Context, c *client) error {
		return c.exchange(ctx, func(_ context.Context, s rpc.Stream) error {
			if err := s.CloseSend(); err != nil {
				return err
			}
			return ended(s)
		})
	}},
	{"timeout_on_sleeping_server", func(ctx context.Context, c *client) error {
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		return fails(rpc.DeadlineExceeded, "", c.exchange(ctx, func(_ context.Context, s rpc.Stream) error {
			if err := s.Send(&outputRequest{Payload: body(27182)}); err != nil {
				return err
			}
			return s.Receive(new(outputResponse))
		}))
	}},
	{"cancel_after_begin", func(ctx context.Context, c *client) error {
		ctx, cancel := context.WithCancel(ctx)
		_, err := stub.Gather[inputRequest, inputResponse](ctx, c.to, stub.Make(input, input.Service, nil, nil), func(yield func(*inputRequest, error) bool) { cancel() })
		return fails(rpc.Canceled, "", err)
	}},
	{"cancel_after_first_response", func(ctx context.Context, c *client) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return fails(rpc.Canceled, "", c.exchange(ctx, func(_ context.Context, s rpc.Stream) error {
			if err := turn(s, 31415, 27182); err != nil {
				return errors.New("before the cancel: " + err.Error())
			}
			cancel()
			return s.Receive(new(outputResponse))
		}))
	}},
	{"status_code_and_message", func(ctx context.Context, c *client) error {
		const text = "test status message"
		err := fails(rpc.Unknown, text, c.unary(ctx, &simpleRequest{Status: &echoStatus{2, text}}, nil))
		return errors.Join(err, fails(rpc.Unknown, text, c.exchange(ctx, func(_ context.Context, s rpc.Stream) error {
			if err := s.Send(&outputRequest{Status: &echoStatus{2, text}}); err != nil {
				return err
			}
			return s.Receive(new(outputResponse))
		})))
	}},
	{"special_status_message", func(ctx context.Context, c *client) error {
		return fails(rpc.Unknown, specialText, c.unary(ctx, &simpleRequest{Status: &echoStatus{2, specialText}}, nil))
	}},
	{"custom_metadata", customMetadata},
	{"unimplemented_method", func(ctx context.Context, c *client) error {
		return fails(rpc.Unimplemented, "", c.to.Do(ctx, stub.Make(missing, missing.Service, &empty{}, &empty{})))
	}},
	{"unimplemented_service", func(ctx context.Context, c *client) error {
		return fails(rpc.Unimplemented, "", c.to.Do(ctx, stub.Make(foreign, foreign.Service, &empty{}, &empty{})))
	}},
	{"rpc_soak", func(ctx context.Context, c *client) error {
		for i := range 100 {
			if err := large(ctx, c.to); err != nil {
				return fmt.Errorf("call %d: %w", i, err)
			}
		}
		return nil
	}},
	{"channel_soak", func(ctx context.Context, c *client) error {
		for i := range 100 {
			to := c.redial()
			err := large(ctx, to)
			if to.Close(); err != nil {
				return fmt.Errorf("connection %d: %w", i, err)
			}
		}
		return nil
	}},
}

// unary calls UnaryCall; res may be nil.
func (c *client) unary(ctx context.Context, req *simpleRequest, res *simpleResponse) error {
	if res == nil {
		res = new(simpleResponse)
	}
	if err := c.to.Do(ctx, stub.Make(unaryCall, unaryCall.Service, req, res)); err != nil {
		return err
	}
	return sized(res.Payload, req.Size)
}

// exchange calls FullDuplexCall.
func (c *client) exchange(ctx context.Context, f func(context.Context, rpc.Stream) error) error {
	return stub.Converse(ctx, c.to, stub.Make(duplex, duplex.Service, nil, nil), f)
}

func large(ctx context.Context, to rpc.Caller) error {
	return (&client{to: to}).unary(ctx, &simpleRequest{Size: largeResponse, Payload: body(largeRequest)}, nil)
}

// ended says what is wrong with a stream that was to be over.
func ended(s rpc.Stream) error {
	switch err := s.Receive(new(outputResponse)); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("one more message")
}

func clientStreaming(ctx context.Context, c *client) error {
	var in iter.Seq2[*inputRequest, error] = func(yield func(*inputRequest, error) bool) {
		for _, n := range requestSizes {
			if !yield(&inputRequest{Payload: body(n)}, nil) {
				return
			}
		}
	}
	res, err := stub.Gather[inputRequest, inputResponse](ctx, c.to, stub.Make(input, input.Service, nil, nil), in)
	if err == nil && res.Size != 74922 {
		err = fmt.Errorf("the server has got %d bytes, of 74922", res.Size)
	}
	return err
}

func serverStreaming(ctx context.Context, c *client) error {
	req := &outputRequest{}
	for _, n := range responseSizes {
		req.Parameters = append(req.Parameters, &parameters{Size: n})
	}
	i := 0
	for res, err := range stub.Incoming[outputResponse](ctx, c.to, stub.Make(output, output.Service, req, nil)) {
		if err != nil {
			return err
		}
		if i == len(responseSizes) {
			return errors.New("more messages than were asked for")
		}
		if err := sized(res.Payload, responseSizes[i]); err != nil {
			return err
		}
		i++
	}
	if i != len(responseSizes) {
		return fmt.Errorf("%d messages", i)
	}
	return nil
}

func pingPong(ctx context.Context, c *client) error {
	return c.exchange(ctx, func(_ context.Context, s rpc.Stream) error {
		for i, n := range responseSizes {
			if err := turn(s, n, requestSizes[i]); err != nil {
				return err
			}
		}
		if err := s.CloseSend(); err != nil {
			return err
		}
		return ended(s)
	})
}

// turn sends a message and receives the one that it asks for.
func turn(s rpc.Stream, response, request int32) error {
	if err := s.Send(&outputRequest{Parameters: []*parameters{{Size: response}}, Payload: body(request)}); err != nil {
		return err
	}
	res := new(outputResponse)
	if err := s.Receive(res); err != nil {
		return err
	}
	return sized(res.Payload, response)
}

func customMetadata(ctx context.Context, c *client) error {
	const initial, trailing = "test_initial_metadata_value", "\xab\xab\xab"
	header := rpc.Metadata{{Key: initialKey, Value: initial}, {Key: trailingKey, Value: trailing}}
	check := func(call *rpc.Call) error {
		if got := call.Trailer.Get(initialKey); got != initial {
			return fmt.Errorf("%s came back as %q", initialKey, got)
		}
		if got := call.Trailer.Get(trailingKey); got != trailing {
			return fmt.Errorf("%s came back as %q", trailingKey, got)
		}
		return nil
	}
	res := new(simpleResponse)
	call := stub.Make(unaryCall, unaryCall.Service, &simpleRequest{Size: 1, Payload: body(1)}, res)
	call.Header = header.Clone()
	if err := c.to.Do(ctx, call); err != nil {
		return err
	}
	if err := errors.Join(check(call), sized(res.Payload, 1)); err != nil {
		return err
	}
	call = stub.Make(duplex, duplex.Service, nil, nil)
	call.Header = header
	err := stub.Converse(ctx, c.to, call, func(_ context.Context, s rpc.Stream) error {
		if err := turn(s, 1, 1); err != nil {
			return err
		}
		if err := s.CloseSend(); err != nil {
			return err
		}
		return ended(s)
	})
	return errors.Join(err, check(call))
}

// sized says what is wrong with a payload that was to have n bytes.
func sized(p *payload, n int32) error {
	switch {
	case p == nil && n == 0:
		return nil
	case p == nil:
		return errors.New("an answer without a payload")
	case len(p.Body) != int(n):
		return fmt.Errorf("an answer of %d bytes, of %d", len(p.Body), n)
	}
	return nil
}

// fails says what is wrong with a call that was to end with code, and with text if that
// is not empty.
func fails(code rpc.Code, text string, err error) error {
	if err == nil {
		return fmt.Errorf("it has succeeded, and was to fail with %v", code)
	}
	if rpc.CodeOf(err) != code {
		return fmt.Errorf("%w: want %v", err, code)
	}
	if e, _ := errors.AsType[*rpc.Error](err); text != "" && (e == nil || e.Msg != text) {
		return fmt.Errorf("%w: want the text %q", err, text)
	}
	return nil
}
