package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

const flowIDL = `namespace go test
struct Number { 1: required i64 n  2: optional string text }
service Flow {
  stream<Number> count(1: Number to)
  Number sum(1: stream<Number> numbers)
  stream<Number> chat(1: stream<Number> numbers)
  Number twice(1: Number n)
}
`

type number struct {
	N    int64   `thrift:"n,1,required"`
	Text *string `thrift:"text,2,optional"`
}

// Numbers that the service does something else for.
const (
	endless = -1 // count: never ends; chat: ends in order; sum: answers without a message
	failing = -2 // fails there, with NotFound; count: after three messages
	waiting = -3 // count, chat: one message, then nothing until the call is over; sum: answers twice
)

// A flowServer is the service of flowIDL, written by hand. Each call's end is
// told: the error that its stream ended with, nil for one that ended in order.
type flowServer struct {
	ends chan error
}

func (f *flowServer) count(ctx context.Context, c *rpc.Call) (err error) {
	defer func() { f.ends <- err }()
	to, err := stub.First[number](c)
	if err != nil {
		return err
	}
	c.Trailer.Add("seen", c.Header.Get("tenant"))
	if to.N == waiting {
		if err := rpc.EngineOf(c).Stream().Send(&number{N: 1}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for i := int64(1); i <= to.N || to.N < 0; i++ {
		if to.N == failing && i > 3 {
			return rpc.Errorf(rpc.NotFound, "no more numbers")
		}
		if err := rpc.EngineOf(c).Stream().Send(&number{N: i}); err != nil {
			return err
		}
	}
	return nil
}

func (f *flowServer) sum(_ context.Context, c *rpc.Call) (err error) {
	defer func() { f.ends <- err }()
	var sum number
	for n, err := range stub.Arriving[number](c) {
		if err != nil {
			return err
		}
		switch n.N {
		case failing:
			return rpc.Errorf(rpc.NotFound, "no such number")
		case endless:
			return nil
		case waiting:
			if err := rpc.EngineOf(c).Stream().Send(&sum); err != nil {
				return err
			}
		}
		sum.N += n.N
	}
	return stub.SendLast(c, &sum, nil)
}

func (f *flowServer) chat(ctx context.Context, c *rpc.Call) (err error) {
	defer func() { f.ends <- err }()
	for n, err := range stub.Arriving[number](c) {
		switch {
		case err != nil:
			return err
		case n.N == failing:
			return rpc.Errorf(rpc.NotFound, "no such number")
		case n.N == endless:
			return nil
		}
		if err := rpc.EngineOf(c).Stream().Send(&number{N: 2 * n.N}); err != nil {
			return err
		}
		if n.N == waiting {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return nil
}

// serve starts the service and gives its address.
func (f *flowServer) serve(t *testing.T) string {
	t.Helper()
	f.ends = make(chan error, 100)
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	method := func(name string, kind rpc.Kind, serve rpc.Next) rpc.Handler {
		m := &rpc.Method{Service: "Flow", Name: name, Kind: kind, Codec: thrift.Binary{}, New: stub.New[number, number]}
		return rpc.Handler{Method: m, Serve: func(ctx context.Context, c *rpc.Call) error { return serve(ctx, c) }}
	}
	server := &limosa.Server{Drain: time.Second, Services: []rpc.Service{{Name: "Flow", Methods: []rpc.Handler{
		method("count", rpc.ServerStream, f.count), method("sum", rpc.ClientStream, f.sum), method("chat", rpc.Bidi, f.chat),
	}}}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// numbered is n lines with the messages from 1 on, times by.
func numbered(n, by int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\":%d}\n", (i+1)*by)
	}
	return b.String()
}

func TestCallStream(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	file := writeFile(t, "numbers.json", `{"n":40} {"n":2}`)
	for _, c := range []struct {
		method, body, stdin, flags string
		code                       int
		want                       string // stdout
		errs                       string // part of stderr
		cut                        bool   // the server sees no end in order
	}{
		{method: "Flow/count", body: `{"n":3}`, want: numbered(3, 1)},
		{method: "flow/COUNT", body: "-", stdin: ` {"n" : 2} `, want: numbered(2, 1)},
		{method: "Flow/count", body: `{"n":0}`},
		{method: "Flow/count", body: `{"n":5000}`, want: numbered(5000, 1)},
		{method: "Flow/count", body: `{"n":5}`, flags: "-limit 5", want: numbered(5, 1)},
		{method: "Flow/count", body: `{"n":5}`, flags: "-limit 6", want: numbered(5, 1)},
		{method: "Flow/count", body: `{"n":-1}`, flags: "-limit 3", want: numbered(3, 1), cut: true},
		{method: "Flow/count", body: `{"n":-1}`, flags: "-limit 2000 -timeout 0", want: numbered(2000, 1), cut: true},
		{method: "Flow/count", body: `{"n":-2}`, code: 1, want: numbered(3, 1), errs: "NotFound: Flow/count at " + addr + ": no more numbers\n", cut: true},
		{method: "Flow/count", body: `{"n":-3}`, flags: "-timeout 50ms", code: 1, want: numbered(1, 1), errs: "DeadlineExceeded", cut: true},
		{method: "Flow/sum", body: `{"n":1}{"n":2} {"n":3}`, want: "{\n  \"n\": 6\n}\n"},
		{method: "Flow/sum", body: "-", stdin: numbered(1000, 1), want: "{\n  \"n\": 500500\n}\n"},
		{method: "Flow/sum", stdin: "{\"n\":5}\n\n", want: "{\n  \"n\": 5\n}\n"},
		{method: "Flow/sum", body: "@" + file, want: "{\n  \"n\": 42\n}\n"},
		{method: "Flow/sum", want: "{\n  \"n\": 0\n}\n"},
		{method: "Flow/sum", body: `{"n":1} {"n":-2} {"n":3}`, code: 1, errs: "NotFound: Flow/sum at " + addr + ": no such number\n", cut: true},
		{method: "Flow/sum", body: `{"n":1} {"n":-1}`, code: 1, errs: "Internal: Flow/sum: answered without a message\n"},
		{method: "Flow/sum", body: `{"n":1} {"n":-3}`, code: 1, errs: "Internal: Flow/sum: answered with several messages\n"},
		{method: "Flow/chat", body: "-", stdin: numbered(500, 1), want: numbered(500, 2)},
		{method: "Flow/chat", stdin: numbered(2, 1), want: numbered(2, 2)},
		{method: "Flow/chat", body: " "},
		{method: "Flow/chat", body: `{"n":7}{"n":-1}{"n":8}`, want: "{\"n\":14}\n"},
		{method: "Flow/chat", body: `{"n":7}{"n":-2}{"n":8}`, code: 1, want: "{\"n\":14}\n", errs: "NotFound: Flow/chat at " + addr + ": no such number\n", cut: true},
		{method: "Flow/chat", body: `{"n":-3}`, flags: "-timeout 50ms", code: 1, want: "{\"n\":-6}\n", errs: "DeadlineExceeded", cut: true},
	} {
		args := []string{"call", "-idl", idl, addr, c.method}
		if c.body != "" {
			args = append(args, c.body)
		}
		code, out, errs := runTool(t, c.stdin, append(args, strings.Fields(c.flags)...)...)
		if code != c.code || out != c.want || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" || strings.Count(errs, "\n") > 1 {
			t.Errorf("%s %s: exit code %d, %.200s\n%s\nwant %d, %.200s", c.method, c.body, code, out, errs, c.code, c.want)
		}
		// At the limit the server may have sent all, or not yet said so.
		if end := <-f.ends; (end != nil) != c.cut && !strings.HasPrefix(c.flags, "-limit 5") {
			t.Errorf("%s %s: the server's call ended with %v", c.method, c.body, end)
		}
	}
	// What a newcomer forgets.
	code, out, errs := runTool(t, "", "call", "-idl", idl, addr, "Flow/count", `{"to":{"n":3}}`)
	if code != 2 || out != "" || !strings.Contains(errs, `Number has no field "to"`) {
		t.Errorf("a message with its name: exit code %d\n%s%s", code, out, errs)
	}
}

// Messages are sent once they were read and printed when they arrive: nothing
// waits for the end of either.
func TestCallStreamInterleaved(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	for _, form := range []string{"text", "json"} {
		stdin, typing := io.Pipe()
		shown, stdout := io.Pipe()
		a := &app{stdin: stdin, stdout: stdout, stderr: new(bytes.Buffer)}
		code := make(chan int, 1)
		go func() {
			code <- a.run(t.Context(), []string{"limosa", "call", "-idl", idl, addr, "Flow/chat", "-timeout=0", "-o", form})
			stdout.Close()
		}()
		lines := bufio.NewScanner(shown)
		for i := range 20 {
			fmt.Fprintf(typing, `{"n":%d}`, i) // without a newline behind it
			want := fmt.Sprintf(`{"n":%d}`, 2*i)
			if form == "json" {
				want = `{"message":` + want + `}`
			}
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%s, message %d: %q, want %q", form, i, lines.Text(), want)
			}
		}
		typing.Close()
		var last callReport
		for lines.Scan() {
			if err := json.Unmarshal(lines.Bytes(), &last); err != nil || form == "text" {
				t.Errorf("%v: %s", err, lines.Text())
			}
		}
		if form == "json" && (last.Messages == nil || *last.Messages != 20 || last.MessagesSent == nil || *last.MessagesSent != 20) {
			t.Errorf("the last line is %+v", last)
		}
		if c := <-code; c != 0 {
			t.Errorf("exit code %d: %v", c, a.stderr)
		}
	}
}

// An endless source that is left open: the call's end is the tool's.
func TestCallStreamOfEndlessInput(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	var at atomic.Int64
	numbers := readFunc(func(p []byte) (int, error) {
		n := at.Add(1)
		if n == 20_000 {
			n = failing
		}
		return copy(p, fmt.Sprintf("{\"n\":%d}\n", n)), nil
	})
	open, never := io.Pipe()
	defer never.Close()
	for _, c := range []struct {
		stdin              io.Reader
		method, want, errs string
		code, lines        int
	}{
		{io.MultiReader(strings.NewReader(`{"n":1}{"n":-1}`), open), "Flow/chat", "{\"n\":2}\n", "", 0, 1},
		{io.MultiReader(strings.NewReader(`{"n":1}{"n":-2}`), open), "Flow/sum", "", "NotFound", 1, 0},
		{numbers, "Flow/chat", "{\"n\":2}\n{\"n\":4}\n", "NotFound", 1, 19_999},
	} {
		var out, errs bytes.Buffer
		a := &app{stdin: c.stdin, stdout: &out, stderr: &errs}
		code := a.run(t.Context(), []string{"limosa", "call", "-idl", idl, addr, c.method})
		if code != c.code || !strings.HasPrefix(out.String(), c.want) || strings.Count(out.String(), "\n") != c.lines || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s: exit code %d, %.100s\n%s", c.method, code, out.String(), errs.String())
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// What is no message cancels the call, and is told with its place.
func TestCallStreamBadInput(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	for _, c := range []struct{ method, stdin, want string }{
		{"Flow/chat", `{"n":1} {"n":x} {"n":3}`, "message 2 is no JSON: invalid character 'x' looking for beginning of value at byte 14"},
		{"Flow/sum", `{"n":1} {"n":x} {"n":3}`, "message 2 is no JSON: invalid character 'x' looking for beginning of value at byte 14"},
		{"Flow/sum", `{"n":1}, {"n":2}`, "message 2 is no JSON: invalid character ',' looking for beginning of value at byte 8"},
		{"Flow/chat", "{\"n\":1}\n{\"n\":2}\n{\"n\":", "message 3 is no JSON: the text ends within it, at byte 21"},
		{"Flow/chat", "{\"n\":1}\n  {\"n\":2, \"m\":3}", `message 2 does not fit Flow/chat: Number has no field "m"; known are n, text (at byte 19)`},
		{"Flow/sum", "{\"n\":1}\n  {\"n\":\"no\"}", "message 2 does not fit Flow/sum: n: "},
		{"Flow/sum", `{"n":1}{}`, `message 2 does not fit Flow/sum: Number needs the field "n" (at byte 8)`},
		{"Flow/sum", `{"n":1} 5`, "message 2 does not fit Flow/sum: Number is an object, not the number 5 (at byte 9)"},
		{"Flow/sum", `[{"n":1}]`, "message 1 does not fit Flow/sum: Number is an object, not an array (at byte 1)"},
	} {
		for _, slow := range []bool{false, true} {
			for _, form := range []string{"text", "json"} {
				var stdin io.Reader = strings.NewReader(c.stdin)
				if slow {
					stdin = iotest.OneByteReader(stdin)
				}
				var out, errs bytes.Buffer
				a := &app{stdin: stdin, stdout: &out, stderr: &errs}
				code := a.run(t.Context(), []string{"limosa", "call", "-idl", idl, addr, c.method, "-o", form})
				told := errs.String()
				if form == "json" {
					lines := strings.Split(strings.TrimSpace(out.String()), "\n")
					var last callReport
					if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Error == nil || told != "" {
						t.Fatalf("%s %s: %v: %s%s", c.method, c.stdin, err, out.String(), told)
					}
					told = last.Error.Message
					if last.Error.Code != "InvalidArgument" {
						t.Errorf("%s %s: %s", c.method, c.stdin, out.String())
					}
				}
				if code != 2 || !strings.Contains(told, c.want) || strings.Count(told, "\n") > 1 {
					t.Errorf("%s %s: exit code %d, %s\nwant %s", c.method, c.stdin, code, told, c.want)
				}
			}
		}
	}
}

// A call that is under way when its input turns out to be wrong, or that is
// interrupted, is over for the server as well.
func TestCallStreamCancels(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	for _, c := range []struct {
		name, method, first, form string
		then                      string // on stdin; "": Ctrl-C
		code                      int
		want                      string // part of stderr, or of the last line
	}{
		{"bad input", "Flow/chat", `{"n":1}`, "text", "oops", 2, "message 2 is no JSON"},
		{"bad input", "Flow/chat", `{"n":1}`, "json", "oops", 2, "message 2 is no JSON"},
		{"interrupt", "Flow/chat", `{"n":1}`, "text", "", 1, "limosa call: interrupted\n"},
		{"interrupt", "Flow/chat", `{"n":1}`, "json", "", 1, `"code":"Canceled"`},
		{"interrupt", "Flow/count", `{"n":-3}`, "text", "", 1, "limosa call: interrupted\n"},
		{"interrupt", "Flow/count", `{"n":-3}`, "json", "", 1, `"code":"Canceled"`},
	} {
		stdin, typing := io.Pipe()
		shown, stdout := io.Pipe()
		var errs bytes.Buffer
		a := &app{stdin: stdin, stdout: stdout, stderr: &errs}
		ctx, interrupt := context.WithCancelCause(t.Context())
		code := make(chan int, 1)
		args := []string{"limosa", "call", "-idl", idl, addr, c.method, "-timeout", "0", "-o", c.form}
		if c.method == "Flow/count" {
			args = append(args, c.first)
		}
		go func() {
			code <- a.run(ctx, args)
			stdout.Close()
		}()
		if c.method == "Flow/chat" {
			io.WriteString(typing, c.first)
		}
		lines := bufio.NewScanner(shown)
		if !lines.Scan() {
			t.Fatalf("%s of %s: no message", c.name, c.method)
		}
		if c.then != "" {
			io.WriteString(typing, c.then)
		} else {
			interrupt(errors.New("interrupt signal received")) // as os/signal has it
		}
		told := ""
		for lines.Scan() {
			told += lines.Text() + "\n"
		}
		got := <-code
		told += errs.String()
		if got != c.code || !strings.Contains(told, c.want) || strings.Count(told, "\n") != 1 {
			t.Errorf("%s of %s, %s: exit code %d, %s", c.name, c.method, c.form, got, told)
		}
		if err := <-f.ends; rpc.CodeOf(err) != rpc.Canceled {
			t.Errorf("%s of %s: the server's call ended with %v", c.name, c.method, err)
		}
		typing.Close()
		interrupt(nil)
	}
}

func TestCallStreamReports(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	for _, c := range []struct {
		method, body, flags string
		code                int
		messages            []string
		last                string // without what differs from run to run
	}{
		{"Flow/count", `{"n":2}`, "-H tenant=t1", 0, []string{`{"n":1}`, `{"n":2}`}, `{"peer":"ADDR","metadata":{"seen":["t1"]},"messages":2}`},
		{"Flow/count", `{"n":-1}`, "-limit 2", 0, []string{`{"n":1}`, `{"n":2}`}, `{"peer":"ADDR","messages":2}`},
		{"Flow/count", `{"n":-2}`, "-H tenant=t1", 1, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}, `{"error":{"code":"NotFound","message":"NotFound: Flow/count at ADDR: no more numbers","sent":"processed"},"peer":"ADDR","metadata":{"seen":["t1"]},"messages":3}`},
		{"Flow/sum", `{"n":1}{"n":2}`, "", 0, nil, `{"result":{"n":3},"peer":"ADDR","messages_sent":2}`},
		{"Flow/chat", `{"n":1}{"n":2}`, "", 0, []string{`{"n":2}`, `{"n":4}`}, `{"peer":"ADDR","messages":2,"messages_sent":2}`},
		{"Flow/chat", ` `, "", 0, nil, `{"peer":"ADDR","messages":0,"messages_sent":0}`},
	} {
		args := append([]string{"call", "-idl", idl, addr, c.method, c.body, "-o", "json"}, strings.Fields(c.flags)...)
		code, out, errs := runTool(t, "", args...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if code != c.code || errs != "" || len(lines) != len(c.messages)+1 {
			t.Errorf("%s %s: exit code %d\n%s%s", c.method, c.body, code, out, errs)
			continue
		}
		for i, want := range c.messages {
			if want = `{"message":` + want + `}`; lines[i] != want {
				t.Errorf("%s %s: message %d is %s, want %s", c.method, c.body, i, lines[i], want)
			}
		}
		last := strings.ReplaceAll(lines[len(lines)-1], addr, "ADDR")
		if i := strings.Index(last, `"took_us":`); i >= 0 {
			last = last[:i] + last[i+strings.Index(last[i:], ",")+1:]
		}
		if last != c.last {
			t.Errorf("%s %s: %s\nwant %s", c.method, c.body, last, c.last)
		}
	}
	for _, c := range []struct{ method, body, want string }{
		{"Flow/count", `{"n":2}`, "; messages: 2 received\n  seen: t1\n"}, {"Flow/sum", `{"n":2}`, "; messages: 1 sent\n"}, {"Flow/chat", `{"n":2}{"n":3}`, "; messages: 2 sent, 2 received\n"},
	} {
		code, _, errs := runTool(t, "", "call", "-idl", idl, addr, c.method, c.body, "-v", "-H", "tenant=t1")
		if code != 0 || !strings.HasPrefix(errs, c.method+" at "+addr+" took ") || !strings.HasSuffix(errs, c.want) {
			t.Errorf("%s -v: exit code %d, %s", c.method, code, errs)
		}
	}
}

func TestCallStreamRefused(t *testing.T) {
	idl := writeFile(t, "flow.thrift", flowIDL)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"call ADDR Flow/count {\"n\":1} -limit 0", 2, "-limit 0: want a number of messages, above zero"},
		{"call ADDR Flow/sum {\"n\":1} -limit 1", 2, "-limit counts the messages of a server's stream, and Flow/sum sends none"},
		{"call ADDR Flow/twice {\"n\":1} -limit 1", 2, "-limit counts"},
		{"call ADDR Flow/count {\"n\":1} -timeout -1s", 2, "-timeout -1s: want"},
		{"call ADDR Flow/count {\"n\":1}{\"n\":2}", 2, "no JSON"},
		{"call ADDR Flow/count {}", 2, `the request does not fit Flow/count: Number needs the field "n"`},
		{"call ADDR Flow/sum @" + idl + ".missing", 2, "missing: no such file"},
		{"call ADDR Flow/sum @" + idl + " -transport framed", 1, "Flow/sum is a stream, which framed messages cannot be"},
		{"call 127.0.0.1:1 Flow/sum @" + idl, 1, "Unavailable"},
		{"bench ADDR Flow/sum -json {\"n\":1}{}", 2, `the request does not fit Flow/sum: Number needs the field "n"`},
	} {
		f := new(flowServer)
		args := append(strings.Fields(strings.ReplaceAll(c.args, "ADDR", f.serve(t))), "-idl", idl)
		code, out, errs := runTool(t, "", args...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errs)
		}
	}
}

// Output that nobody takes ends the call.
func TestCallStreamOutputFails(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	shown, stdout := io.Pipe()
	shown.CloseWithError(errors.New("nobody reads"))
	var errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: stdout, stderr: &errs}
	code := a.run(t.Context(), []string{"limosa", "call", "-idl", idl, addr, "Flow/count", `{"n":-1}`})
	if code != 1 || !strings.Contains(errs.String(), "nobody reads") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	if err := <-f.ends; err == nil {
		t.Error("the server's call ended in order")
	}
}

func TestMessages(t *testing.T) {
	xs := readFunc(func(p []byte) (int, error) { return copy(p, strings.Repeat("x", len(p))), nil })
	m := newMessages(io.MultiReader(strings.NewReader(`{} "`), xs), 5000)
	if text, at, err := m.next(); err != nil || string(text) != "{}" || at != 0 {
		t.Errorf("%s at %d, %v", text, at, err)
	}
	if _, _, err := m.next(); err == nil || err.Error() != "message 2 is longer than 5000 bytes" {
		t.Errorf("an endless message: %v", err)
	}
	if m.read > 20_000 {
		t.Errorf("%d bytes were read", m.read)
	}
	many := newMessages(strings.NewReader(strings.Repeat(` {"n":1}`, 10_000)), 5000)
	for i := range int64(10_000) {
		if text, at, err := many.next(); err != nil || string(text) != `{"n":1}` || at != 8*i+1 {
			t.Fatalf("message %d: %s at %d, %v", i, text, at, err)
		}
	}
	if _, _, err := many.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	own := errors.New("my own")
	if _, _, err := newMessages(iotest.ErrReader(own), 5000).next(); !errors.Is(err, own) || !strings.HasPrefix(err.Error(), "reading the messages to send: ") {
		t.Errorf("a reader that fails: %v", err)
	}
}
