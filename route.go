package limosa

import (
	"fmt"

	"github.com/limosa-rpc/limosa/rpc"
)

// routes finds handlers by service and method. It is built once and then
// constant.
type routes struct {
	services map[string]map[string]rpc.Handler
	methods  map[string]rpc.Handler // by method alone: the first service that has it
	exact    bool                   // Server.ExactServices
}

// routes checks the services and builds every chain of interceptors.
func (s *Server) routes() (*routes, error) {
	r := &routes{services: map[string]map[string]rpc.Handler{}, methods: map[string]rpc.Handler{}, exact: s.ExactServices}
	for _, svc := range s.Services {
		if svc.Unbound {
			return nil, &rpc.Error{Code: rpc.InvalidArgument, Op: "serve", Msg: fmt.Sprintf("service %q has no implementation: it was made of nil", svc.Name)}
		}
		if _, twice := r.services[svc.Name]; twice {
			return nil, &rpc.Error{Code: rpc.InvalidArgument, Op: "serve", Msg: fmt.Sprintf("service %q is there twice", svc.Name)}
		}
		byName := map[string]rpc.Handler{}
		for _, h := range svc.Methods {
			h.Serve, h.Service = rpc.Chain(h.Serve, s.Interceptors...), svc.Name
			byName[h.Method.Name] = h
			if _, taken := r.methods[h.Method.Name]; !taken {
				r.methods[h.Method.Name] = h
			}
		}
		r.services[svc.Name] = byName
	}
	return r, nil
}

// find is a mux.Router. An unknown or absent service name is no obstacle if
// some service has the method: Thrift peers often send none, or one of their
// own choice; unless the server is exact about it.
func (r *routes) find(service, method string) (h rpc.Handler, why string, ok bool) {
	methods, known := r.services[service]
	if h, ok = methods[method]; ok {
		return h, "", true
	}
	if known {
		return h, fmt.Sprintf("service %s has no method %q", service, method), false
	}
	if r.exact && service != "" {
		return h, fmt.Sprintf("no service %q here", service), false
	}
	if h, ok = r.methods[method]; ok {
		return h, "", true
	}
	return h, fmt.Sprintf("no service here has a method %q", method), false
}
