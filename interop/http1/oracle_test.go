package http1

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http1"
)

// An oracle is a program with other parsers in it.
type oracle struct {
	in    *bufio.Writer
	out   *bufio.Reader
	names []string
}

// startOracle runs a program, and skips the test if it, or what it needs, is not there.
func startOracle(t *testing.T, want string, command ...string) *oracle {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("skipped: no", command[0], "here")
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	o := &oracle{in: bufio.NewWriter(in), out: bufio.NewReader(out)}
	line, err := o.out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &o.names) != nil {
		t.Skip("skipped:", strings.Join(command, " "), "does not run here")
	}
	if len(o.names) == 0 {
		t.Skip("skipped:", want)
	}
	return o
}

// A verdict is what a parser made of a sequence of messages.
type verdict struct {
	Messages [][3]string `json:"messages"`
	Left     bool        `json:"left"`
}

// ask puts a batch of cases and gives the answers to them.
func (o *oracle) ask(t *testing.T, kind byte, cases []string) (answers []map[string]verdict) {
	t.Helper()
	asked := make(chan error, 1)
	go func() {
		for _, c := range cases {
			var head [5]byte
			head[0] = kind
			binary.BigEndian.PutUint32(head[1:], uint32(len(c)))
			o.in.Write(head[:])
			o.in.WriteString(c)
		}
		asked <- o.in.Flush()
	}()
	for range cases {
		line, err := o.out.ReadBytes('\n')
		v := map[string]verdict{}
		if err == nil {
			err = json.Unmarshal(line, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, v)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	return answers
}

// ours is what Limosa reads: requests as a server, or one answer to a GET.
func ours(t *testing.T, kind byte, p string) (messages [][3]string) {
	side := http1.Server
	if kind == 1 {
		side = http1.Client
	}
	s := http1.New(side, http1.Config{})
	var in buf.In
	var out buf.Out
	defer in.Close()
	defer out.Reset()
	if kind == 1 {
		sd := http1.Send{Flags: http1.Open | http1.End | http1.Gathered, ID: 1, Head: getHead}
		if err := s.End(&out, s.Begin(&out, &sd), &sd); err != nil {
			t.Fatal(err)
		}
	}
	note := func(ev *http1.Event) {
		if ev.Err == nil && ev.Flags&http1.End != 0 {
			m := [3]string{ev.Fields.Method, ev.Fields.Path, hex.EncodeToString(ev.Body.Bytes())}
			if kind == 1 {
				m[0] = strconv.Itoa(ev.Fields.Status)
			}
			messages = append(messages, m)
		}
	}
	in.Give(buf.ViewOf([]byte(p)))
	for {
		var ev http1.Event
		need, err := s.Cut(&in, &ev)
		if err != nil {
			return messages
		}
		if need > 0 {
			break
		}
		s.Apply(&out, &ev)
		note(&ev)
		ev.Body.Release()
		if kind == 1 && len(messages) > 0 {
			return messages
		}
	}
	if kind == 1 {
		var ev http1.Event
		if s.EOF(&in, &ev) == nil && ev.Flags != 0 {
			note(&ev)
		}
	}
	return messages
}

var getHead = http1.NewHead(http1.Field{Name: ":method", Value: "GET"}, http1.Field{Name: ":path", Value: "/"}, http1.Field{Name: ":authority", Value: "h"})

// compare fails if a parser has refused what we take, or read it in another way.
func compare(t *testing.T, kind byte, p string, answers map[string]verdict) (taken int) {
	own := ours(t, kind, p)
	for name, v := range answers {
		for i, m := range own {
			if i >= len(v.Messages) && v.Left {
				break // behind an upgrade, which we do not make
			}
			if i >= len(v.Messages) {
				t.Fatalf("%s does not take message %d\n%q\nours %q\ntheirs %q", name, i, p, own, v.Messages)
			}
			their := v.Messages[i]
			if kind == 0 && !strings.HasPrefix(their[1], "/") && strings.HasSuffix(their[1], m[1]) || kind == 0 && m[1] == "/" && strings.Contains(their[1], "://") || kind == 0 && m[1] == "*" {
				their[1] = m[1] // the absolute form
			}
			if m != their {
				t.Fatalf("%s reads message %d otherwise\n%q\nours   %q\ntheirs %q", name, i, p, m, their)
			}
		}
	}
	return len(own)
}

// cases is how many random sequences are compared: LIMOSA_HTTP1_CASES.
func cases() int {
	if n, err := strconv.Atoi(os.Getenv("LIMOSA_HTTP1_CASES")); err == nil {
		return n
	}
	return 5000
}

func run(t *testing.T, o *oracle) {
	for kind, what := range []string{"requests", "answers"} {
		rng := rand.New(rand.NewPCG(uint64(cases()), uint64(kind)))
		total, taken := 0, 0
		for total < cases() {
			var batch []string
			for range 500 {
				batch = append(batch, sequence(rng, kind == 1))
			}
			for i, a := range o.ask(t, byte(kind), batch) {
				if compare(t, byte(kind), batch[i], a) > 0 {
					taken++
				}
			}
			total += len(batch)
		}
		t.Logf("%s, %s: %d sequences, of %d something is taken", fmt.Sprint(o.names), what, total, taken)
		if taken < total/10 || taken > total*9/10 {
			t.Errorf("of %d sequences of %s %d are taken: that proves little", total, what, taken)
		}
	}
}

// TestPython compares with h11 and with llhttp as httptools has it, as far as they are
// installed for LIMOSA_HTTP1_PYTHON, or python3. `make interop-http1` installs them.
func TestPython(t *testing.T) {
	python := os.Getenv("LIMOSA_HTTP1_PYTHON")
	if python == "" {
		python = "python3"
	}
	run(t, startOracle(t, python+" has neither h11 nor httptools; make interop-http1 installs both", python, "testdata/oracle.py"))
}

// TestNode compares with the llhttp of Node.
func TestNode(t *testing.T) {
	run(t, startOracle(t, "", "node", "--no-deprecation", "testdata/oracle.js"))
}
