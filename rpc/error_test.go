package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
)

// TestErrorText: what, which call, with whom, the stage, why.
func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  rpc.Error
		want string
	}{
		{rpc.Error{Code: rpc.NotFound}, "NotFound"},
		{rpc.Error{Code: rpc.NotFound, Err: rpc.NotFound}, "NotFound"},
		{rpc.Error{Code: rpc.NotFound, Msg: "user 7"}, "NotFound: user 7"},
		{rpc.Error{Code: rpc.NotFound, Method: "S/m", Msg: "user 7"}, "NotFound: S/m: user 7"},
		{rpc.Error{Code: rpc.Unavailable, Peer: "10.0.0.7:1", Op: "dial", Err: errors.New("refused")}, "Unavailable: 10.0.0.7:1: dial: refused"},
		{rpc.Error{Code: rpc.DeadlineExceeded, Method: "S/m", Peer: "10.0.0.7:1", Op: "call", Err: context.DeadlineExceeded}, "DeadlineExceeded: S/m at 10.0.0.7:1: context deadline exceeded"},
		{rpc.Error{Code: rpc.Internal, Op: "encode", Msg: "disk is full", Err: errors.New("disk is full")}, "Internal: encode: disk is full"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestWhoAnErrorIsFor: whether an error is public does not hang on its stage.
func TestWhoAnErrorIsFor(t *testing.T) {
	for _, tt := range []struct {
		err    error
		public bool
	}{
		{&rpc.Error{Code: rpc.NotFound, Op: "lookup", Msg: "user 7"}, true},
		{&rpc.Error{Code: rpc.NotFound, Msg: "user 7", Details: rpc.Metadata{{Key: "a", Value: "b"}}}, true},
		{&rpc.Error{Code: rpc.Internal}, true},
		{&rpc.Error{Code: rpc.ResourceExhausted, Msg: "too many", Sent: rpc.Refused}, true},
		{&rpc.Error{Code: rpc.NotFound, Msg: "user 7", Remote: true}, false},
		{&rpc.Error{Code: rpc.Unavailable, Op: "dial", Peer: "10.0.0.7:1", Msg: "refused"}, false},
		{&rpc.Error{Code: rpc.InvalidArgument, Op: "target", Sent: rpc.NotSent, Msg: "no address"}, false},
		{&rpc.Error{Code: rpc.Internal, Op: "encode", Err: errors.New("main.T is no message")}, false},
	} {
		if _, ok := rpc.Public(fmt.Errorf("here: %w", tt.err)); ok != tt.public {
			t.Errorf("Public(%#v): %v", tt.err, ok)
		}
	}
}

// notThere is an exception that the method declares.
type notThere struct{ Key string }

func (e *notThere) Error() string { return "not there: " + e.Key }

type answer struct {
	Success *string
	Missing *notThere
}

func TestDeclared(t *testing.T) {
	m := &rpc.Method{Service: "S", Name: "m", Except: func(result any, err error) bool {
		r := result.(*answer)
		return errors.As(err, &r.Missing) && r.Missing != nil
	}}
	var c rpc.Call
	c.Method = m
	var res answer
	rpc.EngineOf(&c).SetMessages(new(string), &res)
	if !c.Declared(fmt.Errorf("at last: %w", &notThere{"a"})) || c.Declared(rpc.NotFound) || c.Declared(nil) {
		t.Error("a declared exception is not told from a failure")
	}
	if res.Missing != nil {
		t.Error("the question has changed the result")
	}
	c.Method = &rpc.Method{}
	if c.Declared(&notThere{}) {
		t.Error("a method that declares nothing has an exception")
	}
}
