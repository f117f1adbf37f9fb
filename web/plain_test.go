package web_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
)

const ok200 = "HTTP/1.1 200 OK;content-length:          "

// Requests are answered in the order in which they came, whichever handler is done first,
// and the connection stays.
func TestPipelinedAnswersAreOrdered(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		synctest.Test(t, func(t *testing.T) {
			r := newPlainRigOver(t, rpc.Limits{}, where)
			r.say(post1("Held", "a") + post1("Say", "b") + post1("Say", "fail") + post1("Gone", "") + post1("Say", "c"))
			if got := r.hears(); got != "" {
				t.Fatalf("before the first is done: %s", got)
			}
			close(r.free)
			want := ok200 + "1;;a" + ok200 + "1;;b" +
				`HTTP/1.1 404 Not Found;content-length:        154;;{"code":"not_found","message":"no such word: 100%","details":[{"type":"limosa.detail/word","value":"ZmFpbA"},{"type":"a.Type","value":"AA"}]}` +
				`HTTP/1.1 404 Not Found;content-length:         57;;{"code":"unimplemented","message":"no such method here"}` + ok200 + "1;;c"
			got := r.hears()
			if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(lengths(want), " ", "") {
				t.Errorf("%s\nwant %s", got, lengths(want))
			}
			r.say(post1("Say", "again"))
			if got := r.hears(); got != ok200+"5;;again" {
				t.Errorf("the connection stays: %s", got)
			}
		})
	}
}

// lengths puts the right length before each JSON text.
func lengths(s string) string {
	parts := strings.Split(s, "HTTP/1.1 ")
	for i, p := range parts {
		head, body, ok := strings.Cut(p, ";;")
		if at := strings.Index(head, "content-length:"); ok && at >= 0 && strings.HasPrefix(body, "{") {
			parts[i] = head[:at] + fmt.Sprintf("content-length: %d;;", len(body)) + body
		}
	}
	return strings.Join(parts, "HTTP/1.1 ")
}

// The last answer of a connection says so, and then it ends, also if the peer does not.
func TestConnectionEndsBehindItsLastAnswer(t *testing.T) {
	for _, tt := range []struct{ name, say, want string }{
		{"asked for", post1("Say", "x", "connection: close") + post1("Say", "y"), "HTTP/1.1 200 OK;connection: close;content-length:          1;;x|over"},
		{"HTTP/1.0", "POST /test.Words/Say HTTP/1.0\ncontent-type: application/proto\ncontent-length: 1\n\nx", "HTTP/1.1 200 OK;connection: close;content-length:          1;;x|over"},
		{"no HTTP", "POST\x00 / HTTP/1.1\n\n", "HTTP/1.1 400 Bad Request"},
		{"behind an answer", post1("Say", "x") + "GARBAGE\n\n", ok200 + "1;;xHTTP/1.1 "},
		{"smuggled", "POST /test.Words/Say HTTP/1.1\nhost: x\ncontent-length: 1\ncontent-length: 2\n\nab", "HTTP/1.1 400 Bad Request"},
		{"large head", post1("Say", "", "x: "+strings.Repeat("y", 30<<10)), "HTTP/1.1 431 "},
		{"large target", "GET /test.Words/Look?encoding=proto&message=" + strings.Repeat("y", 30<<10) + " HTTP/1.1\nhost: x\n\n", "HTTP/1.1 414 "},
		{"large body", "POST /test.Words/Say HTTP/1.1\nhost: x\ncontent-type: application/proto\ncontent-length: 99999999\n\nab", "HTTP/1.1 429 Too Many Requests;connection: close;"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newPlainRig(t, rpc.Limits{})
			r.say(tt.say)
			got := r.hears()
			if !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, "|over") {
				t.Errorf("%s: %s", tt.name, got)
			}
			// Real time: none, the clock is the bubble's.
			time.Sleep(2 * time.Second)
			synctest.Wait()
			select {
			case <-r.done:
				r.done <- nil
			default:
				t.Errorf("%s: the server's side has not ended", tt.name)
			}
		})
	}
}

// A fault does not overtake answers that are owed.
func TestFaultWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		r.say(post1("Held", "a") + "nonsense\n\n")
		if got := r.hears(); got != "" {
			t.Fatalf("early: %s", got)
		}
		close(r.free)
		if got := r.hears(); !strings.HasPrefix(got, ok200+"1;;aHTTP/1.1 400 Bad Request;") || !strings.HasSuffix(got, "|over") {
			t.Errorf("%s", got)
		}
	})
}

// Metadata goes both ways, bytes in base64; what is HTTP's own does not.
func TestMetadataByHTTP1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		r.say(post1("Say", "x", "lead-in: 1", "word: a", "word: b", "bytes-bin: "+base64.RawStdEncoding.EncodeToString([]byte("\x00\n")), "user-agent: test", "te: trailers", "accept: */*", "connect-protocol-version: 1"))
		want := "HTTP/1.1 200 OK;lead-in: 1;trailer-word: a;trailer-word: b;trailer-bytes-bin: AAo;content-length:          1;;x"
		if got := r.hears(); got != want {
			t.Errorf("%s", got)
		}
		r.say(post1("Say", "fail", "word: a"))
		if got := r.hears(); !strings.HasPrefix(got, "HTTP/1.1 404 Not Found;trailer-word: a;content-length:") {
			t.Errorf("%s", got)
		}
		for line, status := range map[string]string{"bytes-bin: !": "400 Bad Request", "connect-protocol-version: 2": "400 Bad Request", "connect-timeout-ms: -1": "400 Bad Request", "content-encoding: br": "501 Not Implemented"} {
			r.say(post1("Say", "x", line))
			if got := r.hears(); !strings.HasPrefix(got, "HTTP/1.1 "+status) {
				t.Errorf("%s: %s", line, got)
			}
		}
	})
}

// A deadline holds for the handler.
func TestTimeoutByHTTP1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		start := time.Now()
		r.say(post1("Say", "wait", "connect-timeout-ms: 250"))
		if got := r.hears(); got != "" {
			t.Fatalf("%s", got)
		}
		// Real time: none, the clock is the bubble's.
		time.Sleep(251 * time.Millisecond)
		if got := r.hears(); !strings.HasPrefix(got, "HTTP/1.1 504 Gateway Timeout;") || time.Since(start) > 300*time.Millisecond {
			t.Errorf("%s after %v", got, time.Since(start))
		}
	})
}

// A method that only reads is asked by GET, others are not.
func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		for _, tt := range []struct{ target, want string }{
			{"Look?connect=v1&encoding=proto&message=hi%20there", ok200 + "8;;hi there"},
			{"Look?encoding=proto&base64=1&message=aGk", ok200 + "2;;hi"},
			{"Look?encoding=proto&base64=1&message=aGk%3D&message=b", ok200 + "2;;hi"},
			{"Look?encoding=proto&message=", ok200 + "0;;"},
			{"Look?encoding=proto", "HTTP/1.1 400 Bad Request;"},
			{"Look", "HTTP/1.1 400 Bad Request;"},
			{"Look?connect=v2&encoding=proto&message=x", "HTTP/1.1 400 Bad Request;"},
			{"Look?encoding=proto&base64=1&message=!", "HTTP/1.1 400 Bad Request;"},
			{"Look?encoding=xml&message=x", "HTTP/1.1 415 Unsupported Media Type;"},
			{"Look?encoding=json&message=x", "HTTP/1.1 415 Unsupported Media Type;"},
			{"Look?encoding=proto&message=x&compression=br", "HTTP/1.1 501 Not Implemented;"},
			{"Look?encoding=proto&message=x&compression=gzip", "HTTP/1.1 400 Bad Request;"},
			{"Say?encoding=proto&message=x", "HTTP/1.1 405 Method Not Allowed;allow: POST;"},
			{"Nothing?encoding=proto&message=x", "HTTP/1.1 404 Not Found;"},
			{"Fire", "HTTP/1.1 501 Not Implemented;"},
		} {
			r.say("GET /test.Words/" + tt.target + " HTTP/1.1\nhost: words\n\n")
			if got := r.hears(); !strings.HasPrefix(got, strings.TrimSpace(tt.want)) {
				t.Errorf("%s: %s", tt.target, got)
			}
		}
		r.say("PUT /test.Words/Look HTTP/1.1\nhost: words\ncontent-length: 0\n\n")
		if got := r.hears(); !strings.HasPrefix(got, "HTTP/1.1 405 Method Not Allowed;allow: GET, POST;") {
			t.Errorf("PUT: %s", got)
		}
		r.say("HEAD /test.Words/Look HTTP/1.1\nhost: words\n\n")
		if got := r.hears(); !strings.HasPrefix(got, "HTTP/1.1 405 Method Not Allowed;") || strings.Contains(got, "{") {
			t.Errorf("HEAD: %s", got)
		}
	})
}

// A peer that waits to be invited is.
func TestContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		whole := post1("Say", "hello", "expect: 100-continue")
		r.say(strings.TrimSuffix(whole, "hello"))
		if got := r.hears(); got != "HTTP/1.1 100 Continue;;" {
			t.Fatalf("%s", got)
		}
		r.say("hello")
		if got := r.hears(); got != ok200+"5;;hello" {
			t.Errorf("%s", got)
		}
	})
}

// Bodies in chunks are gathered, and pieces of any size are the same to the server.
func TestPiecesOfARequest(t *testing.T) {
	chunked := strings.Replace(post1("Say", "hello"), "content-length: 5\n\nhello", "transfer-encoding: chunked\n\n2\nhe\n3\nllo\n0\n\n", 1)
	for _, text := range []string{post1("Say", "hello"), chunked} {
		for size := 1; size < len(text); size += 7 {
			synctest.Test(t, func(t *testing.T) {
				r := newPlainRig(t, rpc.Limits{})
				for rest := text; rest != ""; {
					n := min(size, len(rest))
					r.say(rest[:n])
					synctest.Wait()
					rest = rest[n:]
				}
				if got := r.hears(); got != ok200+"5;;hello" {
					t.Errorf("pieces of %d bytes: %s", size, got)
				}
			})
		}
	}
}

// A drain answers what runs, says that it is the last, and ends the connection.
func TestDrainOfHTTP1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		r.say(post1("Held", "a"))
		synctest.Wait()
		drained := make(chan struct{})
		go func() { r.server.Drain(context.Background()); close(drained) }()
		synctest.Wait()
		close(r.free)
		if got := r.hears(); got != "HTTP/1.1 200 OK;connection: close;content-length:          1;;a|over" {
			t.Errorf("%s", got)
		}
		<-drained
	})
	synctest.Test(t, func(t *testing.T) {
		r := newPlainRig(t, rpc.Limits{})
		r.say(post1("Say", "a"))
		r.hears()
		start := time.Now()
		r.server.Drain(context.Background())
		if got := r.hears(); got != "|over" || time.Since(start) > 3*time.Second {
			t.Errorf("an idle connection: %s after %v", got, time.Since(start))
		}
	})
}

// A peer that ends the connection has given up what it asked for: its handler is told.
func TestPeerGivesUp(t *testing.T) {
	for _, ending := range []func(*plainRig){func(r *plainRig) { r.peer.CloseWrite() }, func(r *plainRig) { r.peer.Abort() }} {
		synctest.Test(t, func(t *testing.T) {
			r := newPlainRig(t, rpc.Limits{})
			r.say(post1("Held", "a"))
			synctest.Wait()
			if n := r.runs.Load(); n != 1 {
				t.Fatalf("%d run", n)
			}
			ending(r)
			synctest.Wait()
			if n := r.runs.Load(); n != 0 {
				t.Errorf("%d run still", n)
			}
		})
	}
}
