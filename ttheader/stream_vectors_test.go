package ttheader

import (
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// streamsDiffer are the exchanges with streams in which this side does
// otherwise on purpose; docs/wire/kitex.md tells more.
var streamsDiffer = map[string]struct {
	why    string
	server func(*plain) // makes of a recorded frame of the server what ours sends
	client func(*plain) // the same of the client's
	extra  *rpc.Error   // ours ends the stream so, where Kitex says nothing
	serves bool         // ours takes what comes next, where Kitex closes or is silent
}{
	"stream-server-meta":               {why: "there is metadata of the trailer only", server: func(f *plain) { dropStr("hkey")(f) }},
	"stream-cancel":                    {why: "no path of services that were cancelled", client: dropStr("ttscp")},
	"stream-deadline":                  {why: "the same", client: dropStr("ttscp")},
	"stream-recv-timeout":              {why: "the same, and a deadline is one, whatever it is for", client: func(f *plain) { dropStr("ttscp")(f); retypeReset(f, 12014, 12015) }},
	"stream-unknown-method":            {why: "the client is told instead of left waiting; and no path", client: dropStr("ttscp"), extra: &rpc.Error{Code: rpc.Unimplemented, Msg: "unknown method"}},
	"probe-stream-unknown-method":      {why: "the client is told instead of left waiting", extra: &rpc.Error{Code: rpc.Unimplemented, Msg: "unknown method"}},
	"probe-unary-on-stream-connection": {why: "a call is served beside streams; Kitex closes", serves: true},
	"probe-stream-on-unary-connection": {why: "a stream is served beside calls; Kitex never answers", serves: true},
}

func retypeReset(f *plain, from, to raw.ExceptionType) {
	if f.stream() == '5' {
		retype(f, from, to)
	}
}

// endCodes are the codes of exceptions at the end of streams, a second time.
var endCodes = map[raw.ExceptionType]rpc.Code{
	1: rpc.Unimplemented, 6: rpc.Internal, 12007: rpc.Canceled, 12014: rpc.DeadlineExceeded, 12015: rpc.DeadlineExceeded,
}

// endError is what an oracle makes of how a recorded stream ends.
func endError(t *testing.T, f plain) *rpc.Error {
	t.Helper()
	switch {
	case f.str("biz-status") != "":
		e := &rpc.Error{Code: rpc.Unknown, Msg: f.str("biz-message"), Sent: rpc.Processed, Remote: true}
		for _, k := range []string{"biz-status", "biz-message", "biz-extra"} {
			if v := f.str(k); v != "" {
				e.Details.Add(k, v)
			}
		}
		return e
	case f.Type == 0 && f.stream() == '5':
		return &rpc.Error{Code: rpc.Unknown, Msg: "the peer ended the stream", Sent: rpc.Processed, Remote: true}
	case f.Type == 0:
		return nil
	}
	text, typ, _, err := raw.ParseException(f.Body)
	code, known := endCodes[typ]
	if err != nil || f.Type != 3 || !known {
		t.Fatalf("%s ends with type %d, %v", f, typ, err)
	}
	return &rpc.Error{Code: code, Msg: text, Sent: rpc.Processed, Remote: true}
}

// streamEvent is what an oracle makes of a stream's frame.
func streamEvent(t *testing.T, f plain, side wire.Side) wire.Event {
	ev := wire.Event{Flags: wire.Stream, ID: uint64(f.Seq)}
	if side == wire.Server {
		ev.ID |= 2 << 32
	}
	var pairs rpc.Metadata
	for _, kv := range f.Strs {
		if k, ok := strings.CutPrefix(kv[0], "RPC_PERSIST_"); ok {
			pairs = append(pairs, rpc.Pair{Key: k, Value: kv[1], Scope: rpc.Persistent})
		} else if !slices.Contains([]string{"isn", "ttscp", "biz-status", "biz-message", "biz-extra"}, kv[0]) {
			pairs.Add(strings.TrimPrefix(kv[0], "RPC_TRANSIT_"), kv[1])
		}
	}
	switch f.stream() {
	case '2':
		ev.Header = pairs
		if side == wire.Server {
			ev.Flags |= wire.Open | wire.Unordered
			ev.Service, ev.Method = f.str("isn"), f.Ints[9]
			ev.Tag = [2]uint64{uint64(f.Seq)<<32 | uint64(shapeStream), uint64(f.Seq)}
		} else if len(pairs) == 0 {
			return wire.Event{} // it says nothing
		}
	case '3':
		ev.Flags |= wire.Message
		ev.Body = buf.ViewOf(f.Body)
	case '4':
		ev.Flags |= wire.End
		ev.Trailer, ev.Err = pairs, endError(t, f)
	case '5':
		ev.Flags |= wire.Reset
		ev.Err = endError(t, f)
	default:
		t.Fatalf("no frame of a stream: %s", f)
	}
	return ev
}

// A replay lets a session cut what Kitex's peer sent, and say what Kitex said.
type replay struct {
	t     *testing.T
	x     exchange
	side  wire.Side
	s     wire.Session
	in    buf.In
	opens map[uint32]wire.Event // server: by stream
	calls map[int32]wire.Event  // and calls without streams
	due   map[uint32]plain      // server: the HEADER that goes with the next frame
	said  []plain               // what the session framed and the recording has not shown yet
}

func (r *replay) cut(p []byte) {
	t := r.t
	feed(&r.in, p)
	evs, _, err := cutAll(r.s, &r.in)
	defer release(evs)
	f := readPlain(p)
	if f.stream() == '6' {
		if err == nil || !strings.Contains(err.Error(), `type "6"`) || len(evs) != 0 {
			t.Fatalf("%d events, error %v", len(evs), err)
		}
		return
	}
	if err != nil || len(evs) > 1 {
		t.Fatalf("%d events, %v", len(evs), err)
	}
	switch {
	case f.stream() == 0 && r.side == wire.Server:
		checkRequest(t, evs[0], f)
		r.calls[f.MsgSeq] = evs[0]
		return
	case f.stream() == 0:
		checkAnswer(t, evs[0], f)
		return
	}
	want := streamEvent(t, f, r.side)
	if want.Flags == 0 {
		if len(evs) != 0 {
			t.Errorf("got %s, want nothing", trace(evs[0]))
		}
		return
	}
	if len(evs) != 1 || trace(evs[0]) != trace(want) {
		t.Fatalf("got %d events, %s\nwant %s", len(evs), trace(append(evs, wire.Event{})[0]), trace(want))
	}
	if want.Flags&wire.Open != 0 {
		r.opens[f.Seq] = evs[0]
	}
}

// frame keeps what the session says.
func (r *replay) frame(ev wire.Event, body []byte) {
	r.t.Helper()
	p, err := frameBytes(r.s, &ev, body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.said = append(r.said, readAll(p)...)
}

// saw compares the next of what the session said with what was recorded.
func (r *replay) saw(f plain, edit func(*plain)) {
	r.t.Helper()
	if len(r.said) == 0 {
		r.t.Fatalf("said nothing, want %s", f)
	}
	if edit != nil {
		edit(&f)
	}
	if got := r.said[0]; got.String() != f.String() {
		r.t.Errorf("got  %s\nwant %s", got, f)
	}
	r.said = r.said[1:]
}

// event gives the flags and contents of what was recorded of one side.
func (r *replay) event(f plain, ev *wire.Event) (body []byte) {
	ev.Flags |= wire.Stream
	switch f.stream() {
	case '3':
		ev.Flags |= wire.Message
		return f.Body
	case '4':
		ev.Flags |= wire.End
	case '5':
		ev.Flags |= wire.Reset
	}
	if ev.Err = endError(r.t, f); f.stream() != '2' && ev.Err == nil {
		for _, kv := range f.Strs {
			ev.Trailer.Add(kv[0], kv[1])
		}
	}
	return nil
}

// sayServer lets a server say what the recorded one did. A HEADER goes with
// what follows it.
func (r *replay) sayServer(f plain) {
	d := streamsDiffer[r.x.Name]
	if f.stream() == 0 {
		checkReply(r.t, r.x.Name, r.s, r.calls, f)
		return
	}
	open, ok := r.opens[f.Seq]
	if !ok {
		r.t.Fatalf("no stream %d", f.Seq)
	}
	if f.stream() == '2' {
		r.due[f.Seq] = f
		return
	}
	ev := wire.Event{ID: open.ID, Tag: open.Tag, Method: open.Method}
	body := r.event(f, &ev)
	r.frame(ev, body)
	if h, ok := r.due[f.Seq]; ok {
		delete(r.due, f.Seq)
		r.saw(h, d.server)
	}
	r.saw(f, d.server)
}

// sayClient lets a client say what the recorded one did.
func (r *replay) sayClient(f plain) {
	if f.stream() == 0 {
		checkCall(r.t, r.s, f)
		return
	}
	edit := streamsDiffer[r.x.Name].client
	if len(r.said) > 0 { // the TRAILER after a RST
		r.saw(f, edit)
		return
	}
	ev := wire.Event{ID: uint64(f.Seq), Method: f.Ints[9]}
	if f.stream() == '2' {
		ev.Flags, ev.Service = wire.Open, f.str("isn")
		ev.Header = streamEvent(r.t, f, wire.Server).Header
	}
	body := r.event(f, &ev)
	r.frame(ev, body)
	r.saw(f, edit)
}

// TestKitexStreamsAsServer cuts what Kitex's client sent in streams, and says
// what its server answered.
func TestKitexStreamsAsServer(t *testing.T) {
	for _, x := range loadVectors(t, true) {
		t.Run(x.Name, func(t *testing.T) {
			d := streamsDiffer[x.Name]
			r := &replay{t: t, x: x, s: Protocol{}.Open(wire.Server, testLimits), side: wire.Server,
				opens: map[uint32]wire.Event{}, calls: map[int32]wire.Event{}, due: map[uint32]plain{}}
			defer r.in.Close()
			for _, m := range x.Direction {
				switch p := unhex(t, m.Hex); {
				case len(p) == 0: // closes, or says nothing
				case m.From == "client":
					r.cut(p)
				default:
					r.sayServer(readPlain(p))
				}
			}
			if d.extra != nil {
				open := r.opens[1]
				r.frame(wire.Event{Flags: wire.Stream | wire.End, ID: open.ID, Tag: open.Tag, Method: open.Method, Err: d.extra}, nil)
				if len(r.said) != 2 || r.said[0].stream() != '2' || r.said[1].stream() != '4' || r.said[1].Type != 3 || r.said[1].Name != open.Method {
					t.Errorf("%s: said %v", d.why, r.said)
				}
				r.said = nil
			}
			if d.serves && (len(r.opens) != 1 || len(r.calls) != 1) {
				t.Errorf("%s: %d streams and %d calls came of it", d.why, len(r.opens), len(r.calls))
			}
			if len(r.said) > 0 || len(r.due) > 0 {
				t.Errorf("not recorded: %v; not said: %v", r.said, r.due)
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// TestKitexStreamsAsClient cuts what Kitex's server sent, and says what its
// client did. What probes write no client does.
func TestKitexStreamsAsClient(t *testing.T) {
	for _, x := range loadVectors(t, true) {
		t.Run(x.Name, func(t *testing.T) {
			r := &replay{t: t, x: x, s: Protocol{NoOffer: true}.Open(wire.Client, testLimits), side: wire.Client}
			defer r.in.Close()
			for _, m := range x.Direction {
				switch p := unhex(t, m.Hex); {
				case len(p) == 0:
				case m.From == "server":
					r.cut(p)
				case !strings.HasPrefix(x.Name, "probe-"):
					r.sayClient(readPlain(p))
				}
			}
			if len(r.said) > 0 {
				t.Errorf("not recorded: %v", r.said)
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// TestStreamsDiffer: what is listed differs.
func TestStreamsDiffer(t *testing.T) {
	names := map[string][]plain{}
	for _, x := range loadVectors(t, true) {
		names[x.Name] = []plain{}
		for _, m := range x.Direction {
			if p := unhex(t, m.Hex); len(p) > 0 {
				names[x.Name] = append(names[x.Name], readPlain(p))
			}
		}
	}
	for name, d := range streamsDiffer {
		frames, ok := names[name]
		if !ok {
			t.Errorf("%s is not recorded", name)
		}
		for _, edit := range []func(*plain){d.server, d.client} {
			if edit != nil && !slices.ContainsFunc(frames, func(f plain) bool {
				was := f.String()
				edit(&f)
				return f.String() != was
			}) {
				t.Errorf("%s does not differ (%s)", name, d.why)
			}
		}
	}
}
