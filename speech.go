package limosa

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A speech is what a client speaks to its target.
type speech struct {
	form        Form
	multiplexed bool
	other       wire.Protocol // nil: Thrift, in the form
}

// speech is what the target asks for, of what the client was given.
func (c *Client) speech(t endpoint.Target) (s speech, err error) {
	s.form = c.Thrift
	if slices.Contains(c.Protocols, nil) {
		return s, &rpc.Error{Code: rpc.InvalidArgument, Op: "client", Sent: rpc.NotSent, Msg: "a protocol is nil"}
	}
	for key := range t.Settings {
		switch value := t.Settings.Get(key); key {
		case "protocol":
		case "thrift":
			i := slices.Index(forms[:], value)
			if i < 0 {
				return s, t.Bad("thrift is one of " + strings.Join(forms[:], ", "))
			}
			s.form = Form(i)
		case "multiplexed":
			if s.multiplexed, err = strconv.ParseBool(value); err != nil {
				return s, t.Bad("multiplexed is true or false")
			}
		default:
			return s, t.Bad(fmt.Sprintf("unknown setting %q", key))
		}
	}
	switch name := t.Settings.Get("protocol"); {
	case name != "" && name != "thrift":
		if s.other, err = c.protocol(t, name); err != nil {
			return s, err
		}
	case name == "" && !t.Settings.Has("thrift") && len(c.Protocols) > 0:
		s.other = c.Protocols[0]
	}
	if _, thrift := s.other.(ttheader.Protocol); thrift {
		s.other = nil
	}
	if s.other != nil && (s.multiplexed || t.Settings.Has("thrift")) {
		return s, t.Bad("thrift and multiplexed are for Thrift, the protocol is " + s.other.Name())
	}
	return s, nil
}

// protocol finds the one of that name.
func (c *Client) protocol(t endpoint.Target, name string) (wire.Protocol, error) {
	names := []string{"thrift"}
	for _, p := range c.Protocols {
		if p.Name() == name {
			return p, nil
		}
		names = append(names, p.Name())
	}
	return nil, t.Bad(fmt.Sprintf("protocol %q is none of Client.Protocols, which has %s; web.Protocol{} is grpc, web.Protocol{Connect: true} connect", name, strings.Join(names, ", ")))
}

// to gives the protocol for connections to t, over TLS or not, and the one without an
// offer, for streams to a peer that heeds none.
func (s *speech) to(t endpoint.Target, secure bool) (p, plain wire.Protocol) {
	if s.other == nil {
		tt := s.thrift()
		bare := tt
		bare.NoOffer = true
		return tt, bare
	}
	p = s.other
	if a, ok := p.(wire.Addressed); ok {
		host := t.Addr
		if t.Network != "tcp" {
			host = "localhost" // as clients of grpc-go say
		}
		p = a.Calling(host, secure)
	}
	return p, p
}

// thrift is the protocol for the client's form. Compact forms stand behind the binary ones, in the same order.
func (s *speech) thrift() ttheader.Protocol {
	p := ttheader.Protocol{Multiplexed: s.multiplexed}
	switch s.form {
	case Framed, FramedCompact:
		p.Form = ttheader.Framed
	case Buffered, BufferedCompact:
		p.Form = ttheader.Buffered
	case THeader, THeaderCompact:
		p.Form = ttheader.THeader
	}
	p.Compact = s.form >= FramedCompact
	return p
}

// carried refuses calls of methods that the protocol has no messages for.
func carried(by wire.Addressed, next rpc.Next) rpc.Next {
	return func(ctx context.Context, call *rpc.Call) error {
		if why := by.Refuses(call.Method); why != "" {
			return &rpc.Error{Code: rpc.Unimplemented, Op: "call", Sent: rpc.NotSent, Msg: why}
		}
		return next(ctx, call)
	}
}
