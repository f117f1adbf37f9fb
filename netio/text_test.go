package netio_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/stats"
)

// Logs and test failures print outcomes: each has a name of its own.
func TestOutcomesHaveNames(t *testing.T) {
	names := map[string]netio.Outcome{}
	for o := netio.Enough; o <= netio.Parked; o++ {
		s := o.String()
		if other, twice := names[s]; twice || s == "" || strings.ContainsAny(s, " (") {
			t.Errorf("%d is %q, as %d is", o, s, other)
		}
		names[s] = o
	}
	if s := netio.Outcome(99).String(); s != "Outcome(99)" {
		t.Errorf("an unknown one is %q", s)
	}
}

// An Error is seen through, is a net.Error where its cause is a timeout, and is one
// line with whatever is known of the place.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err     *netio.Error
		text    string
		timeout bool
	}{
		{&netio.Error{Op: "dial", Net: "tcp", Addr: "10.0.0.7:80", Err: syscall.ECONNREFUSED}, "dial tcp 10.0.0.7:80: connection refused", false},
		{&netio.Error{Op: "accept", Net: "unix", Err: net.ErrClosed}, "accept unix: use of closed network connection", false},
		{&netio.Error{Op: "receive", Net: "tcp", Addr: "x", Err: os.ErrDeadlineExceeded}, "receive tcp x: i/o timeout", true},
		{&netio.Error{Op: "send", Net: "tcp", Addr: "x", Err: syscall.ETIMEDOUT}, "send tcp x: connection timed out", true},
		{&netio.Error{Op: "send", Net: "tcp", Addr: "x", Err: netio.ErrStalled}, "send tcp x: the peer takes nothing", false},
	} {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
		if !errors.Is(tt.err, tt.err.Err) {
			t.Errorf("%v hides its cause", tt.err)
		}
		if got := tt.err.Timeout(); got != tt.timeout {
			t.Errorf("%v: timeout %v", tt.err, got)
		}
	}
}

// Gauges count what an output has queued, and nothing once the connection has ended,
// whoever has what was queued then.
func TestCountInto(t *testing.T) {
	for name, flushes := range map[string]bool{"queued": false, "on its way": true} {
		a, b := pipe.New(pipe.Config{})
		var one, all stats.Gauge
		o := a.Output()
		o.CountInto(&one, &all)
		a.Stall(true)
		o.Lock()
		o.Out().AppendString(strings.Repeat("x", 100<<10))
		if !o.Unlock() {
			t.Fatal("nobody is the flusher")
		}
		if one.Value() != 100<<10 || all.Value() != one.Value() {
			t.Errorf("%s: %d and %d bytes are counted", name, one.Value(), all.Value())
		}
		full := false
		if flushes {
			if full, _ = o.TryFlush(); !full {
				t.Fatal("a stalled pipe takes bytes")
			}
		}
		a.Abort()
		if full {
			o.Flush() //nolint:errcheck // it finds the end, and gives up what it has taken
		} else {
			o.GiveUp()
		}
		if one.Value() != 0 || all.Value() != 0 {
			t.Errorf("%s, after the end: %d and %d bytes are counted", name, one.Value(), all.Value())
		}
		b.Abort()
	}
}

// A Limit bounds; none does not.
func TestNoLimit(t *testing.T) {
	var none *netio.Limit
	if n := none.Open(); n != 0 {
		t.Errorf("%d are open", n)
	}
	if n := netio.NewLimit(-1).Open(); n != 0 {
		t.Errorf("%d are open", n)
	}
}

// As a net.Conn, every kind of connection ends one direction at a time, and io.Copy
// works on it: what net.TCPConn is used for.
func TestViewsEndOneDirection(t *testing.T) {
	kinds := map[string]func(t *testing.T) (a, b netio.Conn, stop func()){
		"tcp":  func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "tcp") },
		"unix": func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "unix") },
		"pipe": func(*testing.T) (a, b netio.Conn, stop func()) {
			x, y := pipe.New(pipe.Config{MaxSend: 1000})
			return x, y, func() {}
		},
	}
	type halves interface {
		net.Conn
		CloseWrite() error
	}
	for name, dial := range kinds {
		t.Run(name, func(t *testing.T) {
			x, y, stop := dial(t)
			defer stop()
			o := x.Output()
			o.Lock()
			o.Out().AppendString("queued before, ")
			if o.Unlock() {
				if err := o.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			a, ok := x.NetConn().(halves)
			b, ok2 := y.NetConn().(halves)
			if !ok || !ok2 {
				t.Fatalf("%T and %T do not end one direction", a, b)
			}
			defer a.Close()
			defer b.Close()
			if a.LocalAddr().Network() != b.RemoteAddr().Network() {
				t.Errorf("%v and %v", a.LocalAddr(), b.RemoteAddr())
			}
			text := strings.Repeat("all of it ", 10_000)
			sent := make(chan error, 1)
			go func() {
				_, err := io.Copy(a, strings.NewReader(text))
				sent <- errors.Join(err, a.CloseWrite())
			}()
			got, err := io.ReadAll(b)
			if err != nil || string(got) != "queued before, "+text {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(b, "the answer"); err != nil {
				t.Error(err)
			}
			b.Close()
			if got, err := io.ReadAll(a); err != nil || string(got) != "the answer" {
				t.Errorf("the other direction: %q, %v", got, err)
			}
		})
	}
}
