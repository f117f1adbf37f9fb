package main

import (
	"context"
	"fmt"
	"slices"
)

// A peer is one RPC stack, or one way to use it.
type peer struct {
	name  string
	later string // why it cannot be measured yet; empty if it can

	// serve starts a server on a free address; it runs in the server process.
	// work is what the handler does for each call. nil: the client serves
	// itself, in process.
	serve func(ctx context.Context, work func()) (addr string, err error)
	// dial prepares calls to addr over conns connections (0: the peer's own
	// default); it runs in the client process.
	dial func(ctx context.Context, addr string, conns int, work func()) (*target, error)
}

// A target is a server as one client process sees it.
type target struct {
	// caller gives one caller's call. Each caller owns its request message
	// and sends it again and again with another id, so that allocations per
	// call are the stack's own.
	caller func(ctx context.Context, worker int, text string) (call, error)
	close  func()
}

// A call makes one call and verifies the answer.
type call func(ctx context.Context, id int64) error

// listLen is the number of integers in a message.
const listLen = 5

func fill(list []int64, id int64) {
	for i := range list {
		list[i] = id + int64(i)*1_000_003
	}
}

// verify says what is wrong with an answer; the server must have sent all of it back.
func verify(wantID int64, wantText string, id int64, text string, list []int64) error {
	if id != wantID || text != wantText || len(list) != listLen {
		return fmt.Errorf("wrong answer: id %d, want %d; %d bytes of text, want %d; %d integers", id, wantID, len(text), len(wantText), len(list))
	}
	for i, n := range list {
		if want := wantID + int64(i)*1_000_003; n != want {
			return fmt.Errorf("wrong answer: list[%d] is %d, want %d", i, n, want)
		}
	}
	return nil
}

// peers lists what can be asked for, Limosa first.
func peers() []*peer {
	return slices.Concat(limosaPeers(), []*peer{
		{name: "grpc-go", serve: serveGRPC, dial: dialGRPC},
		{name: "grpc-go-stream", serve: serveGRPC, dial: dialGRPCStream},
		{name: "connect", serve: serveConnect, dial: dialConnect},
		{name: "drpc", serve: serveDRPC, dial: dialDRPC},
		{name: "apache-thrift", serve: serveApache, dial: dialApache},
	})
}

func peerNames() (names []string) {
	for _, p := range peers() {
		names = append(names, p.name)
	}
	return names
}

func findPeer(name string) *peer {
	for _, p := range peers() {
		if p.name == name {
			return p
		}
	}
	return nil
}
