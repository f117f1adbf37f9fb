package netio_test

import (
	"errors"
	"net"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// A lastWords is a net.Conn whose only Read gives data and an error.
type lastWords struct {
	net.Conn
	err error
}

func (c lastWords) Read(p []byte) (int, error) { return copy(p, "last words"), c.err }

// An error that comes together with data breaks the connection as one that comes
// alone does, after the data.
func TestPlainErrorWithData(t *testing.T) {
	x, y := net.Pipe()
	defer y.Close()
	broken := errors.New("broken")
	c := netio.Wrap(lastWords{x, broken}, nil)
	defer c.Abort()
	got := ""
	step := func(in *buf.In) (bool, error) { got += string(in.Next(in.Len())); return false, nil }
	if why, err := c.Receive(false, step); why != netio.Enough || err != nil || got != "last words" {
		t.Errorf("Receive: %v, %v, %q", why, err, got)
	}
	if why, err := c.Receive(false, step); why != netio.Lost || !errors.Is(err, broken) {
		t.Errorf("the next Receive: %v, %v", why, err)
	}
	if err := c.Output().Err(); !errors.Is(err, broken) {
		t.Errorf("the output works on: %v", err)
	}
}
