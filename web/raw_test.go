package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// An end is one of a connection that the test plays, frame by frame.
type end struct {
	t    *testing.T
	nc   *pipe.Conn
	h    *http2.Session
	said []string
}

func newEnd(t *testing.T, nc *pipe.Conn, side http2.Side) *end {
	return &end{t: t, nc: nc, h: http2.New(side, http2.Config{Gather: func(*http2.Fields) bool { return false }})}
}

// send sends a frame, or several of a message.
func (e *end) send(sd http2.Send, body string) {
	e.t.Helper()
	o := e.nc.Output()
	o.Lock()
	m := e.h.Begin(o.Out(), &sd)
	o.Out().AppendString(body)
	if err := e.h.End(o.Out(), m, &sd); err != nil {
		e.t.Error(err)
	}
	if o.Unlock() {
		o.Flush() //nolint:errcheck // what does not come is missed
	}
}

// hears says what has come since the last call, once nothing more does.
func (e *end) hears() string {
	synctest.Wait()
	e.said = nil
	owed := false
	for {
		wake := time.AfterFunc(0, e.nc.Kick)
		why, _ := e.nc.Receive(false, func(in *buf.In) (bool, error) {
			o := e.nc.Output()
			for {
				var ev http2.Event
				if need, err := e.h.Cut(in, &ev); need > 0 || err != nil {
					return true, nil
				}
				o.Lock()
				e.h.Apply(o.Out(), &ev)
				e.note(&ev)
				owed = o.Unlock() || owed
			}
		})
		wake.Stop()
		if why != netio.Enough {
			if owed {
				e.nc.Output().Flush() //nolint:errcheck // what does not come is missed
			}
			return strings.Join(e.said, " ")
		}
	}
}

// note writes an event down.
func (e *end) note(ev *http2.Event) {
	list := func(f *http2.Fields, rest []http2.Field) {
		for _, x := range append(append([]http2.Field(nil), f.List...), rest...) {
			if x.Name != "grpc-accept-encoding" && x.Name != "user-agent" {
				e.said = append(e.said, x.Name+"="+x.Value)
			}
		}
	}
	switch f := ev.Flags; {
	case f&http2.Reset != 0:
		e.said = append(e.said, "reset:"+ev.Code.String())
	case f&http2.GoAway != 0:
		e.said = append(e.said, "goaway:"+ev.Code.String())
	default:
		if f&http2.Answer != 0 {
			e.said = append(e.said, fmt.Sprint(ev.Fields.Status))
			list(ev.Fields, ev.Rest)
		}
		if f&http2.Open != 0 {
			e.said = append(e.said, ev.Fields.Method+" "+ev.Fields.Path)
			list(ev.Fields, ev.Rest)
		}
		if f&http2.Data != 0 {
			e.said = append(e.said, fmt.Sprintf("%q", ev.Body.Bytes()))
			ev.Body.Release()
		}
		if f&http2.End != 0 {
			if ev.Trailer != nil {
				list(ev.Trailer, ev.Tail)
			}
			e.said = append(e.said, "end")
		}
	}
}

// head is that of a request, with further fields as name=value.
func head(path string, more ...string) *http2.Head {
	fields := []http2.Field{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: "te", Value: "trailers"}}
	kind := "application/grpc"
	for _, m := range more {
		k, v, _ := strings.Cut(m, "=")
		switch k {
		case ":method":
			fields[0].Value = v
		case "content-type":
			kind = v
		default:
			fields = append(fields, http2.Field{Name: k, Value: v})
		}
	}
	return http2.NewHead(append(fields, http2.Field{Name: "content-type", Value: kind})...)
}

// message is one as it stands in a body.
func message(text string) string { return string(grpc.AppendHead(nil, false, len(text))) + text }

// packed is a message that is compressed.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) //nolint:errcheck // a Buffer takes everything
	z.Close()
	return string(grpc.AppendHead(nil, true, b.Len())) + b.String()
}

// connectKinds are the content types of Connect, and refused what is answered to others.
const (
	connectKinds = "application/json, application/proto, application/connect+json, application/connect+proto"
	refused      = `415 content-type=text/plain; charset=utf-8 accept-post=application/grpc, ` + connectKinds +
		` "Methods are called by gRPC, whose content type is application/grpc, and Connect: ` + connectKinds + `.\n" end`
)

const whole = http2.Open | http2.Data | http2.End

// What a server says to requests of every kind, right and wrong.
func TestServerAnswers(t *testing.T) {
	const ok = `200 content-type=application/grpc `
	for name, x := range map[string]struct {
		head *http2.Head
		body string
		want string
	}{
		"a call":             {head("/test.Words/Say"), message("hi"), ok + `"\x00\x00\x00\x00\x02hi" grpc-status=0 end`},
		"with its subtype":   {head("/test.Words/Say", "content-type=application/grpc+proto"), message("hi"), ok + `"\x00\x00\x00\x00\x02hi" grpc-status=0 end`},
		"nothing":            {head("/test.Words/Say"), message(""), ok + `"\x00\x00\x00\x00\x00" grpc-status=0 end`},
		"compressed":         {head("/test.Words/Say", "grpc-encoding=gzip"), packed("hi"), ok + `"\x00\x00\x00\x00\x02hi" grpc-status=0 end`},
		"no message":         {head("/test.Words/Say"), "", ok + "grpc-status=12 grpc-message=a call of one message came with another number of them end"},
		"two messages":       {head("/test.Words/Say"), message("a") + message("b"), ok + "grpc-status=12 grpc-message=a call of one message came with another number of them end"},
		"half a message":     {head("/test.Words/Say"), message("hi")[:6], ok + "grpc-status=13 grpc-message=the body ends in the middle of a message end"},
		"a wrong flag":       {head("/test.Words/Say"), "\x02\x00\x00\x00\x00", ok + "grpc-status=13 grpc-message=a message begins with the byte 2, which is neither 0 nor 1 end"},
		"damaged":            {head("/test.Words/Say", "grpc-encoding=gzip"), "\x01\x00\x00\x00\x02hi", ok + "grpc-status=13 grpc-message=the compressed message makes no sense: unexpected EOF end"},
		"packed by nobody":   {head("/test.Words/Say"), "\x01\x00\x00\x00\x02hi", ok + "grpc-status=13 grpc-message=a message is compressed, and the head does not say how end"},
		"another encoding":   {head("/test.Words/Say", "grpc-encoding=snappy"), message("hi"), ok + "grpc-status=12 grpc-message=messages are not compressed by snappy, but by gzip end"},
		"no such method":     {head("/test.Words/Nothing"), message("hi"), ok + "grpc-status=12 grpc-message=no method test.Words/Nothing here end"},
		"another service's":  {head("/test.Other/Say"), message("hi"), ok + "grpc-status=12 grpc-message=no method test.Other/Say here end"},
		"no path":            {head("/Say"), message("hi"), ok + `grpc-status=12 grpc-message="/Say" is no path of a method end`},
		"Thrift's":           {head("/test.Words/Wrapped"), message("hi"), ok + "grpc-status=12 grpc-message=test.Words/Wrapped is a method of Thrift, which gRPC does not carry end"},
		"a bad timeout":      {head("/test.Words/Say", "grpc-timeout=soon"), message("hi"), ok + "grpc-status=13 grpc-message=malformed grpc-timeout end"},
		"bad metadata":       {head("/test.Words/Say", "a-bin=!"), message("hi"), ok + "grpc-status=13 grpc-message=metadata that is not base64 end"},
		"JSON":               {head("/test.Words/Say", "content-type=application/json"), "{}", "415 content-type=application/json accept-post=" + connectKinds + ` "{\"code\":\"unimplemented\",\"message\":\"content type \\\"application/json\\\"; it is one of application/json, application/proto\"}" end`},
		"HTML":               {head("/test.Words/Say", "content-type=text/html"), "{}", refused},
		"GET":                {head("/test.Words/Say", ":method=GET"), "", `405 content-type=application/json allow=POST "{\"code\":\"unimplemented\",\"message\":\"the method takes no GET\"}" end`},
		"PUT":                {head("/test.Words/Say", ":method=PUT"), "", "405 content-type=text/plain; charset=utf-8 allow=POST \"Methods are called by POST.\\n\" end"},
		"a stream":           {head("/test.Words/Down"), message("a bc"), ok + `"\x00\x00\x00\x00\x01a" "\x00\x00\x00\x00\x02bc" grpc-status=0 end`},
		"a led stream":       {head("/test.Words/Down", "lead=1", "tail=2"), message("a bc"), ok + `lead=1 "\x00\x00\x00\x00\x01a" "\x00\x00\x00\x00\x02bc" grpc-status=0 tail=2 end`},
		"a led empty one":    {head("/test.Words/Down", "lead=1", "tail=2"), message(""), ok + "grpc-status=0 lead=1 tail=2 end"},
		"many in a frame":    {head("/test.Words/Up"), strings.Repeat(message("ab"), 2000), ok + `"\x00\x00\x00\x00\x192000 messages, 4000 bytes" grpc-status=0 end`},
		"a torn stream":      {head("/test.Words/Up"), message("ab") + "\x00\x00", ok + "grpc-status=13 grpc-message=the body ends in the middle of a message end"},
		"a packed stream":    {head("/test.Words/Up", "grpc-encoding=gzip"), packed("ab") + message("c"), ok + `"\x00\x00\x00\x00\x132 messages, 3 bytes" grpc-status=0 end`},
		"a packed bad one":   {head("/test.Words/Up"), packed("ab"), ok + "grpc-status=13 grpc-message=a message is compressed, and the head does not say how end"},
		"a stream, not here": {head("/test.Words/Nowhere"), "", ok + "grpc-status=12 grpc-message=no method test.Words/Nowhere here end"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newServerRig(t, rpc.Limits{})
			e := newEnd(t, r.peer, http2.Client)
			e.send(http2.Send{Flags: whole, ID: 7, Head: x.head}, x.body)
			if got := e.hears(); got != x.want {
				t.Errorf("%s: %s\nwant %s", name, got, x.want)
			}
			e.send(http2.Send{Flags: whole, ID: 9, Head: head("/test.Words/Say")}, message("still here"))
			if got := e.hears(); !strings.Contains(got, "still here") {
				t.Errorf("%s: afterwards %s", name, got)
			}
		})
	}
}

// A message that arrives byte by byte is one all the same.
func TestServerByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		body := message("ab") + message("") + message("cde")
		e.send(http2.Send{Flags: http2.Open, ID: 7, Head: head("/test.Words/Both")}, "")
		got := ""
		for i := range len(body) {
			e.send(http2.Send{Flags: http2.Data, ID: 7}, body[i:i+1])
			got += e.hears() + " "
		}
		e.send(http2.Send{Flags: http2.End, ID: 7}, "")
		got = strings.Join(strings.Fields(got+e.hears()), " ")
		want := `200 content-type=application/grpc "\x00\x00\x00\x00\x02ab" "\x00\x00\x00\x00\x00" "\x00\x00\x00\x00\x03cde" grpc-status=0 end`
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// A request that is none of gRPC is refused once it has come whole, or much of it has.
// Nothing is remembered of it.
func TestServerTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		open := http2.Send{Flags: http2.Open, ID: 7, Head: head("/test.Words/Say", "content-type=text/html")}
		e.send(open, "")
		e.send(http2.Send{Flags: http2.Data, ID: 7}, "{")
		if got := e.hears(); got != "" {
			t.Errorf("a part of a request is answered: %s", got)
		}
		e.send(http2.Send{Flags: http2.Data | http2.End, ID: 7}, "}")
		if got := e.hears(); got != refused {
			t.Errorf("%s\nwant %s", got, refused)
		}
		open.ID = 9
		e.send(open, "")
		for range 4 {
			e.send(http2.Send{Flags: http2.Data, ID: 9}, strings.Repeat("x", 10<<10))
		}
		if got := e.hears(); !strings.HasPrefix(got, refused) {
			t.Errorf("a long one: %s\nwant %s", got, refused)
		}
		for id := uint64(11); id < 41; id++ {
			open.ID = id
			e.send(open, "")
			e.hears()
			e.send(http2.Send{Flags: http2.Reset, ID: id, Code: http2.Cancel}, "")
		}
		e.send(http2.Send{Flags: whole, ID: 99, Head: head("/test.Words/Say")}, message("x"))
		e.hears()
		if left := web.Remembered(r.sess); left > 0 {
			t.Errorf("%d streams are remembered", left)
		}
	})
}

// A GET that is refused is answered once it has ended, as one that is not.
func TestServerWaitsForTheEndOfAGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		get := http2.NewHead(http2.Field{Name: ":method", Value: "GET"}, http2.Field{Name: ":scheme", Value: "http"}, http2.Field{Name: ":path", Value: "/"}, http2.Field{Name: ":authority", Value: "a"})
		e.send(http2.Send{Flags: http2.Open, ID: 7, Head: get}, "")
		if got := e.hears(); got != "" {
			t.Errorf("half a GET is answered: %s", got)
		}
		e.send(http2.Send{Flags: http2.Data | http2.End, ID: 7}, "")
		if got := e.hears(); !strings.Contains(got, "404") {
			t.Errorf("a GET of no method: %s", got)
		}
	})
}

// A client that goes in the middle of a stream leaves nothing behind.
func TestServerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		for id := uint64(1); id < 50; id++ {
			e.send(http2.Send{Flags: http2.Open | http2.Data, ID: id, Head: head("/test.Words/Both")}, message("x")+message("half")[:7])
			e.hears()
			e.send(http2.Send{Flags: http2.Reset, ID: id, Code: http2.Cancel}, "")
		}
		e.send(http2.Send{Flags: whole, ID: 99, Head: head("/test.Words/Say")}, message("x"))
		e.hears()
		if running, left := r.server.Running(), web.Remembered(r.sess); len(running) > 0 || left > 0 {
			t.Errorf("%v run, %d streams are remembered", running, left)
		}
	})
}

// What a client makes of answers, right and wrong.
func TestClientReads(t *testing.T) {
	answer := func(status string, fields ...string) *http2.Head {
		list := []http2.Field{{Name: ":status", Value: status}}
		for _, f := range fields {
			k, v, _ := strings.Cut(f, "=")
			list = append(list, http2.Field{Name: k, Value: v})
		}
		return http2.NewHead(list...)
	}
	tail := func(fields ...string) *http2.Head {
		var list []http2.Field
		for _, f := range fields {
			k, v, _ := strings.Cut(f, "=")
			list = append(list, http2.Field{Name: k, Value: v})
		}
		return http2.NewHead(list...)
	}
	ok := answer("200", "content-type=application/grpc")
	const all = http2.Answer | http2.Data | http2.End
	for name, x := range map[string]struct {
		send http2.Send
		body string
		want string
	}{
		"an answer":            {http2.Send{Flags: all, Head: ok, Tail: tail("grpc-status=0")}, message("hi"), "hi"},
		"compressed":           {http2.Send{Flags: all, Head: answer("200", "content-type=application/grpc", "grpc-encoding=gzip"), Tail: tail("grpc-status=0")}, packed("hi"), "hi"},
		"no message":           {http2.Send{Flags: all, Head: ok, Tail: tail("grpc-status=0")}, "", "Unimplemented"},
		"two messages":         {http2.Send{Flags: all, Head: ok, Tail: tail("grpc-status=0")}, message("a") + message("b"), "Unimplemented"},
		"a message, an error":  {http2.Send{Flags: all, Head: ok, Tail: tail("grpc-status=5")}, message("a"), "NotFound"},
		"all trailers":         {http2.Send{Flags: http2.Answer | http2.End, Head: answer("200", "content-type=application/grpc", "grpc-status=7")}, "", "PermissionDenied"},
		"OK without a message": {http2.Send{Flags: http2.Answer | http2.End, Head: answer("200", "content-type=application/grpc", "grpc-status=0")}, "", "Unimplemented"},
		"no status":            {http2.Send{Flags: all, Head: ok}, message("a"), "Internal"},
		"HTTP 404":             {http2.Send{Flags: all, Head: answer("404", "content-type=text/html")}, "<html>", "Unimplemented"},
		"HTTP 503":             {http2.Send{Flags: http2.Answer | http2.End, Head: answer("503")}, "", "Unavailable"},
		"HTML":                 {http2.Send{Flags: all, Head: answer("200", "content-type=text/html")}, "<html>", "Unknown"},
		"an odd encoding":      {http2.Send{Flags: all, Head: answer("200", "content-type=application/grpc", "grpc-encoding=zstd"), Tail: tail("grpc-status=0")}, message("a"), "Internal"},
		"half a message":       {http2.Send{Flags: all, Head: ok, Tail: tail("grpc-status=0")}, message("abc")[:6], "Internal"},
		"refused":              {http2.Send{Flags: http2.Reset, Code: http2.RefusedStream}, "", "Unavailable refused"},
		"cancelled":            {http2.Send{Flags: http2.Reset, Code: http2.Cancel}, "", "Canceled"},
		"calm":                 {http2.Send{Flags: http2.Reset, Code: http2.EnhanceYourCalm}, "", "ResourceExhausted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newClientRig(t)
			e := newEnd(t, r.peer, http2.Server)
			got := make(chan string, 1)
			go func() {
				text, _, err := say(t.Context(), r.client, "question")
				if err != nil {
					if text = rpc.CodeOf(err).String(); rpc.SentOf(err) == rpc.Refused {
						text += " refused"
					}
				}
				got <- text
			}()
			want := `POST /test.Words/Say content-type=application/grpc te=trailers "\x00\x00\x00\x00\bquestion" end`
			if asked := e.hears(); asked != want {
				t.Errorf("%s: asked %s\nwant %s", name, asked, want)
			}
			x.send.ID = 1
			e.send(x.send, x.body)
			if text := <-got; text != x.want {
				t.Errorf("%s: %s, want %s", name, text, x.want)
			}
		})
	}
}

// A client's pieces of answers come in any parts.
func TestClientReadsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newClientRig(t)
		e := newEnd(t, r.peer, http2.Server)
		got := make(chan string, 1)
		go func() {
			text, trailer, err := say(t.Context(), r.client, "question")
			got <- fmt.Sprint(text, trailer, err)
		}()
		e.hears()
		e.send(http2.Send{Flags: http2.Answer, ID: 1, Head: http2.NewHead(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: "application/grpc"}, http2.Field{Name: "lead", Value: "1"})}, "")
		body := message("the answer")
		for i := range len(body) {
			e.send(http2.Send{Flags: http2.Data, ID: 1}, body[i:i+1])
			if i%3 == 0 {
				e.hears()
			}
		}
		e.send(http2.Send{Flags: http2.End, ID: 1, Last: []http2.Field{{Name: "grpc-status", Value: "0"}, {Name: "tail", Value: "2"}}}, "")
		if text := <-got; text != "the answer[{lead 1 2} {tail 2 0}] <nil>" {
			t.Error(text)
		}
	})
}

// An answer that its caller did not wait for, and of which nothing more comes, is no reason to
// end a connection that carries others. One that is waited for is.
func TestAnswerIsGivenUp(t *testing.T) {
	for name, x := range map[string]struct {
		timeout time.Duration
		lives   bool
	}{
		"given up":   {time.Second, true},
		"waited for": {time.Hour, false},
	} {
		test := func(t *testing.T) {
			r := newClientRig(t)
			e := newEnd(t, r.peer, http2.Server)
			got := make(chan string, 9)
			text := "x"
			go func() {
				for m, err := range stub.Incoming[string](t.Context(), r.client, stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)) {
					if err != nil {
						got <- err.Error()
						return
					}
					got <- *m
				}
			}()
			e.hears()
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), x.timeout)
				defer cancel()
				say(ctx, r.client, "question") //nolint:errcheck // it is given up, or lost
			}()
			e.hears()
			ok := http2.NewHead(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: "application/grpc"})
			e.send(http2.Send{Flags: http2.Answer, ID: 3, Head: ok}, "")
			e.hears()
			e.send(http2.Send{Flags: http2.Data, ID: 3}, message("the answer")[:7])
			for range 20 {
				time.Sleep(5 * time.Second) // Virtual time: pings come meanwhile
				e.hears()                   // and are answered
			}
			if lives := r.peer.Output().Err() == nil && len(got) == 0; lives != x.lives {
				t.Errorf("the connection lives: %t", lives)
			}
			if x.lives {
				e.send(http2.Send{Flags: http2.Answer | http2.Data, ID: 1, Head: ok}, message("word"))
				if m := <-got; m != "word" {
					t.Error(m)
				}
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// What requests that are wrong make a server say, and hold, is little, whatever they say.
func TestServerSaysLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		for i, path := range []string{"/" + strings.Repeat("service", 1000) + "/Method", "/test.Words/" + strings.Repeat("method", 1000), strings.Repeat("/", 5000)} {
			e.send(http2.Send{Flags: whole, ID: uint64(i + 1), Head: head(path)}, message("x"))
			if said := e.hears(); !strings.Contains(said, "grpc-status=12") || len(said) > 500 {
				t.Errorf("%.30s: %d bytes: %.100s", path, len(said), said)
			}
		}
		e.send(http2.Send{Flags: whole, ID: 9, Head: head("/test.Words/Say", "x-bin="+strings.Repeat(",", 4000))}, message("x"))
		if said := e.hears(); !strings.Contains(said, "metadata") || strings.Contains(said, "grpc-status=0") {
			t.Errorf("a value of 4000 commas: %.200s", said)
		}
	})
}

// What is learnt of the size of a method's answers and messages is all of them, also what waits
// for the peer's windows: else a server would take large ones on for ever.
func TestSizesAreLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		text := strings.Repeat("word ", 60_000)
		e.send(http2.Send{Flags: whole, ID: 1, Head: head("/test.Words/Say")}, message(text))
		for range 50 {
			e.hears() // the windows go on
		}
		if n := rpc.HintsOf(r.find("test.Words", "Say")).ResponseBytes(); n < len(text) {
			t.Errorf("answers of %d bytes are taken for %d", len(text), n)
		}
	})
}

// Messages of streams that have arrived in part are held within a bound of their connection.
func TestPartsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{MessageBytes: 1 << 20, HeldPerConn: 4 << 20, HeldPerServer: 1 << 30}
		r := newServerRig(t, lim)
		e := newEnd(t, r.peer, http2.Client)
		for id := uint64(1); id <= 32; id++ {
			e.send(http2.Send{Flags: http2.Open | http2.Data, ID: id, Head: head("/test.Words/Both")}, string(grpc.AppendHead(nil, false, 1<<20))+strings.Repeat("x", 300_000))
			for e.hears() != "" {
				continue // the windows go on
			}
		}
		if held := r.sess.Held(); held > lim.HeldPerConn/2+64<<10 {
			t.Errorf("%d bytes are held", held)
		}
	})
}

// A stream that ends in the middle of a message, by the server or by the client, leaves
// nothing behind, though nothing more comes of it.
func TestClientIsLeft(t *testing.T) {
	ok := http2.NewHead(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: "application/grpc"})
	for name, end := range map[string]func(e *end, id uint64, cancel func()){
		"by the server": func(e *end, id uint64, _ func()) {
			e.send(http2.Send{Flags: http2.Reset, ID: id, Code: http2.Cancel}, "")
		},
		"by the client":    func(_ *end, _ uint64, cancel func()) { cancel() },
		"by a wrong frame": func(e *end, id uint64, _ func()) { e.send(http2.Send{Flags: http2.Answer, ID: id, Head: ok}, "") },
	} {
		test := func(t *testing.T) {
			r := newClientRig(t)
			e := newEnd(t, r.peer, http2.Server)
			text := "x"
			for id := uint64(1); id < 20; id += 2 {
				ctx, cancel := context.WithCancel(t.Context())
				over := make(chan struct{})
				go func() {
					defer close(over)
					for range stub.Incoming[string](ctx, r.client, stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)) {
					}
				}()
				e.hears()
				e.send(http2.Send{Flags: http2.Answer | http2.Data, ID: id, Head: ok}, message("half")[:7])
				e.hears()
				end(e, id, cancel)
				<-over
				cancel()
				e.hears()
			}
			e.send(http2.Send{Flags: http2.Ping}, "") // what was ended is forgotten with the next event
			time.Sleep(2 * time.Second)               // Virtual time: somebody reads, though nothing is called
			e.hears()
			if left := web.Remembered(r.sess); left > 0 {
				t.Errorf("%d streams are remembered", left)
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// A preface is recognised by its first bytes, and by nothing else.
func TestSniff(t *testing.T) {
	p := web.Protocol{}
	for n := range len(http2.Preface) + 1 {
		want := wire.More
		if n == len(http2.Preface) {
			want = wire.Yes
		}
		if got := p.Sniff([]byte(http2.Preface[:n])).Verdict; got != want {
			t.Errorf("%d bytes of the preface: %v", n, got)
		}
		if n > 0 {
			if got := p.Sniff([]byte(http2.Preface[:n-1] + "x")).Verdict; got != wire.No {
				t.Errorf("%d bytes and another: %v", n-1, got)
			}
		}
	}
}
