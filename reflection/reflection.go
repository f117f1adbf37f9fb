// Package reflection lets a server tell what it serves, so that tools need no
// IDL file: limosa list, limosa describe and limosa call ask for it.
//
//	limosa.Serve(ctx, ":8888", reflection.With(hello.Service(impl))...)
//
// It is the program's choice: whoever can reach the server can then read the
// names and types of the services that were given, as with gRPC's reflection.
// Comments of the IDL are not sent. Interceptors see its calls like all others.
package reflection

import (
	"context"
	"slices"

	"github.com/limosa-rpc/limosa/reflection/internal/describe"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out internal internal/describe.thrift

// With gives the services and, behind them, one that describes them and itself.
func With(services ...rpc.Service) []rpc.Service {
	var d describe.Description
	own := describe.Service(answer{&d})
	all := append(slices.Clip(services), own)
	for _, s := range all {
		text := int32(-1)
		if s.IDL != "" {
			if text = int32(slices.Index(d.Texts, s.IDL)); text < 0 {
				text = int32(len(d.Texts))
				d.Texts = append(d.Texts, s.IDL)
			}
		}
		d.Services = append(d.Services, &describe.ServiceName{Name: s.Name, Text: text})
	}
	return all
}

// An answer is what a server says of itself; constant.
type answer struct{ is *describe.Description }

func (a answer) LimosaDescribe(context.Context) (*describe.Description, error) { return a.is, nil }

// Services asks the server at the other end of a Caller for its services: their
// names and their IDL, packed (thriftidl.Unpack reads it; empty: the server does not
// know it), without methods. It fails with rpc.Unimplemented if the server does
// not tell.
func Services(ctx context.Context, server rpc.Caller) ([]rpc.Service, error) {
	d, err := describe.NewClient(server).LimosaDescribe(ctx)
	if err != nil {
		return nil, err
	}
	var all []rpc.Service
	for _, s := range d.Services {
		service := rpc.Service{Name: s.Name}
		switch {
		case int(s.Text) >= len(d.Texts):
			return nil, rpc.Errorf(rpc.DataLoss, "the description has %d texts; service %q names number %d", len(d.Texts), s.Name, s.Text)
		case s.Text >= 0:
			service.IDL = d.Texts[s.Text]
		}
		all = append(all, service)
	}
	return all, nil
}
