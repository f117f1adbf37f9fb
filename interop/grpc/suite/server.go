package main

import (
	"context"
	"iter"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// What a caller sends under these keys comes back: the first in the header, the second
// in the trailers.
const (
	initialKey  = "x-grpc-test-echo-initial"
	trailingKey = "x-grpc-test-echo-trailing-bin"
)

// service is grpc.testing.TestService.
func service() rpc.Service {
	return rpc.Service{Name: "grpc.testing.TestService", Methods: []rpc.Handler{
		{Method: emptyCall, Serve: func(_ context.Context, c *rpc.Call) error { return stub.Fill(c, &empty{}, nil) }},
		{Method: unaryCall, Serve: func(_ context.Context, c *rpc.Call) error {
			req, err := stub.Args[simpleRequest](c)
			if err != nil {
				return err
			}
			echoMetadata(c)
			if err := failure(req.Status); err != nil {
				return err
			}
			res, err := answer(req.Size)
			return stub.Fill(c, &simpleResponse{Payload: res}, err)
		}},
		{Method: output, Serve: func(ctx context.Context, c *rpc.Call) error {
			req, err := stub.First[outputRequest](c)
			if err != nil {
				return err
			}
			return stub.SendAll(c, answers(ctx, req))
		}},
		{Method: input, Serve: func(_ context.Context, c *rpc.Call) error {
			sum := 0
			for req, err := range stub.Arriving[inputRequest](c) {
				if err != nil {
					return err
				}
				if req.Payload != nil {
					sum += len(req.Payload.Body)
				}
			}
			return stub.SendLast(c, &inputResponse{Size: int32(sum)}, nil)
		}},
		{Method: duplex, Serve: func(ctx context.Context, c *rpc.Call) error {
			echoMetadata(c)
			return stub.SendAll(c, func(yield func(*outputResponse, error) bool) {
				for req, err := range stub.Arriving[outputRequest](c) {
					if err == nil {
						err = failure(req.Status)
					}
					if err != nil {
						yield(nil, err)
						return
					}
					for res, err := range answers(ctx, req) {
						if !yield(res, err) || err != nil {
							return
						}
					}
				}
			})
		}},
	}}
}

// echoMetadata gives back what a caller asks to have back.
func echoMetadata(c *rpc.Call) {
	if c.Header.Has(initialKey) {
		c.Trailer.AddLeading(initialKey, c.Header.Get(initialKey))
	}
	if c.Header.Has(trailingKey) {
		c.Trailer.Add(trailingKey, c.Header.Get(trailingKey))
	}
}

// failure is the status that a caller asks for.
func failure(s *echoStatus) error {
	if s == nil || s.Code == 0 {
		return nil
	}
	return rpc.Errorf(rpc.Code(s.Code), "%s", s.Message)
}

// answer is a payload of the size that a caller asks for.
func answer(size int32) (*payload, error) {
	if size < 0 {
		return nil, rpc.Errorf(rpc.InvalidArgument, "%d is no size of an answer", size)
	}
	return body(size), nil
}

// answers are the messages that a caller asks for.
func answers(ctx context.Context, req *outputRequest) iter.Seq2[*outputResponse, error] {
	return func(yield func(*outputResponse, error) bool) {
		for _, p := range req.Parameters {
			if p.Interval > 0 {
				select {
				case <-time.After(time.Duration(p.Interval) * time.Microsecond):
				case <-ctx.Done():
					yield(nil, ctx.Err())
					return
				}
			}
			res, err := answer(p.Size)
			if !yield(&outputResponse{Payload: res}, err) || err != nil {
				return
			}
		}
	}
}
