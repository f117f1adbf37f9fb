// Package route finds the handlers of a server's services, for calls that come
// over connections and for those that come from within the process.
package route

import (
	"fmt"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Table finds handlers by service and method. It is built once and then
// constant.
type Table struct {
	services map[string]map[string]rpc.Handler
	methods  map[string]rpc.Handler // by method alone: the first service that has it
	exact    bool                   // a service that is not here has no methods
}

// New checks the services. chain puts the interceptors around each handler; nil:
// there are none. exact refuses calls that name a service which is not here; see Find.
func New(services []rpc.Service, chain func(final rpc.Next) rpc.Next, exact bool) (*Table, error) {
	r := &Table{services: map[string]map[string]rpc.Handler{}, methods: map[string]rpc.Handler{}, exact: exact}
	for _, svc := range services {
		if svc.Unbound {
			return nil, bad("service %q has no implementation: it was made of nil", svc.Name)
		}
		if svc.Name == "" {
			return nil, bad("a service has no name: was it made by the generated code?")
		}
		if _, twice := r.services[svc.Name]; twice {
			return nil, bad("service %q is there twice", svc.Name)
		}
		byName := map[string]rpc.Handler{}
		for _, h := range svc.Methods {
			if h.Method == nil || h.Serve == nil {
				return nil, bad("service %q has a method without a description or a handler", svc.Name)
			}
			h.Service = svc.Name
			if chain != nil {
				h.Serve = chain(h.Serve)
			}
			byName[h.Method.Name] = h
			if _, taken := r.methods[h.Method.Name]; !taken {
				r.methods[h.Method.Name] = h
			}
		}
		r.services[svc.Name] = byName
	}
	return r, nil
}

func bad(format string, args ...any) error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "serve", Msg: fmt.Sprintf(format, args...)}
}

// Find is a mux.Router: why says what is wrong where ok is not set. An unknown or
// absent service name is no obstacle if some service has the method: Thrift peers
// often send none, or one of their own choice; unless the table is exact about it.
// Of a long name why has the begin: who makes names up has this side say no more than it hears.
func (r *Table) Find(service, method string) (h rpc.Handler, why string, ok bool) {
	methods, known := r.services[service]
	if h, ok = methods[method]; ok {
		return h, "", true
	}
	if known {
		return h, fmt.Sprintf("service %s has no method %.100q", service, method), false
	}
	if r.exact && service != "" {
		return h, fmt.Sprintf("no service %.100q here", service), false
	}
	if h, ok = r.methods[method]; ok {
		return h, "", true
	}
	return h, fmt.Sprintf("no service here has a method %.100q", method), false
}

// Exact gives the method of a service, by the names of both; nil: there is none. It is for
// protocols whose callers always say both.
func (r *Table) Exact(service, method string) *rpc.Method { return r.services[service][method].Method }
