package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fakeEnv turns the test binary into a peer's program.
const fakeEnv = "LIMOSA_INTEROP_FAKE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeEnv); mode != "" {
		os.Exit(fake(mode, os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

// fake is a peer's program: side is server or client.
func fake(mode, side, port string) int {
	if side == "server" {
		if mode == "server dies" {
			return 1
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			return 1
		}
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return 1
			}
			c.Close()
			if mode == "server dies of the client" && n == 2 { // the first is the runner's own
				return 7
			}
		}
	}
	if mode == "client passes anywhere" {
		fmt.Println("done")
		return 0
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return 1
	}
	if mode == "server dies of the client" {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		for err == nil { // until the server is gone
			c.Read(make([]byte, 1))
			var again net.Conn
			if again, err = net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				again.Close()
			}
		}
	}
	c.Close()
	switch mode {
	case "client hangs":
		if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
			l.Accept() // nobody ever comes
		}
	case "client exits with 1":
		return 1
	case "client stops half-way":
		return 0
	}
	fmt.Println("done")
	return 0
}

func fakePeer(name string) *peer {
	args := func(side string, port int) []string {
		return []string{os.Args[0], side, strconv.Itoa(port)}
	}
	return &peer{
		name:      name,
		dir:       ".",
		protocols: []string{"binary"},
		server:    func(port int, _, _ string) []string { return args("server", port) },
		client:    func(port int, _, _ string) [][]string { return [][]string{args("client", port)} },
		passed:    words("done"),
	}
}

func TestRunPair(t *testing.T) {
	for mode, want := range map[string]string{
		"all well":                  "",
		"server dies":               "ended before it listened",
		"server dies of the client": "ended by itself: exit status 7",
		"client exits with 1":       "exit status 1",
		"client stops half-way":     `lacks "done"`,
		"client hangs":              "still runs after",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(fakeEnv, mode)
			o := &options{timeout: 5 * time.Second}
			if mode == "client hangs" {
				o.timeout = 200 * time.Millisecond
			}
			out := runPair(t.Context(), o, pair{fakePeer("a"), fakePeer("b"), "buffered", "binary"})
			checkOutcome(t, out, want)
		})
	}
}

func TestRunPairAgainstNobody(t *testing.T) {
	for mode, want := range map[string]string{
		"all well":               "",
		"client passes anywhere": "passes although nobody listens",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(fakeEnv, mode)
			o := &options{timeout: 5 * time.Second}
			out := runPair(t.Context(), o, pair{client: fakePeer("a"), transport: "buffered", protocol: "binary"})
			checkOutcome(t, out, want)
		})
	}
}

func checkOutcome(t *testing.T, out outcome, want string) {
	t.Helper()
	if want == "" && out.err != nil {
		t.Errorf("err = %v, want none", out.err)
	}
	if want != "" && (out.err == nil || !strings.Contains(out.err.Error(), want)) {
		t.Errorf("err = %v, want one with %q", out.err, want)
	}
}

func TestStartServerEndsWithContext(t *testing.T) {
	t.Setenv(fakeEnv, "all well")
	ctx, cancel := context.WithCancel(t.Context())
	srv, _, err := startServer(ctx, new(ports), fakePeer("a"), "buffered", "binary")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-srv.ended
}

func TestMakePairs(t *testing.T) {
	limosa := &peer{name: limosaName, protocols: []string{"binary", "multi"}}
	python := &peer{name: "python", protocols: []string{"binary", "multi"}}
	golang := &peer{name: "go", protocols: []string{"binary"}}
	for _, test := range []struct {
		name      string
		protocols string
		peers     string
		self      bool
		want      []string
	}{
		{"both directions", "binary", "python,go", false, []string{
			"limosa -> python binary", "limosa -> go binary", "python -> limosa binary", "go -> limosa binary",
			"limosa -> nobody binary", "python -> nobody binary", "go -> nobody binary"}},
		{"only who speaks it", "multi", "python,go", false, []string{
			"limosa -> python multi", "python -> limosa multi",
			"limosa -> nobody binary", "python -> nobody binary", "go -> nobody binary"}},
		{"Limosa with itself", "binary", "limosa", false, []string{
			"limosa -> limosa binary", "limosa -> python binary", "limosa -> go binary",
			"python -> limosa binary", "go -> limosa binary",
			"limosa -> nobody binary", "python -> nobody binary", "go -> nobody binary"}},
		{"without Limosa", "multi", "python,go", true, []string{
			"python -> python multi", "python -> nobody binary", "go -> nobody binary"}},
		{"nobody speaks it", "json", "python,go", false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			peers := []*peer{limosa, python, golang}
			if test.self {
				peers = peers[1:]
			}
			o := &options{
				self: test.self, peers: strings.Split(test.peers, ","),
				transports: []string{"framed"}, protocols: strings.Split(test.protocols, ","),
			}
			var got []string
			for _, p := range makePairs(o, peers) {
				got = append(got, p.names()+" "+p.protocol)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("pairs:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestCheckServed(t *testing.T) {
	client := &peer{name: "x", calls: 21}
	for output, want := range map[string]string{
		"noise\nserved 21 methods, 40 calls\n": "",
		"served 23 methods, 40 calls\n":        "",
		"served 20 methods, 40 calls\n":        "served 20 methods, and the client calls 21",
		"":                                     "does not say",
		"panic: served 21 methods, 40 calls":   "does not say",
	} {
		_, err := checkServed(client, output)
		checkOutcome(t, outcome{err: err}, want)
	}
}

func TestTail(t *testing.T) {
	var t1 tail
	fmt.Fprint(&t1, "begin")
	if got := t1.String(); got != "begin" {
		t.Errorf("String = %q", got)
	}
	for range 10 {
		fmt.Fprint(&t1, strings.Repeat("x", tailBytes))
	}
	fmt.Fprint(&t1, "end")
	got := t1.String()
	if !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || len(got) > 2*tailBytes+10 {
		t.Errorf("String has %d bytes, from %q to %q", len(got), got[:8], got[len(got)-8:])
	}
}

func TestPortsAreTakenOnce(t *testing.T) {
	var p ports
	seen := map[int]bool{}
	for range 50 {
		port, err := p.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < firstPort || port >= lastPort {
			t.Fatalf("take = %d, after %v", port, seen)
		}
		seen[port] = true
	}
}

func TestPortsSkipsWhatIsTaken(t *testing.T) {
	var p ports
	port, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Skipf("somebody was faster: %v", err)
	}
	defer l.Close()
	p.mu.next = port
	if again, err := p.take(); err != nil || again == port {
		t.Errorf("take = %d, %v, though somebody listens there", again, err)
	}
}
