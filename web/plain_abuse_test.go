package web_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A request has a time to come whole, however its bytes are spread over it.
func TestSlowRequests(t *testing.T) {
	chunked := strings.Replace(post1("Say", "x"), "content-length: 1\n\nx", "transfer-encoding: chunked\n\n", 1)
	sized := strings.Replace(post1("Say", "x"), "content-length: 1\n\nx", "content-length: 1000\n\n", 1)
	for name, tt := range map[string]struct{ begin, drip string }{
		"head": {"POST /test.Words/Say HTTP/1.1\nx: ", "y"}, "sized": {sized, "y"}, "chunks": {chunked, "1\ny\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newPlainRig(t, rpc.Limits{FrameRest: 10 * time.Second})
			start := time.Now()
			r.say(tt.begin)
			for time.Since(start) < 30*time.Second {
				// Real time: none, the clock is the bubble's.
				time.Sleep(time.Second)
				if r.say(tt.drip); strings.Contains(r.hears(), "over") {
					break
				}
			}
			if took := time.Since(start); took > 12*time.Second {
				t.Errorf("%s: it was let go on for %v", name, took)
			}
		})
	}
}

// A peer that sends requests without end, and reads no answers, is not read for ever, and
// what it makes the server hold is bounded.
func TestPipelineWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{CallsPerConn: 16})
		text := strings.Repeat(post1("Held", strings.Repeat("x", 100)), 100)
		r.say(text)
		synctest.Wait()
		if n := r.sess.Held(); n > 64<<10 {
			t.Errorf("the session holds %d bytes", n)
		}
		close(r.free)
		got := r.hears()
		if n := r.most.Load(); n > 16 {
			t.Errorf("%d ran at once", n)
		}
		// How many were refused depends on how many were read while the first ones ran.
		if n := strings.Count(got, "HTTP/1.1 "); n < 100 && !strings.HasSuffix(got, "|over") {
			t.Errorf("%d answers: %.3000s", n, got)
		}
	})
}
