package limosa_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

// node is a message that can nest as deeply as somebody likes.
type node struct {
	Name string   `thrift:"name,1"`
	Next *node    `thrift:"next,2"`
	List []*node  `thrift:"list,3"`
	Nums []int64  `thrift:"nums,4"`
	Tags []string `thrift:"tags,5"`
}

type nodeArgs struct {
	N *node `thrift:"n,1"`
}

type nodeResult struct {
	Success *node `thrift:"success,0,optional"`
}

var nodeMethod = &rpc.Method{Service: "Nodes", Name: "same", Codec: thrift.Binary{}, New: stub.New[nodeArgs, nodeResult]}

func nodes() rpc.Service {
	return rpc.Service{Name: "Nodes", Methods: []rpc.Handler{{Method: nodeMethod, Serve: func(_ context.Context, c *rpc.Call) error {
		args, err := stub.Args[nodeArgs](c)
		if err != nil {
			return err
		}
		stub.Result[nodeResult](c).Success = args.N
		return nil
	}}}}
}

// rawCall sends one framed call with a body that somebody made up, and returns
// the type and the text of what is answered; io.EOF if nothing is.
func rawCall(t *testing.T, nc net.Conn, body []byte) (raw.MessageType, string, error) {
	t.Helper()
	msg := append(raw.AppendMessageBegin(nil, "same", raw.Call, 7), body...)
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := nc.Write(frame); err != nil {
		return 0, "", err
	}
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return 0, "", err
	}
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(nc, answer); err != nil {
		return 0, "", err
	}
	_, typ, seq, _, err := raw.ParseMessageBegin(answer, false)
	if err == nil && seq != 7 {
		t.Errorf("the answer has id %d", seq)
	}
	return typ, string(answer), err
}

// TestBadInputCostsItsCallOnly sends bodies that make no sense, each to a
// server that goes on with the same connection.
func TestBadInputCostsItsCallOnly(t *testing.T) {
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{nodes()}}, "127.0.0.1:0")
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	arg := func(b ...byte) []byte { return append([]byte{12, 0, 1}, b...) }
	huge := binary.BigEndian.AppendUint32(arg(15, 0, 4, 10), 1<<31-1)
	million := binary.BigEndian.AppendUint32(arg(15, 0, 3, 12), 1_000_000)
	for name, tt := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":                 {nil, "decode request"},
		"truncated struct":        {arg(11, 0, 1, 0, 0, 0, 9, 'x'), "offset"},
		"unknown field type":      {arg(0x55, 0, 1), "offset"},
		"string beyond the frame": {arg(11, 0, 1, 0x7f, 0xff, 0xff, 0xff), "offset"},
		"negative length":         {arg(11, 0, 1, 0xff, 0xff, 0xff, 0xff), "offset"},
		"2 G numbers declared":    {huge, "offset"},
		"a million structs":       {append(million, make([]byte, 1_000_000)...), "offset"},
		"10,000 levels":           {bytes.Repeat([]byte{12, 0, 2}, 10_000), "offset"},
		"unknown, 10,000 levels":  {bytes.Repeat([]byte{12, 0, 9}, 10_000), "offset"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			typ, text, err := rawCall(t, nc, tt.body)
			runtime.ReadMemStats(&after)
			if err != nil || typ != raw.Exception || !strings.Contains(text, tt.want) {
				t.Errorf("%v, %.200q, %v", typ, text, err)
			}
			lim := rpc.Limits{}.WithDefaults()
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(lim.DecodeBudget(len(tt.body))+4<<20) {
				t.Errorf("%d bytes were allocated for a body of %d", took, len(tt.body))
			}
		})
	}
	// What is of a wrong type, or unknown, is skipped: not an error in Thrift.
	if typ, text, err := rawCall(t, nc, arg(8, 0, 1, 0, 0, 0, 1, 11, 0, 77, 0, 0, 0, 1, 'x', 0, 0)); err != nil || typ != raw.Reply {
		t.Errorf("wrong-typed field: %v, %q, %v", typ, text, err)
	}
	nc.Close()
	stop()
	waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n), n <= 0 })
}

// TestOversizedFrame: the caller is told, the connection lives on.
func TestOversizedFrame(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{nodes()}, Limits: rpc.Limits{MessageBytes: 64 << 10}}, "127.0.0.1:0")
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if typ, text, err := rawCall(t, nc, make([]byte, 1<<20)); err != nil || typ != raw.Exception || !strings.Contains(text, "Limits.MessageBytes") {
		t.Errorf("1 MB: %v, %.100q, %v", typ, text, err)
	}
	if typ, _, err := rawCall(t, nc, []byte{0}); err != nil || typ != raw.Reply {
		t.Errorf("afterwards: %v, %v", typ, err)
	}
	c := &limosa.Client{Target: target}
	defer c.Close()
	x := stub.NewCall[nodeArgs, nodeResult](nodeMethod, "Nodes")
	x.Args.N = &node{Name: strings.Repeat("x", 100<<10)}
	if err := c.Do(t.Context(), &x.Call); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
		t.Errorf("a large call: %v, %v", err, rpc.SentOf(err))
	}
}

// TestServerAnswersAreCheckedToo: a client takes from a server no more than
// its own limits allow.
func TestServerAnswersAreCheckedToo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	deep := append(bytes.Repeat([]byte{12, 0, 2}, 10_000), 0)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			var size [4]byte
			io.ReadFull(nc, size[:])
			io.ReadFull(nc, make([]byte, binary.BigEndian.Uint32(size[:])))
			msg := append(append(raw.AppendMessageBegin(nil, "same", raw.Reply, 0), 12, 0, 0), deep...)
			nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...))
			nc.Close()
		}
	}()
	c := &limosa.Client{Target: l.Addr().String(), Thrift: limosa.Framed}
	defer c.Close()
	x := stub.NewCall[nodeArgs, nodeResult](nodeMethod, "Nodes")
	err = c.Do(t.Context(), &x.Call)
	if rpc.CodeOf(err) != rpc.DataLoss && rpc.CodeOf(err) != rpc.InvalidArgument || rpc.SentOf(err) != rpc.Processed {
		t.Errorf("an answer of 10,000 levels with a foreign id: %v", err)
	}
}

// TestClientThatVanishes: connections that break in the middle of a frame
// leave nothing behind.
func TestClientThatVanishes(t *testing.T) {
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{nodes()}}, "127.0.0.1:0")
	whole := append(raw.AppendMessageBegin(nil, "same", raw.Call, 7), 12, 0, 1, 11, 0, 1, 0, 0, 0, 1, 'x', 0, 0)
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(whole))), whole...)
	for cut := range len(frame) {
		nc, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write(frame[:cut])
		if cut%2 == 0 {
			nc.(*net.TCPConn).SetLinger(0)
		}
		nc.Close()
	}
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if typ, _, err := rawCall(t, nc, []byte{0}); err != nil || typ != raw.Reply {
		t.Errorf("afterwards: %v, %v", typ, err)
	}
	nc.Close()
	stop()
	waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n), n <= 0 })
	if _, err := net.Dial("tcp", target); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the listener is open still: %v", err)
	}
}
