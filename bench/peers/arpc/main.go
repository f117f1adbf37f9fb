// Command arpc is the peer arpc of the RPC benchmark, with a codec by hand: the
// least that a message costs there, since its own is JSON. The command bench
// builds and starts it.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"

	"github.com/lesismal/arpc"
	"github.com/lesismal/arpc/log"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

func main() {
	log.Output = os.Stderr // the standard output is the row's
	os.Exit(trial.Program(&trial.Peer{Name: "arpc", Serve: serve, Dial: dial}))
}

// A message is an id, integers, and text that takes the rest of the bytes.
type message struct {
	id   int64
	text string
	list []int64
}

const head = 8 + 1 + 8*trial.ListLen

var errMessage = errors.New("not a message")

// A byHand implements arpc's codec.Codec for messages.
type byHand struct{}

func (byHand) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok || len(m.list) != trial.ListLen {
		return nil, errMessage
	}
	b := make([]byte, 0, head+len(m.text))
	b = binary.BigEndian.AppendUint64(b, uint64(m.id))
	b = append(b, byte(len(m.list)))
	for _, n := range m.list {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, m.text...), nil
}

func (byHand) Unmarshal(b []byte, v any) error {
	m, ok := v.(*message)
	if !ok || len(b) < head || b[8] != trial.ListLen {
		return errMessage
	}
	m.id = int64(binary.BigEndian.Uint64(b))
	m.list = make([]int64, trial.ListLen)
	for i := range m.list {
		m.list[i] = int64(binary.BigEndian.Uint64(b[9+8*i:]))
	}
	m.text = string(b[head:])
	return nil
}

func serve(_ context.Context, work func()) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := arpc.NewServer()
	s.Codec = byHand{}
	s.Handler.Handle("echo", func(c *arpc.Context) {
		m := new(message)
		if err := c.Bind(m); err != nil {
			c.Error(err)
			return
		}
		work()
		c.Write(m)
	})
	go s.Serve(l)
	return l.Addr().String(), nil
}

func dial(_ context.Context, addr string, conns int, _ func()) (*trial.Target, error) {
	connect := func() (net.Conn, error) { return net.DialTimeout("tcp", addr, time.Second) }
	pool, err := arpc.NewClientPool(connect, max(conns, 1))
	if err != nil {
		return nil, err
	}
	for i := range pool.Size() {
		pool.Get(i).Codec = byHand{}
	}
	return &trial.Target{Close: pool.Stop, Caller: func(_ context.Context, worker int, text string) (trial.Call, error) {
		client := pool.Get(worker % pool.Size())
		req := &message{text: text, list: make([]int64, trial.ListLen)}
		return func(ctx context.Context, id int64) error {
			req.id = id
			trial.Fill(req.list, id)
			m := new(message)
			if err := client.CallContext(ctx, "echo", req, m); err != nil {
				return err
			}
			return trial.Verify(id, text, m.id, m.text, m.list)
		}, nil
	}}, nil
}
