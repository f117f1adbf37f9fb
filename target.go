package limosa

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

// A target is a parsed address with its settings.
type target struct {
	network, addr string
	thrift        Form
	hasThrift     bool
}

// parseTarget understands host:port, :port, tcp://host:port, unix:///path,
// unix:path, a name with @ of Linux's for either, and the setting ?thrift=NAME of a Form behind any of them.
func parseTarget(s string) (target, error) {
	var t target
	rest, query, _ := strings.Cut(s, "?")
	scheme, addr, found := strings.Cut(rest, "://")
	switch {
	case !found && strings.HasPrefix(rest, "unix:"):
		t.network, t.addr = "unix", strings.TrimPrefix(rest, "unix:")
	case !found:
		t.network, t.addr = "tcp", rest
	case scheme == "tcp" || scheme == "unix":
		t.network, t.addr = scheme, addr
	default:
		return t, badTarget(s, fmt.Sprintf("unknown scheme %q; want host:port, tcp://host:port or unix:///path", scheme))
	}
	switch {
	case t.addr == "":
		return t, badTarget(s, "no address")
	case found && scheme == "unix" && t.addr[0] != '/' && t.addr[0] != '@':
		return t, badTarget(s, fmt.Sprintf("want unix:///%s; unix:%s is relative to the working directory", t.addr, t.addr))
	}
	if t.network == "tcp" {
		if _, _, err := net.SplitHostPort(t.addr); err != nil {
			return t, badTarget(s, "want host:port or unix:///path")
		}
	}
	settings, err := url.ParseQuery(query)
	if err != nil {
		return t, badTarget(s, err.Error())
	}
	for key := range settings {
		if key != "thrift" {
			return t, badTarget(s, fmt.Sprintf("unknown setting %q", key))
		}
		if t.thrift, t.hasThrift = parseForm(settings.Get(key)); !t.hasThrift {
			return t, badTarget(s, "thrift is one of "+strings.Join(forms[:], ", "))
		}
	}
	return t, nil
}

func badTarget(s, why string) error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "target", Sent: rpc.NotSent, Msg: fmt.Sprintf("%q: %s", s, why)}
}
