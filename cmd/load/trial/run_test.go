package trial

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test's program a child too: Run starts itself again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == Server || os.Args[1] == Client) {
		os.Exit(Program(testPeers()...))
	}
	os.Exit(m.Run())
}

// testPeers are stacks of a few lines: one that works, and what can be wrong
// with one.
func testPeers() []*Peer {
	refuses := errors.New("no room at all")
	echo := func(name string, serve func(context.Context, func()) (string, error), spoil int64) *Peer {
		return &Peer{Name: name, Serve: serve, Dial: func(_ context.Context, addr string, _ int, _ func()) (*Target, error) {
			return &Target{Close: func() {}, Caller: func(ctx context.Context, _ int, text string) (Call, error) {
				return echoCaller(ctx, addr, text, spoil)
			}}, nil
		}}
	}
	undialled := echo("undialled", serveEcho, 0)
	undialled.Dial = func(context.Context, string, int, func()) (*Target, error) { return nil, refuses }
	uncalled := echo("uncalled", serveEcho, 0)
	uncalled.Dial = func(context.Context, string, int, func()) (*Target, error) {
		return &Target{Close: func() {}, Caller: func(_ context.Context, worker int, _ string) (Call, error) {
			return nil, refuses
		}}, nil
	}
	return []*Peer{
		Null(), undialled, uncalled,
		echo("echo", serveEcho, 0),
		echo("wrong", serveEcho, 1),
		echo("refuses", func(context.Context, func()) (string, error) { return "", refuses }, 0),
		echo("prints", func(ctx context.Context, work func()) (string, error) {
			fmt.Println("a line that is no row")
			return serveEcho(ctx, work)
		}, 0),
		echo("dies", func(ctx context.Context, work func()) (string, error) {
			return serveEcho(ctx, func() { os.Exit(3) })
		}, 0),
		echo("panics", func(context.Context, func()) (string, error) { panic("while it starts") }, 0),
	}
}

// serveEcho gives every message back: eight bytes of id, four of length, text.
func serveEcho(_ context.Context, work func()) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for {
					var head [12]byte
					if _, err := io.ReadFull(c, head[:]); err != nil {
						return
					}
					msg := append(head[:], make([]byte, binary.BigEndian.Uint32(head[8:]))...)
					if _, err := io.ReadFull(c, msg[12:]); err != nil {
						return
					}
					work()
					if _, err := c.Write(msg); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), nil
}

// echoCaller calls it; spoil is added to the ids of answers.
func echoCaller(ctx context.Context, addr, text string, spoil int64) (Call, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	list := make([]int64, ListLen)
	msg, got := make([]byte, 12+len(text)), make([]byte, 12+len(text))
	copy(msg[12:], text)
	binary.BigEndian.PutUint32(msg[8:], uint32(len(text)))
	return func(ctx context.Context, id int64) error {
		binary.BigEndian.PutUint64(msg, uint64(id))
		at, _ := ctx.Deadline()
		_ = c.SetDeadline(at)
		if _, err := c.Write(msg); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, got); err != nil {
			return err
		}
		Fill(list, id)
		return Verify(id, text, int64(binary.BigEndian.Uint64(got))+spoil, string(got[12:]), list)
	}, nil
}

// Every kind of trial, in two processes: what was set stands in the row, and
// the figures are those of the kind.
func TestRun(t *testing.T) {
	base := Setting{Peer: "echo", Round: 3, Callers: 2, Payload: 100, Work: WorkNone, Duration: 100 * time.Millisecond, Seed: 1}
	for name, c := range map[string]struct {
		set   func(*Setting)
		check func(*Row) bool
	}{
		"closed": {func(*Setting) {}, func(r *Row) bool {
			return r.Mode == "closed" && r.Arrivals == "" && r.ServerCPU > 0 && r.ClientCPU > 0 && r.CPU == r.ClientCPU+r.ServerCPU
		}},
		"even":    {func(s *Setting) { s.Rate, s.Arrivals = 500, Even }, func(r *Row) bool { return r.Mode == "open" && r.Arrivals == Even && r.Rate == 500 }},
		"poisson": {func(s *Setting) { s.Rate, s.Arrivals = 500, Poisson }, func(r *Row) bool { return r.Mode == "open" && r.Arrivals == Poisson }},
		"beside":  {func(s *Setting) { s.Beside = 100_000 }, func(r *Row) bool { return r.Beside == 100_000 && r.BesideCalls > 0 && r.BesideErrors == 0 }},
		"sleeps":  {func(s *Setting) { s.Work = WorkSleep }, func(r *Row) bool { return r.Work == WorkSleep && r.P50 >= 1000 }},
		"burns":   {func(s *Setting) { s.Work = WorkBurn }, func(r *Row) bool { return r.Work == WorkBurn && r.P50 >= 20 && r.ServerCPU >= 10 }},
		"GOGC":    {func(s *Setting) { s.GOGC = 400 }, func(r *Row) bool { return r.GOGC == 400 }},
		"null":    {func(s *Setting) { s.Peer = "null" }, func(r *Row) bool { return r.ServerCPU == 0 && r.ServerAllocs == 0 }},
		"prints":  {func(s *Setting) { s.Peer = "prints" }, func(r *Row) bool { return r.Mode == "closed" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			c.set(&s)
			r, err := Run(t.Context(), "", s, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if r.Bench != "rpc" || r.Peer != s.Peer || r.Round != 3 || r.Callers != 2 || r.Payload != 100 || r.Calls == 0 || r.Errors != 0 || r.P99 < r.P50 || !c.check(r) {
				t.Errorf("%+v", r.Figures)
			}
		})
	}
}

// What is wrong with a trial is told in one line, by whom it happened to.
func TestRunFails(t *testing.T) {
	for peer, want := range map[string]string{
		"wrong":     "no call succeeded within 50ms; first error: wrong answer: id ",
		"refuses":   "the server did not start: no room at all",
		"undialled": "no room at all",
		"uncalled":  "caller 0: no room at all",
		"dies":      "the server process is gone",
		"panics":    "the server did not start:  panic: while it starts",
		"unknown":   "no such peer: unknown",
	} {
		t.Run(peer, func(t *testing.T) {
			_, err := Run(t.Context(), "", Setting{Peer: peer, Callers: 1, Payload: 1, Duration: 50 * time.Millisecond}, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line with %q", err, want)
			}
		})
	}
	if _, err := Run(t.Context(), "/nowhere/program", Setting{}, t.TempDir()); err == nil {
		t.Error("a program that is not there has run")
	}
	if err := Child(t.Context(), nil, Client, []string{"{"}); err == nil || !strings.Contains(err.Error(), "for bench itself") {
		t.Errorf("no setting: %v", err)
	}
}

// A server answers a mark for each line, later ones not below earlier ones, and
// ends when its client's end of the pipe does.
func TestAnswer(t *testing.T) {
	var out strings.Builder
	if err := AnswerMarks("an address", strings.NewReader("mark\nmark\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"Addr":"an address"}` || !strings.Contains(lines[1], `"CPU":`) {
		t.Errorf("answered:\n%s", &out)
	}
	closed, w := io.Pipe()
	closed.Close()
	if err := AnswerMarks("an address", strings.NewReader(""), w); err == nil {
		t.Error("nobody reads, and there is no error")
	}
	n := 0
	if err := Answer("", strings.NewReader("a\nb\n"), io.Discard, func() any { n++; return func() {} }); err == nil || n != 1 {
		t.Errorf("what is no JSON: %v, asked %d times", err, n)
	}
}

// A program of peers that is started by hand says who starts it.
func TestProcessByHand(t *testing.T) {
	cmd := Command(t.Context(), Server, Setting{Peer: "echo"})
	cmd.Args = append(cmd.Args, "one too many")
	if _, err := Start(cmd); err == nil || !strings.Contains(err.Error(), "bench starts this program") {
		t.Errorf("err = %v", err)
	}
	p, err := Start(Command(t.Context(), Server, Setting{Peer: "echo"}))
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Mark()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := p.Mark(); err != nil || second.Mallocs < first.Mallocs || second.CPU < first.CPU {
		t.Errorf("marks %+v, then %+v, %v", first, second, err)
	}
	p.Stop()
	if _, err := p.Mark(); err == nil {
		t.Error("a server that has ended has answered")
	}
	if got := p.Errors(); got != "" {
		t.Errorf("its errors are %q", got)
	}
}

// Texts are the same for the same seed and length, and differ otherwise.
func TestRandomText(t *testing.T) {
	if a := RandomText(50, 1); len(a) != 50 || a != RandomText(50, 1) || a == RandomText(50, 2) || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz") != "" {
		t.Errorf("%q", a)
	}
	if RandomText(0, 1) != "" {
		t.Error("nothing was asked for")
	}
}
