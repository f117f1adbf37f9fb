package limosa_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Options go into the call that they are for, whatever memory its header has.
func TestOptionsKeepOutOfOtherCalls(t *testing.T) {
	shared := make(rpc.Metadata, 0, 8)
	shared.Add("a", "b")
	x := stub.NewCall[string, string](echoMethod, "Test")
	x.Header = shared
	if err := limosa.Local(service(nil)).Do(limosa.With(t.Context(), limosa.Header("secret", "mine")), &x.Call); err != nil {
		t.Fatal(err)
	}
	if p := shared[:2][1]; p.Key != "" {
		t.Errorf("the memory of others has %v", p)
	}
}

// A stream may be open for longer than a call may take.
func TestTimeoutIsNotForStreams(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{streams(nil)}}, "127.0.0.1:0")
	slow := func(yield func(*string, error) bool) {
		for i := range 5 {
			// Real time: sockets of the kernel.
			time.Sleep(20 * time.Millisecond)
			if !yield(new(fmt.Sprint("w", i)), nil) {
				return
			}
		}
	}
	for _, tt := range []struct {
		c    *limosa.Client
		want rpc.Code
	}{
		{&limosa.Client{Timeout: 20 * time.Millisecond}, rpc.OK},
		{&limosa.Client{StreamTimeout: 30 * time.Millisecond}, rpc.DeadlineExceeded},
	} {
		c := tt.c
		c.Target = target
		n := 0
		var last error
		for _, err := range talk(t.Context(), c, slow) {
			if last = err; err == nil {
				n++
			}
		}
		if rpc.CodeOf(last) != tt.want || tt.want == rpc.OK && n != 5 {
			t.Errorf("Timeout %v, StreamTimeout %v: %d answers, then %v", c.Timeout, c.StreamTimeout, n, last)
		}
		c.Close()
	}
}

func TestUnknownFormHasAName(t *testing.T) {
	if s := limosa.Form(99).String(); s != "Form(99)" {
		t.Error(s)
	}
}

// Metadata that the form has no place for is told once a client, and nothing else is.
func TestLostMetadataIsTold(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	for form, lost := range map[limosa.Form]bool{
		limosa.TTHeader: false, limosa.THeader: false, limosa.THeaderCompact: false,
		limosa.Framed: true, limosa.Buffered: true, limosa.FramedCompact: true, limosa.BufferedCompact: true, // whose calls fail here: the codec of the tests has no Compact
	} {
		var log syncBuffer
		compact := form >= limosa.FramedCompact
		c := &limosa.Client{Target: target, Thrift: form, Logger: textLog(&log)}
		if _, err := call(t.Context(), c, echoMethod, "x"); (err != nil) != compact || log.take() != "" {
			t.Errorf("%v: without metadata: %v", form, err)
		}
		ctx := limosa.With(t.Context(), limosa.Header("tenant", "t1"), limosa.Persistent("trace", "7"))
		for range 3 {
			if _, err := call(ctx, c, echoMethod, "x"); (err != nil) != compact {
				t.Errorf("%v: %v", form, err)
			}
		}
		got := log.take()
		if n := strings.Count(got, "metadata is lost"); lost != (n == 1) || n > 1 || lost && !strings.Contains(got, "form="+form.String()+" key=tenant method=Test/echo") {
			t.Errorf("%v: logged %q", form, got)
		}
		c.Close()
	}
}
