package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// frames gives one frame for each payload.
func frames(payloads ...string) (b []byte) {
	for _, p := range payloads {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// compiled gives the C programs, or skips the test where there is no compiler.
func compiled(t *testing.T) cPrograms {
	t.Helper()
	progs, done, err := buildC(t.Context())
	if errors.As(err, new(noCompiler)) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return progs
}

func TestWholeFrames(t *testing.T) {
	all := frames("one", "", "three and more")
	ends := []int{0, 7, 11, 29}
	for n := range len(all) + 1 {
		whole, need := wholeFrames(all[:n])
		i := 0
		for i+1 < len(ends) && ends[i+1] <= n {
			i++
		}
		wantNeed := ends[i] + frameHead - n // the length first
		if wantNeed <= 0 && i+1 < len(ends) {
			wantNeed = ends[i+1] - n
		}
		if whole != ends[i] || need != wantNeed {
			t.Errorf("%d bytes: %d whole, %d more; want %d, %d", n, whole, need, ends[i], wantNeed)
		}
	}
}

func TestParseNetRefuses(t *testing.T) {
	parsers := map[string]func([]string) (*netPlan, error){"net": parseNet, "idle": parseIdle, "accept": parseAccept}
	for name, parse := range parsers {
		for _, args := range []string{"-peers nobody", "-peers std,std", "-peers ", "-conns 0", "-conns x", "-o yaml", "-rounds 0", "-d 0s", "-nosuch 1", "-peers std extra"} {
			if _, err := parse(strings.SplitN(args, " ", 3)); !errors.As(err, new(usageError)) {
				t.Errorf("%s %s: %v, want a usage error", name, args, err)
			}
		}
	}
	for _, args := range []string{"-payload 0", "-payload 64,", "-depth 0", "-peers limosa-rpc"} {
		if _, err := parseNet(strings.Fields(args)); !errors.As(err, new(usageError)) {
			t.Errorf("net %s: %v, want a usage error", args, err)
		}
	}
}

func TestParseNetDefaults(t *testing.T) {
	p, err := parseNet(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.peers, " "); got != "limosa limosa-loop netpoll std c-epoll" {
		t.Errorf("peers %s", got)
	}
	if !slices.Equal(p.conns, []int{1, 100, 1000}) || !slices.Equal(p.payloads, []int{64}) || !slices.Equal(p.depths, []int{1}) || p.window != 2*time.Second || p.seed != 1 {
		t.Errorf("plan %+v", p)
	}
	idle, err := parseIdle([]string{"-seed", "7", "-d", "1s", "-o", "json"})
	if err != nil || !slices.Equal(idle.conns, []int{10000}) || idle.seed != 7 || !idle.json {
		t.Errorf("idle: %+v, %v", idle, err)
	}
	short, err := parseAccept(nil)
	if err != nil || !slices.Equal(short.conns, []int{20000}) || len(short.peers) != 4 {
		t.Errorf("accept: %+v, %v", short, err)
	}
}

func TestNetSettingsRotate(t *testing.T) {
	p, err := parseNet(strings.Fields("-peers std,netpoll -conns 1,2 -payload 8 -depth 1,3 -rounds 2"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[netSetting]bool{}
	first := map[string]int{}
	all := p.settings(p.peers)
	for i, s := range all {
		if seen[s] {
			t.Errorf("%+v twice", s)
		}
		seen[s] = true
		if i%2 == 0 {
			first[s.Peer]++
		}
	}
	if len(all) != 16 || first["std"] != 4 || first["netpoll"] != 4 {
		t.Errorf("%d measurements, who begins: %v", len(all), first)
	}
}

// TestEchoServersCut sends frames to each server in all kinds of pieces.
func TestEchoServersCut(t *testing.T) {
	names := append(echoNames(), stepPeer)
	progs, done, err := buildC(t.Context())
	if err == nil {
		t.Cleanup(done)
		names = append(names, "c-epoll")
	}
	big := trial.RandomText(300_000, 1)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if why := echoLater(name); why != "" {
				t.Skip(why)
			}
			server, err := startEcho(t.Context(), name, progs.server)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			for what, x := range map[string]struct {
				sent  []byte
				piece int
			}{
				"byte by byte":      {frames("one", "", "three"), 1},
				"across frames":     {frames("one", "", "three", "four and more"), 7},
				"together":          {frames(slices.Repeat([]string{"again"}, 1000)...), 1 << 20},
				"large":             {frames(big, "small", big), 50_000},
				"large, unread":     {frames(slices.Repeat([]string{big}, 40)...), 1 << 20},
				"small after large": {frames(big, "a", "b"), 1 << 20},
			} {
				c, err := net.Dial("tcp", server.Addr)
				if err != nil {
					t.Fatal(err)
				}
				c.SetDeadline(time.Now().Add(20 * time.Second))
				go func() {
					for p := range slices.Chunk(x.sent, x.piece) {
						if _, err := c.Write(p); err != nil {
							t.Errorf("%s: %v", what, err)
							return
						}
					}
				}()
				got := make([]byte, len(x.sent))
				if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, x.sent) {
					t.Errorf("%s: %d of %d bytes came back, %v", what, n, len(got), err)
				}
				c.Close()
			}
		})
	}
}

// TestClientVerifies holds that the C client takes nothing but what it sent.
func TestClientVerifies(t *testing.T) {
	progs := compiled(t)
	for name, x := range map[string]struct {
		answer func(request []byte) []byte
		want   string // in the error; "" if there is to be none
	}{
		"right":         {func(p []byte) []byte { return p }, ""},
		"wrong byte":    {func(p []byte) []byte { p[len(p)-1] ^= 1; return p }, "not the request"},
		"wrong length":  {func(p []byte) []byte { p[3]++; return p }, "not the request"},
		"answers twice": {func(p []byte) []byte { return append(p, p...) }, "answer"},
		"answers late":  {func(p []byte) []byte { return p[:len(p)-1] }, "within five seconds"},
		"closes":        {func(p []byte) []byte { return nil }, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				for p := make([]byte, frameHead+100); ; {
					if _, err := io.ReadFull(c, p); err != nil {
						return
					}
					p := x.answer(p)
					if p == nil {
						return
					}
					c.Write(p)
				}
			}()
			self := &trial.Process{Addr: l.Addr().String(), Cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
			r, err := progs.against(t.Context(), self, "echo", 1, 100, 1, 10, 50, 1)
			switch {
			case x.want == "" && (err != nil || r.P50 <= 0 || r.P99 < r.P50 || r.Seconds < .05):
				t.Errorf("%+v, %v", r, err)
			case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

func TestMeasureNet(t *testing.T) {
	progs := compiled(t)
	p := &netPlan{window: 60 * time.Millisecond, seed: 1}
	for _, name := range append(echoNames(), stepPeer, "c-epoll") {
		if echoLater(name) != "" {
			continue
		}
		for _, s := range []netSetting{{name, 1, 1, 1, 1}, {name, 1, 20, 64, 16}, {name, 1, 3, 70_000, 3}} {
			r, err := measureNet(t.Context(), p, progs, s)
			if err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			if r.Messages == 0 || r.MsgsPerS <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.ServerCPU <= 0 {
				t.Errorf("%+v: row %+v", s, r)
			}
		}
		r, err := measureAccept(t.Context(), p, progs, netSetting{name, 1, 300, 64, 1})
		if err != nil {
			t.Fatalf("accept, %s: %v", name, err)
		}
		if r.ConnsPerS <= 0 || r.ServerCPU <= 1 {
			t.Errorf("accept, %s: row %+v", name, r)
		}
	}
}

func TestMeasureIdle(t *testing.T) {
	if _, err := residentBytes(); err != nil {
		t.Skip(err)
	}
	p := &netPlan{seed: 1}
	for _, name := range append(echoNames(), stepPeer, idleRPC) {
		if echoLater(name) != "" {
			continue
		}
		r, err := measureIdle(t.Context(), p, netSetting{name, 1, 1000, 64, 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "std" && (r.BytesPerConn < 4<<10 || r.BytesPerConn > 64<<10) {
			t.Errorf("%s: %v bytes for each connection; its buffer alone has 4096", name, r.BytesPerConn)
		}
	}
}

// TestNetRowFields holds the names that scripts read, and that a row has no
// figures of other benchmarks.
func TestNetRowFields(t *testing.T) {
	for want, r := range map[string]netRow{
		"bench conns depth errors messages msgs_per_s p50_us p99_us payload peer round server_cpu_us": {Depth: 1, Messages: 1, MsgsPerS: 1, P50: 1, P99: 1, ServerCPU: 1},
		"bench bytes_per_conn conns errors payload peer round":                                        {BytesPerConn: 1},
		"bench conns conns_per_s errors payload peer round server_cpu_us":                             {ConnsPerS: 1, ServerCPU: 1},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		var got []string
		for name := range fields {
			got = append(got, name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("fields %v; want %s", got, want)
		}
	}
}

func TestNetRatioIsOfRounds(t *testing.T) {
	rows := func(cpu ...float64) (rs []*netRow) {
		for i, c := range cpu {
			rs = append(rs, &netRow{Round: i + 1, ServerCPU: c})
		}
		return rs
	}
	if got := netRatio(rows(1, 3, 2), rows(2, 6, 4), serverCPUOf); got != "0.500" {
		t.Errorf("ratio = %s, want 0.500", got)
	}
	if got := netRatio(rows(1), nil, serverCPUOf); got != "" {
		t.Errorf("ratio to nobody = %q", got)
	}
}
