package limosa

import (
	"context"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// An Option changes the calls that are made with a context; see With.
type Option func(*options)

// options is what With keeps in a context; constant once it is there.
type options struct {
	timeout time.Duration
	header  rpc.Metadata
	trailer *rpc.Metadata // nil: nobody asks
}

type optionsKey struct{}

// With gives a context whose calls have the options, on top of those that ctx
// has already. They hold for calls of any client made with it, at this hop.
func With(ctx context.Context, opts ...Option) context.Context {
	var o options
	if have, ok := ctx.Value(optionsKey{}).(*options); ok {
		o = options{timeout: have.timeout, header: have.header.Clone(), trailer: have.trailer}
	}
	for _, opt := range opts {
		opt(&o)
	}
	return context.WithValue(ctx, optionsKey{}, &o)
}

// Timeout bounds each call made with the context, from its start to its
// answer, retries included. An earlier deadline of the context stays.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// Header sends a pair of metadata to the next hop.
func Header(key, value string) Option {
	return func(o *options) { o.header.Add(key, value) }
}

// Persistent sends a pair of metadata to the next hop, and on from there with
// every call that is made to serve this one.
func Persistent(key, value string) Option {
	return func(o *options) { o.header.SetPersistent(key, value) }
}

// Trailer puts the metadata that comes with the answer of a call made with the context
// into md, also of one that fails: when the call returns, a stream's when its last
// message was taken. Of several calls with the context the latest counts; calls at the
// same time need a context and an md each.
func Trailer(md *rpc.Metadata) Option { return func(o *options) { o.trailer = md } }

// prepare brings the options of ctx, and the persistent metadata of the call
// that is being handled under ctx, into c. It gives the options; nil: there are none.
func prepare(ctx context.Context, c *rpc.Call) *options {
	c.Header = slices.Clip(c.Header) // other calls may have the same memory behind it
	if in := rpc.FromContext(ctx); in != nil {
		for _, p := range in.Header {
			if p.Scope == rpc.Persistent && !c.Header.Has(p.Key) {
				c.Header = append(c.Header, p)
			}
		}
	}
	o, ok := ctx.Value(optionsKey{}).(*options)
	if !ok {
		return nil
	}
	for _, p := range o.header {
		if p.Scope == rpc.Persistent {
			c.Header.Del(p.Key)
		}
		c.Header = append(c.Header, p)
	}
	return o
}
