package stub_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// TestArgsAndResult: a call and its messages are one thing, and a message of another type
// than the caller's is a fault of the program, told without a panic where a peer's
// bytes could have led to it.
func TestArgsAndResult(t *testing.T) {
	x := stub.NewCall[string, int](streamed, "S")
	x.Args = "a"
	if a, err := stub.Args[string](&x.Call); err != nil || a != &x.Args {
		t.Errorf("arguments: %v, %v", a, err)
	}
	a, err := stub.Args[int](&x.Call)
	if a != nil || rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "S/m holds *string") {
		t.Errorf("as another type: %v, %v", a, err)
	}
	if *stub.Result[int](&x.Call) = 7; x.Result != 7 {
		t.Errorf("the result is %d", x.Result)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a result of another type is given out")
			}
		}()
		stub.Result[string](&x.Call)
	}()
	if x.Method != streamed || x.Service != "S" {
		t.Errorf("a call of %v at %q", x.Method, x.Service)
	}
}

// TestMake: messages that were made elsewhere are those of the call.
func TestMake(t *testing.T) {
	args, result := new("args"), new(5)
	c := stub.Make(streamed, "Other", args, result)
	if a, err := stub.Args[string](c); err != nil || a != args || stub.Result[int](c) != result || c.Service != "Other" {
		t.Errorf("%v, %v, %+v", a, err, c)
	}
}

// TestNewGivesFreshMessages: two calls of a server share nothing.
func TestNewGivesFreshMessages(t *testing.T) {
	one, two := stub.New[string, string](), stub.New[string, string]()
	*stub.Result[string](one) = "one"
	if got := *stub.Result[string](two); got != "" || one == two {
		t.Errorf("the second call has the result %q", got)
	}
}

// TestMissing: what cannot be decoded comes before what is not there, and both are the
// caller's fault only if they are.
func TestMissing(t *testing.T) {
	c := streamed.New()
	c.Method = streamed
	bad := errors.New("offset 3: truncated")
	if err := stub.Missing(c, bad, "req"); err != bad {
		t.Errorf("of a message that is wrong: %v", err)
	}
	err := stub.Missing(c, nil, "req")
	if rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), "the argument req of S/m is missing") {
		t.Errorf("of one that lacks an argument: %v", err)
	}
}

// TestFailed gives its error once, and to each loop.
func TestFailed(t *testing.T) {
	bad := errors.New("bad")
	seq := stub.Failed[string](bad)
	for range 2 {
		n := 0
		for m, err := range seq {
			if n++; m != nil || err != bad {
				t.Errorf("%v, %v", m, err)
			}
		}
		if n != 1 {
			t.Errorf("it came %d times", n)
		}
	}
}
