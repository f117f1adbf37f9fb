package web_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/web"
)

// What heads say is remembered for a few of them. However many are in turn, each call has
// its own.
func TestHeadsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		heads := make([]*http2.Head, 20)
		for i := range heads {
			heads[i] = head("/test.Words/Say", fmt.Sprintf("key=%d", i), "long="+strings.Repeat("x", 100*i))
		}
		for round := range uint64(4) {
			for i, h := range heads {
				e.send(http2.Send{Flags: whole, ID: 100*round + uint64(i) + 1, Head: h}, message("hi"))
				want := fmt.Sprintf("key=%d long=%s end", i, strings.Repeat("x", 100*i))
				if got := e.hears(); !strings.HasSuffix(got, want) {
					t.Fatalf("round %d, head %d: %.200s", round, i, got)
				}
			}
		}
		if held := r.sess.Held(); held > 64<<10 {
			t.Errorf("%d bytes are held", held)
		}
	})
}

// Metadata that is given to one call is not seen by the next with the same head.
func TestHeadsAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rpc.Limits{}, pipe.Config{})
		for i := range 5 {
			md := rpc.Metadata{{Key: "a", Value: fmt.Sprint(i)}, {Key: "b-bin", Value: "\x00\xff"}}[:1+i%2]
			_, trailer, err := say(t.Context(), r.client, "hi", md...)
			if err != nil || len(trailer) != len(md) || trailer[0].Value != md[0].Value {
				t.Errorf("call %d: %v, %v", i, trailer, err)
			}
		}
		if n := web.Remembered(r.sess); n != 0 {
			t.Errorf("%d streams are remembered", n)
		}
	})
}
