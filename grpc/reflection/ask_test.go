package reflection_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb"
	"github.com/limosa-rpc/limosa/rpc"
)

// filesOf are the names of the files in an IDL.
func filesOf(t *testing.T, s rpc.Service) (names []string) {
	t.Helper()
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal([]byte(s.IDL), set); err != nil {
		t.Fatal(err)
	}
	for _, f := range set.File {
		names = append(names, f.GetName())
	}
	return names
}

// What a server describes comes back, by either version.
func TestServices(t *testing.T) {
	all := reflection.With(new(health.Health).Service(), rpc.Service{Name: "Mute"})
	for _, without := range []string{"none", "grpc.reflection.v1.ServerReflection"} {
		served := slices.DeleteFunc(slices.Clone(all), func(s rpc.Service) bool { return s.Name == without })
		got, err := reflection.Services(t.Context(), (&limosa.Server{Services: served, ExactServices: true}).Caller())
		if err != nil {
			t.Fatalf("without %s: %v", without, err)
		}
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
			if s.Name == "Mute" {
				if s.IDL != "" {
					t.Errorf("without %s: %s is described", without, s.Name)
				}
				continue
			}
			if files := filesOf(t, s); !slices.Contains(files, "grpc/health/v1/health.proto") {
				t.Errorf("without %s: %s has the files %v", without, s.Name, files)
			}
		}
		if want := "Mute grpc.health.v1.Health grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection"; strings.Join(names, " ") != want {
			t.Errorf("without %s: %v", without, names)
		}
	}
}

// A server without reflection says that it has no such service.
func TestServicesOfAServerThatDoesNotTell(t *testing.T) {
	_, err := reflection.Services(t.Context(), (&limosa.Server{Services: []rpc.Service{new(health.Health).Service()}, ExactServices: true}).Caller())
	if rpc.CodeOf(err) != rpc.Unimplemented {
		t.Error(err)
	}
}

// teller answers as somebody else's server may: its function gives the answer to one question.
type teller func(*request) (*response, error)

func (f teller) ServerReflectionInfo(_ context.Context, asked iter.Seq2[*request, error]) iter.Seq2[*response, error] {
	return func(yield func(*response, error) bool) {
		for q, err := range asked {
			if err != nil {
				yield(nil, err)
				return
			}
			if res, err := f(q); !yield(res, err) || err != nil {
				return
			}
		}
	}
}

// lists answers with names of services.
func lists(names ...string) *response {
	l := new(reflectpb.ListServiceResponse)
	for _, name := range names {
		l.Service = append(l.Service, &reflectpb.ServiceResponse{Name: name})
	}
	return &response{MessageResponse: &reflectpb.ServerReflectionResponseMessageResponseListServicesResponse{ListServicesResponse: l}}
}

// gives answers with files.
func gives(files ...[]byte) *response {
	return &response{MessageResponse: &reflectpb.ServerReflectionResponseMessageResponseFileDescriptorResponse{FileDescriptorResponse: &reflectpb.FileDescriptorResponse{FileDescriptorProto: files}}}
}

// none answers that there is none.
func none() *response {
	return &response{MessageResponse: &reflectpb.ServerReflectionResponseMessageResponseErrorResponse{
		ErrorResponse: &reflectpb.ErrorResponse{ErrorCode: int32(rpc.NotFound), ErrorMessage: "none"}}}
}

// asFile is a file with a service of its name, and what it imports.
func asFile(t *testing.T, name string, imports ...string) []byte {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorProto{Name: proto.String(name), Dependency: imports, Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String(name)}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Servers send a file alone, or with what it imports. A service whose file cannot be had whole
// is not described, and the others are.
func TestServicesOfAServerThatSendsFilesAlone(t *testing.T) {
	var asked []string
	got, err := reflection.Services(t.Context(), limosa.Local(reflectpb.Service(teller(func(q *request) (*response, error) {
		switch m := q.MessageRequest.(type) {
		case *reflectpb.ServerReflectionRequestMessageRequestListServices:
			return lists("A", "B", "C", "D"), nil
		case *reflectpb.ServerReflectionRequestMessageRequestFileContainingSymbol:
			asked = append(asked, "symbol "+m.FileContainingSymbol)
			switch m.FileContainingSymbol {
			case "A":
				return gives(asFile(t, "A", "x", "B"), asFile(t, "B")), nil
			case "C":
				return gives(asFile(t, "C", "y")), nil
			}
		case *reflectpb.ServerReflectionRequestMessageRequestFileByFilename:
			asked = append(asked, "file "+m.FileByFilename)
			switch m.FileByFilename {
			case "x":
				return gives(asFile(t, "x", "z")), nil
			case "y":
				return gives(asFile(t, "y", "gone")), nil
			case "z":
				return gives(asFile(t, "z")), nil
			}
		}
		return none(), nil
	}))))
	if err != nil {
		t.Fatal(err)
	}
	if text, want := strings.Join(asked, ", "), "symbol A, symbol C, symbol D, file x, file y, file z, file gone"; text != want {
		t.Errorf("asked: %s\nwant:  %s", text, want)
	}
	for _, s := range got {
		want := "A B x z"
		if s.Name == "C" || s.Name == "D" {
			want = ""
		}
		if files := strings.Join(filesOf(t, s), " "); files != want {
			t.Errorf("%s has the files %q, want %q", s.Name, files, want)
		}
	}
}

// What a server must not do ends the questions: answers of another kind, files that are none,
// more of all than there may be.
func TestServicesOfABadServer(t *testing.T) {
	large, n := make([]byte, 3<<20), 0
	for name, c := range map[string]struct {
		list   *response
		answer func() (*response, error)
		want   rpc.Code
	}{
		"no list":        {gives(), nil, rpc.DataLoss},
		"refuses":        {none(), nil, rpc.NotFound},
		"fails":          {lists("A"), func() (*response, error) { return nil, rpc.Errorf(rpc.PermissionDenied, "not you") }, rpc.PermissionDenied},
		"no descriptor":  {lists("A"), func() (*response, error) { return gives([]byte("\n\xff")), nil }, rpc.DataLoss},
		"many services":  {lists(strings.Split(strings.Repeat("A ", 10_001), " ")...), func() (*response, error) { return none(), nil }, rpc.ResourceExhausted},
		"ever new files": {lists("A"), func() (*response, error) { n++; return gives(asFile(t, fmt.Sprint(n), fmt.Sprint(n+1))), nil }, rpc.ResourceExhausted},
		"large files": {lists("A", "B", "C", "D", "E", "F"), func() (*response, error) {
			return gives(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), large)), nil
		}, rpc.ResourceExhausted},
	} {
		got, err := reflection.Services(t.Context(), limosa.Local(reflectpb.Service(teller(func(q *request) (*response, error) {
			if _, ok := q.MessageRequest.(*reflectpb.ServerReflectionRequestMessageRequestListServices); ok {
				return c.list, nil
			}
			return c.answer()
		}))))
		if rpc.CodeOf(err) != c.want || got != nil {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}
