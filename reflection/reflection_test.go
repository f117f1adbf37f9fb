package reflection_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/reflection/internal/describe"
	"github.com/limosa-rpc/limosa/rpc"
)

func TestServicesAreTold(t *testing.T) {
	a, b, bare := rpc.Service{Name: "A", IDL: "#file a.thrift\nservice A{void m()}\n"}, rpc.Service{Name: "B"}, rpc.Service{Name: "C"}
	b.IDL = a.IDL
	server := limosa.Local(reflection.With(a, b, bare)...)
	defer server.Close()
	got, err := reflection.Services(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range got {
		names = append(names, fmt.Sprint(s.Name, " ", len(s.IDL) > 0))
	}
	if want := "A true, B true, C false, LimosaReflection true"; strings.Join(names, ", ") != want {
		t.Errorf("%v; want %s", names, want)
	}
	if got[1].IDL != a.IDL {
		t.Errorf("B has the IDL %q", got[1].IDL)
	}
	schema, err := thriftidl.Unpack(got[3].IDL)
	if err != nil || schema.Files[0].Services[0].Name != "LimosaReflection" {
		t.Errorf("its own IDL: %v", err)
	}
}

func TestServerThatDoesNotTell(t *testing.T) {
	server := limosa.Local(rpc.Service{Name: "A"})
	defer server.Close()
	if _, err := reflection.Services(t.Context(), server); rpc.CodeOf(err) != rpc.Unimplemented {
		t.Errorf("%v; want Unimplemented", err)
	}
}

// A liar's description points out of itself.
type liar struct{}

func (liar) LimosaDescribe(context.Context) (*describe.Description, error) {
	return &describe.Description{Services: []*describe.ServiceName{{Name: "A", Text: 1}}, Texts: []string{""}}, nil
}

func TestDescriptionThatIsWrong(t *testing.T) {
	server := limosa.Local(describe.Service(liar{}))
	defer server.Close()
	if _, err := reflection.Services(t.Context(), server); rpc.CodeOf(err) != rpc.DataLoss {
		t.Errorf("%v; want DataLoss", err)
	}
}
