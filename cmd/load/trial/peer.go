package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Peer is one RPC stack, or one way to use it.
type Peer struct {
	Name string

	// Serve starts a server on a free address; it runs in the server process.
	// work is what the handler does for each call. nil: the client serves
	// itself, in process.
	Serve func(ctx context.Context, work func()) (addr string, err error)
	// Dial prepares calls to addr over conns connections (0: the peer's own
	// default); it runs in the client process.
	Dial func(ctx context.Context, addr string, conns int, work func()) (*Target, error)
}

// A Target is a server as one client process sees it.
type Target struct {
	// Caller gives one caller's call. Each caller owns its request message
	// and sends it again and again with another id, so that allocations per
	// call are the stack's own.
	Caller func(ctx context.Context, worker int, text string) (Call, error)
	Close  func()
}

// A Call makes one call and verifies the answer.
type Call func(ctx context.Context, id int64) error

// Null is a peer that answers without any stack: what it costs is the load
// generator's own.
func Null() *Peer {
	return &Peer{Name: "null", Dial: func(context.Context, string, int, func()) (*Target, error) {
		return &Target{Close: func() {}, Caller: func(_ context.Context, _ int, text string) (Call, error) {
			list, answer := make([]int64, ListLen), strings.Clone(text)
			return func(_ context.Context, id int64) error {
				Fill(list, id)
				return Verify(id, text, id, answer, list)
			}, nil
		}}, nil
	}}
}

// ListLen is the number of integers in a message.
const ListLen = 5

// Fill writes the integers that belong to a message with this id.
func Fill(list []int64, id int64) {
	for i := range list {
		list[i] = id + int64(i)*1_000_003
	}
}

// Verify says what is wrong with an answer; the server must have sent all of it back.
func Verify(wantID int64, wantText string, id int64, text string, list []int64) error {
	if id != wantID || text != wantText || len(list) != ListLen {
		return fmt.Errorf("wrong answer: id %d, want %d; %d bytes of text, want %d; %d integers", id, wantID, len(text), len(wantText), len(list))
	}
	for i, n := range list {
		if want := wantID + int64(i)*1_000_003; n != want {
			return fmt.Errorf("wrong answer: list[%d] is %d, want %d", i, n, want)
		}
	}
	return nil
}

// RandomText gives n letters, the same for the same seed.
func RandomText(n int, seed int64) string {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
	}
	return string(b)
}
