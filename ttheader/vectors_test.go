package ttheader

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// An exchange was recorded between Kitex 0.16.3 and itself, or a raw client.
type exchange struct {
	Name      string
	Note      string
	Direction []struct {
		From, Hex, Text string
		Conn            int
	}
}

// loadVectors gives the exchanges that have frames of streams, or those that
// have none.
func loadVectors(t testing.TB, streams bool) []exchange {
	data, err := os.ReadFile("testdata/kitex-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(all, func(x exchange) bool {
		return streams != slices.ContainsFunc(x.Direction, func(m struct {
			From, Hex, Text string
			Conn            int
		}) bool {
			p := unhex(t, m.Hex)
			return len(p) > 7 && p[4] == 0x10 && p[5] == 0 && p[7]&flagStream != 0
		})
	})
	if want := map[bool]int{false: 67, true: 27}[streams]; len(got) != want {
		t.Fatalf("%d exchanges, streams %v; the file has %d", len(got), streams, want)
	}
	return got
}

// refused are the exchanges whose request is no message for this server
// either: it closes, as Kitex does.
var refused = map[string]string{
	"probe-protocol-02":    "unknown protocol",
	"probe-info-id-5":      "unknown info block",
	"probe-header-words-0": "empty header",
	"probe-http":           "no message of a known form",
	"probe-message-type-2": "reply from a client",
}

// differs are the exchanges in which this server answers otherwise on purpose,
// with the reason; docs/wire/kitex.md tells more. edit makes of the recorded
// reply what is expected here.
var differs = map[string]struct {
	why  string
	edit func(*plain)
}{
	"ttheader-crc32c":               {"replies carry no checksum: TCP has one, and it is off in Kitex by default", dropStr(keyChecksum)},
	"ttheader-unknown-method":       {"the connection is in order and stays", dropStr(keyReset)},
	"probe-method-of-other-service": {"the connection stays", dropStr(keyReset)},
	"probe-unknown-service":         {"the connection stays, " + oneType, func(f *plain) { dropStr(keyReset)(f); unknownMethod(f) }},
	"buffered-unknown-method":       {oneType, unknownMethod},
	"framed-unknown-method":         {oneType, unknownMethod},
}

const oneType = "type 1, which all of Thrift knows, instead of Kitex's 20"

func unknownMethod(f *plain) { retype(f, raw.NoSuchService, raw.UnknownMethod) }

func dropStr(key string) func(*plain) {
	return func(f *plain) {
		f.Strs = slices.DeleteFunc(f.Strs, func(kv [2]string) bool { return kv[0] == key })
	}
}

func retype(f *plain, from, to raw.ExceptionType) {
	text, typ, _, err := raw.ParseException(f.Body)
	if err != nil || typ != from {
		panic("no exception of the expected type")
	}
	f.Body = raw.AppendException(nil, text, to)
}

// normal leaves out what this server cannot know: whether Kitex's has handlers
// for metadata. It answers with their key 22 if the client uses them.
func (f plain) normal() string {
	f.Ints = nil
	return f.String()
}

func TestKitexVectorsAsServer(t *testing.T) {
	for _, x := range loadVectors(t, false) {
		t.Run(x.Name, func(t *testing.T) {
			s := Protocol{}.Open(wire.Server, testLimits)
			var in buf.In
			defer in.Close()
			calls := map[int32]wire.Event{} // by sequence id
			conn := 0
			for _, m := range x.Direction {
				p := unhex(t, m.Hex)
				if m.Conn != conn {
					s, conn = Protocol{}.Open(wire.Server, testLimits), m.Conn
				}
				switch {
				case len(p) == 0:
				case m.From == "client" && refused[x.Name] != "":
					feed(&in, p)
					evs, _, err := cutAll(s, &in)
					if err == nil || !strings.Contains(err.Error(), refused[x.Name]) || len(evs) != 0 {
						t.Fatalf("%d events, error %v; want %q", len(evs), err, refused[x.Name])
					}
				case m.From == "client":
					feed(&in, p)
					evs, _, err := cutAll(s, &in)
					if err != nil || len(evs) != 1 {
						t.Fatalf("%s: %d events, %v", m.Text, len(evs), err)
					}
					ev := evs[0]
					if x.Name == "probe-mesh-header" {
						p = p[12:]
					}
					f := readPlain(p)
					if x.Name == "probe-mesh-header" {
						f.Strs = [][2]string{{"a", "b"}}
					}
					checkRequest(t, ev, f)
					ev.Body.Release()
					ev.Body = buf.View{}
					calls[seqOf(ev.Tag)] = ev
				default:
					checkReply(t, x.Name, s, calls, readPlain(p))
				}
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// checkRequest compares an event with what the oracle reads.
func checkRequest(t *testing.T, ev wire.Event, f plain) {
	t.Helper()
	want := wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: ev.ID, Service: f.str(keyService), Method: f.Name,
		Tag: ev.Tag, Body: buf.ViewOf(f.Body),
	}
	if f.Type == 4 {
		want.Flags |= wire.Oneway
	}
	if f.Flags&1 != 0 {
		want.Flags |= wire.Unordered
	}
	if ms, err := strconv.Atoi(f.Ints[intTimeout]); err == nil {
		want.Timeout = duration([]byte(strconv.Itoa(ms)), 1e6)
	}
	if f.Token != "" {
		want.Header.Add(tokenKey, f.Token)
	}
	for _, kv := range f.Strs {
		if k, ok := strings.CutPrefix(kv[0], "RPC_PERSIST_"); ok {
			want.Header = append(want.Header, rpc.Pair{Key: k, Value: kv[1], Scope: rpc.Persistent})
		} else if k, ok := strings.CutPrefix(kv[0], "RPC_TRANSIT_"); ok {
			want.Header.Add(k, kv[1])
		} else if !internal(kv[0]) {
			want.Header.Add(kv[0], kv[1])
		}
	}
	if got, want := trace(ev), trace(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if seqOf(ev.Tag) != f.MsgSeq {
		t.Errorf("sequence id %d, want %d", seqOf(ev.Tag), f.MsgSeq)
	}
}

// checkReply lets s say what the recorded reply f says, and compares.
func checkReply(t *testing.T, name string, s wire.Session, calls map[int32]wire.Event, f plain) {
	t.Helper()
	ev, ok := calls[f.MsgSeq]
	if f.Name == goodbyeName {
		// Kitex's own clients panic on its goodbye: ours is crrst on the next
		// answer, and FIN.
		if p, err := frameBytes(s, &wire.Event{Flags: wire.GoAway}, nil); err != nil || len(p) != 0 {
			t.Errorf("goodbye: %x, %v", p, err)
		}
		return
	}
	if !ok {
		t.Fatalf("reply to an unknown sequence id %d", f.MsgSeq)
	}
	d := differs[name]
	ev.Flags, ev.Header, ev.Timeout = wire.End, nil, 0
	body := f.Body
	switch {
	case f.Type == 3:
		text, typ, _, err := raw.ParseException(f.Body)
		if err != nil {
			t.Fatal(err)
		}
		ev.Err, body = &rpc.Error{Code: typ.Code(), Msg: text}, nil
	case f.str(keyBizStatus) != "":
		ev.Err, body = &rpc.Error{Code: rpc.Unknown, Msg: f.str(keyBizMessage)}, nil
		for _, kv := range f.Strs {
			ev.Err.Details.Add(kv[0], kv[1])
		}
	default:
		ev.Flags |= wire.Message
	}
	for _, kv := range f.Strs {
		if !internal(kv[0]) {
			ev.Trailer.Add(kv[0], kv[1])
		}
	}
	if f.str(keyReset) != "" && d.edit == nil {
		frameBytes(s, &wire.Event{Flags: wire.GoAway}, nil)
	}
	p, err := frameBytes(s, &ev, body)
	if err != nil {
		t.Fatal(err)
	}
	if d.edit != nil {
		was := f.normal()
		d.edit(&f)
		if f.normal() == was {
			t.Errorf("the exchange does not differ any more (%s)", d.why)
		}
	}
	got := readPlain(p)
	if got.normal() != f.normal() {
		t.Errorf("got  %s\nwant %s", got, f)
	}
	if ev.Tag[0]&tagKitex != 0 && got.Ints[intMessageType] != f.Ints[intMessageType] {
		t.Errorf("message type %q, want %q", got.Ints[intMessageType], f.Ints[intMessageType])
	}
}

func TestKitexVectorsAsClient(t *testing.T) {
	for _, x := range loadVectors(t, false) {
		t.Run(x.Name, func(t *testing.T) {
			var s wire.Session
			var in buf.In
			defer in.Close()
			conn := -1
			for _, m := range x.Direction {
				p := unhex(t, m.Hex)
				if len(p) == 0 || refused[x.Name] != "" || x.Name == "probe-mesh-header" && m.From == "client" {
					continue
				}
				f := readPlain(p)
				form := TTHeader
				if !f.TT {
					form = Buffered
					if f.Framed {
						form = Framed
					}
				}
				if m.Conn != conn {
					s, conn = Protocol{Form: form, NoOffer: true}.Open(wire.Client, testLimits), m.Conn
				}
				if m.From == "server" {
					feed(&in, p)
					evs, _, err := cutAll(s, &in)
					if err != nil || len(evs) != 1 {
						t.Fatalf("%s: %d events, %v", m.Text, len(evs), err)
					}
					checkAnswer(t, evs[0], f)
					release(evs)
				} else if !strings.HasPrefix(x.Name, "probe-") { // probes write what no client does
					checkCall(t, s, f)
				}
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// checkCall lets a client say what the recorded request says.
func checkCall(t *testing.T, s wire.Session, f plain) {
	t.Helper()
	ev := wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: uint64(uint32(f.MsgSeq)),
		Service: f.str(keyService), Method: f.Name, Timeout: duration([]byte(f.Ints[intTimeout]), 1e6),
	}
	if f.Type == 4 {
		ev.Flags |= wire.Oneway
	}
	if f.Token != "" {
		ev.Header.Add(tokenKey, f.Token)
	}
	for _, kv := range f.Strs {
		if k, ok := strings.CutPrefix(kv[0], "RPC_PERSIST_"); ok {
			ev.Header = append(ev.Header, rpc.Pair{Key: k, Value: kv[1], Scope: rpc.Persistent})
		} else if k, ok := strings.CutPrefix(kv[0], "RPC_TRANSIT_"); ok {
			ev.Header.Add(k, kv[1])
		}
	}
	p, err := frameBytes(s, &ev, f.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := readPlain(p)
	if f.TT {
		// Our client's messages are bare after the TTHeader, which saves a
		// length and which every Kitex server takes. It sends no flag, no
		// names of its own and no checksum; and always key 9.
		f.Framed, f.Flags = false, 0
		dropStr(keyChecksum)(&f)
		ints := map[int]string{intMethod: f.Name}
		if v, ok := f.Ints[intTimeout]; ok {
			ints[intTimeout] = v
		}
		f.Ints = ints
	}
	if got.String() != f.String() {
		t.Errorf("got  %s\nwant %s", got, f)
	}
}

// checkAnswer compares a client's event with what the oracle reads.
func checkAnswer(t *testing.T, ev wire.Event, f plain) {
	t.Helper()
	want := wire.Event{Flags: wire.End, ID: uint64(uint32(f.MsgSeq)), Method: f.Name}
	for _, kv := range f.Strs {
		if !internal(kv[0]) {
			want.Trailer.Add(kv[0], kv[1])
		}
	}
	switch {
	case f.str(keyBizStatus) != "":
		want.Err = &rpc.Error{Code: rpc.Unknown, Msg: f.str(keyBizMessage), Sent: rpc.Processed}
		for _, k := range []string{keyBizStatus, keyBizMessage, keyBizExtra} {
			if v := f.str(k); v != "" {
				want.Err.Details.Add(k, v)
			}
		}
	case f.Type == 3:
		text, typ, _, err := raw.ParseException(f.Body)
		if err != nil {
			t.Fatal(err)
		}
		want.Err = &rpc.Error{Code: typ.Code(), Msg: text, Sent: rpc.Processed}
	default:
		want.Flags |= wire.Message
		want.Body = buf.ViewOf(f.Body)
	}
	if f.str(keyReset) == "1" {
		want.Flags |= wire.GoAway
	}
	if f.Name == goodbyeName {
		want = wire.Event{Flags: wire.GoAway}
	}
	if got, want := trace(ev), trace(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
