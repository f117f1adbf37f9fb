package limosa_test

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// both is what servers of the tests below speak, and what clients may.
func both() []wire.Protocol { return []wire.Protocol{ttheader.Protocol{}, web.Protocol{}} }

// A client speaks what its target says, of what it was given, on every transport; the
// server is one, and finds it out.
func TestClientSpeaksWhatItsTargetSays(t *testing.T) {
	cert, pool := rig.Certificate(t)
	for name, x := range map[string]struct {
		addr   string
		secure bool
	}{
		"tcp": {"127.0.0.1:0", false}, "TLS": {"127.0.0.1:0", true}, "unix": {"unix://" + filepath.Join(t.TempDir(), "s"), false},
	} {
		s := &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Protocols: both()}
		var config *tls.Config
		if x.secure {
			s.TLS, config = &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool}
		}
		target, _ := rig.Start(t, s, x.addr)
		for _, c := range []struct {
			setting   string
			protocols []wire.Protocol
		}{
			{"?protocol=grpc", both()},
			{"?protocol=grpc", []wire.Protocol{web.Protocol{}}},
			{"?protocol=connect", []wire.Protocol{web.Protocol{}, web.Protocol{Connect: true}}},
			{"", []wire.Protocol{web.Protocol{}}}, // the first one
			{"", both()},
			{"", nil},
			{"?protocol=ttheader", both()},
			{"?protocol=thrift", nil},
			{"?protocol=thrift", []wire.Protocol{web.Protocol{}}},
			{"?thrift=theader", []wire.Protocol{web.Protocol{}}},
			{"?protocol=thrift&thrift=framed", []wire.Protocol{web.Protocol{}}},
		} {
			client, err := limosa.Dial(target+c.setting, func(l *limosa.Client) { l.Protocols, l.TLS = c.protocols, config })
			if err != nil {
				t.Fatal(err)
			}
			if got, err := rig.Call(t.Context(), client, rig.Echo, "hello"); err != nil || !strings.HasPrefix(got, "hello") {
				t.Errorf("%s, %q with %v: %q, %v", name, c.setting, c.protocols, got, err)
			}
			if err := client.Close(); err != nil {
				t.Errorf("%s, %q: Close: %v", name, c.setting, err)
			}
		}
	}
}

// It is gRPC that is spoken: a server that speaks nothing else understands it, and one
// that speaks Thrift alone does not.
func TestClientSpeaksGRPC(t *testing.T) {
	speak := func(c *limosa.Client) { c.Protocols = []wire.Protocol{web.Protocol{}} }
	for _, x := range []struct {
		serves []wire.Protocol
		fails  bool
	}{{[]wire.Protocol{web.Protocol{}}, false}, {[]wire.Protocol{ttheader.Protocol{}}, true}} {
		target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Protocols: x.serves}, "127.0.0.1:0")
		c, err := limosa.Dial(target+"?protocol=grpc", speak)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rig.Call(t.Context(), c, rig.Echo, "hello"); (err != nil) != x.fails {
			t.Errorf("served by %v: %v", x.serves, err)
		}
		c.Close()
	}
}

// Methods whose messages are Thrift's are not called over gRPC: the server might take them
// for something else.
func TestClientKeepsThriftOffGRPC(t *testing.T) {
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Protocols: both()}, "127.0.0.1:0")
	c, err := limosa.Dial(target, func(c *limosa.Client) { c.Protocols = []wire.Protocol{web.Protocol{}} })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	oneway := &rpc.Method{Service: "Rig", Name: "tell", Kind: rpc.Oneway, Codec: rig.Text{}}
	if _, err := rig.Call(t.Context(), c, oneway, "x"); rpc.CodeOf(err) != rpc.Unimplemented || rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), "Thrift") {
		t.Errorf("a oneway call: %v", err)
	}
}

// What a client cannot speak, or what makes no sense, is said before the first call.
func TestSpeechIsChecked(t *testing.T) {
	for _, x := range []struct {
		target    string
		protocols []wire.Protocol
		want      string
	}{
		{"a:1?protocol=grpc", nil, "web.Protocol{} is grpc"},
		{"a:1?protocol=connect", []wire.Protocol{web.Protocol{}}, "web.Protocol{Connect: true} connect"},
		{"a:1?protocol=http9", both(), "has thrift, ttheader, grpc"},
		{"a:1?protocol=grpc&thrift=framed", both(), "the protocol is grpc"},
		{"a:1?multiplexed=true", []wire.Protocol{web.Protocol{}}, "the protocol is grpc"},
		{"a:1?multiplexed=perhaps", nil, "true or false"},
		{"a:1?thrift=smoke", nil, "thrift is one of"},
		{"a:1?speed=1", nil, "unknown setting"},
		{"a:1", []wire.Protocol{nil}, "a protocol is nil"},
	} {
		_, err := limosa.Dial(x.target, func(c *limosa.Client) { c.Protocols = x.protocols })
		if rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.target, err, x.want)
		}
	}
	c, err := limosa.Dial("a:1?thrift=framed&multiplexed=true")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
