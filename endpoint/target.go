package endpoint

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Target is a parsed address with its settings.
type Target struct {
	Network, Addr string
	TLS           bool       // it was tls://
	Settings      url.Values // what stands behind a question mark

	text string // as it was written
}

// ParseTarget understands host:port, :port, tcp://host:port, tls://host:port,
// unix:///path, unix:path, a name with @ of Linux's for either, and settings ?name=value behind
// any of them, which it does not look at. The error is an *rpc.Error.
func ParseTarget(s string) (Target, error) {
	t := Target{text: s}
	rest, query, _ := strings.Cut(s, "?")
	scheme, addr, found := strings.Cut(rest, "://")
	switch {
	case !found && strings.HasPrefix(rest, "unix:"):
		t.Network, t.Addr = "unix", strings.TrimPrefix(rest, "unix:")
	case !found:
		t.Network, t.Addr = "tcp", rest
	case scheme == "tcp" || scheme == "unix":
		t.Network, t.Addr = scheme, addr
	case scheme == "tls":
		t.Network, t.Addr, t.TLS = "tcp", addr, true
	default:
		return t, t.Bad(fmt.Sprintf("unknown scheme %q; want host:port, tcp://host:port, tls://host:port or unix:///path", scheme))
	}
	switch {
	case t.Addr == "":
		return t, t.Bad("no address")
	case found && scheme == "unix" && t.Addr[0] != '/' && t.Addr[0] != '@':
		return t, t.Bad(fmt.Sprintf("want unix:///%s; unix:%s is relative to the working directory", t.Addr, t.Addr))
	}
	if t.Network == "tcp" {
		if err := t.checkTCP(); err != nil {
			return t, err
		}
	}
	var err error
	if t.Settings, err = url.ParseQuery(query); err != nil {
		return t, t.Bad(err.Error())
	}
	return t, nil
}

// checkTCP finds what can be no address whatever the network is, so that it is not taken
// for a server that is down, which would be tried again.
func (t Target) checkTCP() error {
	host, port, err := net.SplitHostPort(t.Addr)
	if err != nil {
		return t.Bad("want host:port or unix:///path")
	}
	if strings.ContainsAny(host, " \t\n@/\\") {
		return t.Bad(fmt.Sprintf("host %q is none; want host:port or unix:///path", host))
	}
	named := strings.ContainsFunc(port, unicode.IsLetter) && !strings.ContainsAny(port, " \t\n@/\\")
	if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" && !named {
		return t.Bad(fmt.Sprintf("port %q is neither a number up to 65535 nor a name; a unix socket is unix:///path", port))
	}
	return nil
}

// Bad is the error of a target that is wrong for a reason.
func (t Target) Bad(why string) error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "target", Sent: rpc.NotSent, Msg: fmt.Sprintf("%q: %s", t.text, why)}
}
