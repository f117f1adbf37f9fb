package metamorph_test

import (
	"crypto/tls"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/metamorph/gen/ledger"
	"github.com/limosa-rpc/limosa/internal/metamorph/gen/ledgerpb"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

var (
	calls = flag.Int("calls", 160, "calls of the script, each way")
	seed  = flag.Uint64("seed", 1, "of the script")
)

// A way is one to make the calls of the script.
type way struct {
	idl       string // thrift or proto
	form      string // what the target says, or json or proto over HTTP/1.1; "" in the same process
	transport string // tcp, unix or tls; local: in the same process
	plan      bool   // the codec that is made at run time instead of the generated one, on the server
	planned   bool   // and on the client
}

func (w way) String() string {
	codec := "generated"
	if w.planned {
		codec = "planned"
	}
	if w.plan {
		codec += "-plan"
	} else {
		codec += "-gen"
	}
	return w.idl + "/" + w.form + "/" + w.transport + "/" + codec
}

// streams, notes and codes tell what a form carries.
func (w way) streams() bool { return w.form != "framed" && w.form != "json" && w.form != "proto" }
func (w way) notes() bool   { return w.form != "framed" }
func (w way) codes() bool   { return w.form != "framed" }

// ways are all there are.
func ways() (all []way) {
	for _, plans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		for idl, forms := range map[string][]string{"thrift": {"ttheader", "framed", "json"}, "proto": {"ttheader", "grpc", "json", "proto"}} {
			all = append(all, way{idl, "", "local", plans[0], plans[1]})
			for _, form := range forms {
				for _, transport := range []string{"tcp", "unix", "tls"} {
					all = append(all, way{idl, form, transport, plans[0], plans[1]})
				}
			}
		}
	}
	return all
}

// service is the one of w, with a book of its own.
func (w way) service() rpc.Service {
	var s rpc.Service
	if w.idl == "thrift" {
		s = ledger.Service(new(book))
	} else {
		s = ledgerpb.Service(protoBook{new(book)})
	}
	if w.plan {
		for i := range s.Methods {
			s.Methods[i].Method = planned(s.Methods[i].Method)
		}
	}
	return s
}

// planned is a method whose messages go by plans that are made at run time.
func planned(m *rpc.Method) *rpc.Method {
	p := &rpc.Method{Service: m.Service, Name: m.Name, Kind: m.Kind, Idempotent: m.Idempotent, ReadOnly: m.ReadOnly, New: m.New, Except: m.Except, Raise: m.Raise}
	switch m.Codec.(type) {
	case thrift.Binary:
		p.Codec = thrift.Binary{Plan: true}
	case protobuf.Codec:
		p.Codec = protobuf.Codec{Plan: true}
	}
	return p
}

// start serves, and gives a caller; secure is what TLS needs.
func (w way) start(t *testing.T, secure, trust *tls.Config) rpc.Caller {
	s := &limosa.Server{
		Services:  []rpc.Service{w.service()},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}},
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if w.transport == "local" {
		return s.Caller()
	}
	addr := "127.0.0.1:0"
	switch w.transport {
	case "unix":
		addr = "unix://" + filepath.Join(t.TempDir(), "s")
	case "tls":
		s.TLS = secure
	}
	target, _ := rig.Start(t, s, addr)
	if w.form == "json" || w.form == "proto" {
		c := newPoster(w, target, trust)
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := &limosa.Client{Target: target, Protocols: []wire.Protocol{web.Protocol{}}}
	switch w.form {
	case "grpc":
		c.Target += "?protocol=grpc"
	case "framed":
		c.Target += "?thrift=framed"
	default:
		c.Target += "?protocol=thrift"
	}
	if w.transport == "tls" {
		c.TLS = trust
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// client is one of the way's IDL with Thrift's types.
func (w way) client(c rpc.Caller) ledger.Ledger {
	if w.planned {
		c = &planner{to: c, by: map[*rpc.Method]*rpc.Method{}}
	}
	if w.idl == "thrift" {
		return ledger.NewClient(c)
	}
	return protoClient{ledgerpb.NewClient(c)}
}

// One random script of calls gives one history, by whichever way they are made.
func TestOneHistory(t *testing.T) {
	cert, pool := rig.Certificate(t)
	secure, trust := &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool}
	for _, streams := range []bool{false, true} {
		var want []event
		for _, w := range ways() {
			if streams && !w.streams() {
				continue
			}
			t.Run(w.String(), func(t *testing.T) {
				got := play(t.Context(), w.client(w.start(t, secure, trust)), w, *seed, *calls, streams)
				if want == nil {
					want = got
				}
				bad := 0
				for i := range want {
					if a, b := want[i].seenBy(w), got[i].seenBy(w); a != b && bad < 3 {
						bad++
						t.Errorf("seed %d, event %d:\n got %+v\nwant %+v", *seed, i, b, a)
					}
				}
			})
		}
		failures := 0
		for _, e := range want {
			if e.failed {
				failures++
			}
		}
		if len(want) < *calls/lanes*lanes || failures == 0 || failures > len(want)/2 {
			t.Errorf("%d events, %d failures", len(want), failures)
		}
	}
}
