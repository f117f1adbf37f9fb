package endpoint_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/rpc"
)

// Every way to write a target, and what is said of what is none.
func TestParseTarget(t *testing.T) {
	for _, tt := range []struct{ text, network, addr, settings, wrong string }{
		{text: "localhost:80", network: "tcp", addr: "localhost:80"},
		{text: ":80", network: "tcp", addr: ":80"},
		{text: "[::1]:80", network: "tcp", addr: "[::1]:80"},
		{text: "tcp://localhost:80", network: "tcp", addr: "localhost:80"},
		{text: "unix:///tmp/s", network: "unix", addr: "/tmp/s"},
		{text: "unix:tmp/s", network: "unix", addr: "tmp/s"},
		{text: "unix://@name", network: "unix", addr: "@name"},
		{text: "unix:@name", network: "unix", addr: "@name"},
		{text: ":80?thrift=framed&x=1", network: "tcp", addr: ":80", settings: "thrift=framed&x=1"},
		{text: "", wrong: "no address"},
		{text: "unix://", wrong: "no address"},
		{text: "localhost", wrong: "want host:port"},
		{text: "tcp://localhost", wrong: "want host:port"},
		{text: "unix://tmp/s", wrong: "want unix:///tmp/s; unix:tmp/s is relative"},
		{text: "etcd://x/y", wrong: `unknown scheme "etcd"`},
		{text: ":80?a=%zz", wrong: "invalid URL escape"},
		{text: ":whois++", network: "tcp", addr: ":whois++"},
		{text: "[fe80::1%eth0]:0", network: "tcp", addr: "[fe80::1%eth0]:0"},
		{text: "localhost:65536", wrong: `port "65536"`},
		{text: "localhost:-1", wrong: `port "-1"`},
		{text: "localhost:80 ", wrong: `port "80 "`},
		{text: "localhost:80/path", wrong: `port "80/path"`},
		{text: "C:/run/s", wrong: `port "/run/s" is neither a number up to 65535 nor a name; a unix socket is unix:///path`},
		{text: "tcp:///run:1", wrong: `host "/run"`},
		{text: " localhost:80", wrong: `host " localhost"`},
		{text: "me@localhost:80", wrong: `host "me@localhost"`},
	} {
		got, err := endpoint.ParseTarget(tt.text)
		if tt.wrong != "" {
			if rpc.CodeOf(err) != rpc.InvalidArgument || rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), tt.wrong) || tt.text != "" && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%q: %v, want %s", tt.text, err, tt.wrong)
			}
			continue
		}
		if err != nil || got.Network != tt.network || got.Addr != tt.addr || got.Settings.Encode() != tt.settings {
			t.Errorf("%q = %s %s %s, %v", tt.text, got.Network, got.Addr, got.Settings.Encode(), err)
		}
	}
}
