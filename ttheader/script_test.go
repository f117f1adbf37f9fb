package ttheader

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

var update = flag.Bool("update", false, "write what the scripts print into them")

// TestScripts runs testdata/script/*.txt. A line is a comment (#), a command,
// or (>) what the command before it prints:
//
//	session SIDE [framed|buffered|theader] [compact] [multiplexed] [nonstrict] [nooffer] [host=H] [unix=P] [shm=P] [message=N] [header=N] [entries=N]
//	in BYTES         feeds bytes, prints the events that come of them
//	apply            gives the last event to Apply, prints what that appends
//	send [oneway|goaway[=last]|reset] [answer] [stream=FLAG,FLAG] [credit=N] [id=N] [service=S] [method=M] [timeout=D] [h:K=V] [p:K=V] [t:K=V] [err=CODE:TEXT] [d:K=V] [refused] [body=HEX]
//	caps             prints what the session knows of its peer
//	room ID          prints how many bytes of messages the stream's peer takes
//
// An answer takes Tag and method of the last request. BYTES are hex; "x" is a
// string with its length in four bytes, 'x' in two; [ ] are preceded by their
// length in four bytes; { } by their length in words, and padded.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &scriptRun{t: t}
	defer r.in.Close()
	var got []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, ">") {
			continue
		}
		got = append(got, line)
		if line != "" && line[0] != '#' {
			for _, l := range r.run(line) {
				got = append(got, "> "+l)
			}
		}
	}
	text := strings.Join(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text != string(data) {
		t.Errorf("the script prints:\n%s", text)
	}
}

type scriptRun struct {
	t    *testing.T
	s    wire.Session
	in   buf.In
	last wire.Event // the last event
	req  wire.Event // the last request
}

func (r *scriptRun) run(line string) []string {
	cmd, rest, _ := strings.Cut(line, " ")
	switch cmd {
	case "session":
		r.open(strings.Fields(rest))
		return nil
	case "in":
		p, tail := scriptBytes(r.t, rest)
		if tail != "" {
			r.t.Fatalf("left over: %s", tail)
		}
		return r.feed(p)
	case "apply":
		var out buf.Out
		defer out.Reset()
		r.s.Apply(&out, &r.last)
		return describe(out.Bytes())
	case "caps":
		return []string{fmt.Sprintf("%+v", r.s.Caps())}
	case "room":
		var id uint64
		fmt.Sscan(rest, &id)
		if n := r.s.Credit(id); n < math.MaxInt || r.s.Caps().Window > 0 {
			return []string{fmt.Sprint(n)}
		}
		return []string{"any"}
	case "send":
		return r.send(strings.Fields(rest))
	}
	r.t.Fatalf("unknown command %q", cmd)
	return nil
}

func (r *scriptRun) open(args []string) {
	p, side, lim := Protocol{}, wire.Client, rpc.Limits{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		n := 0
		fmt.Sscan(value, &n)
		switch name {
		case "client":
		case "server":
			side = wire.Server
		case "framed":
			p.Form = Framed
		case "buffered":
			p.Form = Buffered
		case "theader":
			p.Form = THeader
		case "compact":
			p.Compact = true
		case "multiplexed":
			p.Multiplexed = true
		case "nonstrict":
			p.NonStrict = true
		case "nooffer":
			p.NoOffer = true
		case "host":
			p.Host = value
		case "unix":
			p.Unix = value
		case "shm":
			p.Shm = value
		case "message":
			lim.MessageBytes = n
		case "header":
			lim.HeaderBytes = n
		case "entries":
			lim.HeaderEntries = n
		default:
			r.t.Fatalf("unknown argument %q", a)
		}
	}
	r.in.Close()
	r.s, r.last, r.req = p.Open(side, lim.WithDefaults()), wire.Event{}, wire.Event{}
}

func (r *scriptRun) feed(p []byte) (lines []string) {
	feed(&r.in, p)
	evs, need, err := cutAll(r.s, &r.in)
	for i := range evs {
		ev := &evs[i]
		lines = append(lines, trace(*ev))
		if ev.Flags&wire.Packed != 0 {
			r.s.Unpack(ev, math.MaxInt)
			lines = append(lines, "unpacked: "+trace(*ev))
		}
		r.last = *ev
		if ev.Flags&wire.Open != 0 {
			r.req = *ev
		}
	}
	release(evs)
	switch {
	case err != nil:
		lines = append(lines, "error: "+err.Error())
	case r.in.Len() > 0:
		lines = append(lines, fmt.Sprint("need ", need))
	}
	return lines
}

func (r *scriptRun) send(args []string) []string {
	ev := wire.Event{Flags: wire.Open | wire.Message | wire.End}
	var body []byte
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		kind, key, _ := strings.Cut(name, ":")
		switch kind {
		case "oneway":
			ev.Flags |= wire.Oneway
		case "goaway":
			ev.Flags = wire.GoAway
			if value == "last" {
				ev.Flags |= wire.HasLast
			}
		case "reset":
			ev.Flags = wire.Reset
		case "answer":
			ev.Flags = wire.Message | wire.End
			ev.ID, ev.Method, ev.Tag, ev.Encoding = r.req.ID, r.req.Method, r.req.Tag, r.req.Encoding
		case "stream":
			ev.Flags = wire.Stream
			for _, f := range strings.Split(value, ",") {
				ev.Flags |= map[string]wire.Flags{"open": wire.Open, "message": wire.Message, "end": wire.End, "reset": wire.Reset, "credit": wire.Credit}[f]
			}
		case "credit":
			fmt.Sscan(value, &ev.Credit)
		case "id":
			fmt.Sscan(value, &ev.ID)
		case "service":
			ev.Service = value
		case "method":
			ev.Method = value
		case "timeout":
			ev.Timeout, _ = time.ParseDuration(value)
		case "h":
			ev.Header.Add(key, value)
		case "p":
			ev.Header = append(ev.Header, rpc.Pair{Key: key, Value: value, Scope: rpc.Persistent})
		case "t":
			ev.Trailer.Add(key, value)
		case "err":
			code, text, _ := strings.Cut(value, ":")
			c, ok := rpc.ParseCode(code)
			if !ok {
				r.t.Fatalf("no code %q", code)
			}
			ev.Flags, ev.Err = ev.Flags&^wire.Message, &rpc.Error{Code: c, Msg: strings.ReplaceAll(text, "_", " ")}
		case "refused":
			ev.Err.Sent = rpc.Refused
		case "d":
			ev.Err.Details.Add(key, value)
		case "body":
			body = unhex(r.t, value)
		default:
			r.t.Fatalf("unknown argument %q", a)
		}
	}
	p, err := frameBytes(r.s, &ev, body)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	return describe(p)
}

// describe reads what a session appended with the oracle, and gives its bytes.
func describe(p []byte) (lines []string) {
	if len(p) == 0 {
		return []string{"nothing"}
	}
	func() {
		defer func() {
			if recover() != nil {
				lines = append(lines, "a form that the oracle does not read")
			}
		}()
		lines = nil
		for _, f := range readAll(p) {
			lines = append(lines, f.String())
		}
	}()
	return append(lines, hex.EncodeToString(p))
}

// scriptBytes reads BYTES up to a closing bracket.
func scriptBytes(t testing.TB, s string) (p []byte, rest string) {
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		c := s[0]
		switch c {
		case ']', '}':
			return p, s
		case '[', '{':
			inner, tail := scriptBytes(t, s[1:])
			if tail == "" {
				t.Fatalf("no end of %q", s)
			}
			s = tail[1:]
			if c == '[' {
				p = binary.BigEndian.AppendUint32(p, uint32(len(inner)))
			} else {
				for len(inner)%4 != 0 {
					inner = append(inner, 0)
				}
				p = binary.BigEndian.AppendUint16(p, uint16(len(inner)/4))
			}
			p = append(p, inner...)
		case '"', '\'':
			end := strings.IndexByte(s[1:], c) + 1
			if c == '"' {
				p = binary.BigEndian.AppendUint16(p, 0)
			}
			p = append(binary.BigEndian.AppendUint16(p, uint16(end-1)), s[1:end]...)
			s = s[end+1:]
		default:
			word, tail := s, ""
			if i := strings.IndexAny(s, " ]}"); i >= 0 {
				word, tail = s[:i], s[i:]
			}
			s, p = tail, append(p, unhex(t, word)...)
		}
	}
	return p, ""
}
