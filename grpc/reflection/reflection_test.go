package reflection_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb"
	"github.com/limosa-rpc/limosa/rpc"
)

type (
	request  = reflectpb.ServerReflectionRequest
	response = reflectpb.ServerReflectionResponse
)

// ask asks all questions on one stream.
func ask(t *testing.T, services []rpc.Service, questions ...*request) (answers []*response) {
	t.Helper()
	c := reflectpb.NewClient(limosa.Local(reflection.With(services...)...))
	for res, err := range c.ServerReflectionInfo(t.Context(), func(yield func(*request, error) bool) {
		for _, q := range questions {
			if !yield(q, nil) {
				return
			}
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, res)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(answers), len(questions))
	}
	return answers
}

func symbol(name string) *request {
	return &request{MessageRequest: &reflectpb.ServerReflectionRequestMessageRequestFileContainingSymbol{FileContainingSymbol: name}}
}

func byName(name string) *request {
	return &request{MessageRequest: &reflectpb.ServerReflectionRequestMessageRequestFileByFilename{FileByFilename: name}}
}

func numbers(name string) *request {
	return &request{MessageRequest: &reflectpb.ServerReflectionRequestMessageRequestAllExtensionNumbersOfType{AllExtensionNumbersOfType: name}}
}

func extension(name string, n int32) *request {
	return &request{MessageRequest: &reflectpb.ServerReflectionRequestMessageRequestFileContainingExtension{
		FileContainingExtension: &reflectpb.ExtensionRequest{ContainingType: name, ExtensionNumber: n}}}
}

var list = &request{MessageRequest: &reflectpb.ServerReflectionRequestMessageRequestListServices{}}

// files are those of an answer.
func files(t *testing.T, res *response) *descriptorpb.FileDescriptorSet {
	t.Helper()
	got, ok := res.MessageResponse.(*reflectpb.ServerReflectionResponseMessageResponseFileDescriptorResponse)
	if !ok {
		t.Fatalf("answered %v", res)
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, raw := range got.FileDescriptorResponse.FileDescriptorProto {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(raw, f); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, f)
	}
	return set
}

// service is what the official run time makes of the files that describe a service.
func service(t *testing.T, services []rpc.Service, name string) protoreflect.ServiceDescriptor {
	t.Helper()
	d := all(t, files(t, ask(t, services, symbol(name))[0]))
	s, err := d.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	return s.(protoreflect.ServiceDescriptor)
}

// all has the official run time check files.
func all(t *testing.T, set *descriptorpb.FileDescriptorSet) *protoregistry.Files {
	t.Helper()
	d, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// said is an answer in short.
func said(res *response) string {
	switch m := res.MessageResponse.(type) {
	case *reflectpb.ServerReflectionResponseMessageResponseErrorResponse:
		return fmt.Sprint("error ", m.ErrorResponse.ErrorCode)
	case *reflectpb.ServerReflectionResponseMessageResponseListServicesResponse:
		var names []string
		for _, s := range m.ListServicesResponse.Service {
			names = append(names, s.Name)
		}
		return strings.Join(names, " ")
	case *reflectpb.ServerReflectionResponseMessageResponseAllExtensionNumbersResponse:
		return fmt.Sprint(m.AllExtensionNumbersResponse.BaseTypeName, m.AllExtensionNumbersResponse.ExtensionNumber)
	case *reflectpb.ServerReflectionResponseMessageResponseFileDescriptorResponse:
		return fmt.Sprint(len(m.FileDescriptorResponse.FileDescriptorProto), " files")
	}
	return fmt.Sprint(res)
}

// A server with services of Protobuf tells what they are, and so does each version of
// the protocol of itself.
func TestProtobuf(t *testing.T) {
	services := health.With()
	const own = "grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection"
	if got := said(ask(t, services, list)[0]); got != "grpc.health.v1.Health "+own {
		t.Errorf("list: %s", got)
	}
	if m := service(t, services, "grpc.health.v1.Health").Methods().ByName("Watch"); m == nil || !m.IsStreamingServer() || m.Input().FullName() != "grpc.health.v1.HealthCheckRequest" {
		t.Errorf("Watch is %v", m)
	}
	for _, name := range strings.Fields(own) {
		s := service(t, services, name)
		if m := s.Methods().ByName("ServerReflectionInfo"); m == nil || m.Input().FullName() != s.FullName().Parent().Append("ServerReflectionRequest") {
			t.Errorf("%s has %v", name, m)
		}
	}
	one := descriptorpb.FileDescriptorSet{}
	for _, name := range []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
		one.File = append(one.File, files(t, ask(t, services, symbol(name))[0]).File...)
	}
	all(t, &one) // together too
}

// All that has a name is found by it; what does not, is not.
func TestQuestions(t *testing.T) {
	extended := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		{Name: proto.String("base.proto"), Package: proto.String("x"), MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("M"), ExtensionRange: []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(100), End: proto.Int32(200)}}}}},
		{Name: proto.String("more.proto"), Package: proto.String("x"), Dependency: []string{"base.proto", "missing.proto"}, Extension: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("e"), Number: proto.Int32(150), Extendee: proto.String(".x.M"), Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: proto.String("d"), Number: proto.Int32(120), Extendee: proto.String(".x.M"), Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}}},
	}}
	raw, err := proto.Marshal(extended)
	if err != nil {
		t.Fatal(err)
	}
	services := health.With(rpc.Service{Name: "x.Extended", IDL: string(raw)}, rpc.Service{Name: "x.Broken", IDL: "\nnonsense"}, rpc.Service{Name: "Odd", IDL: "#file odd.thrift\nservice {"})
	for _, x := range []struct {
		q    *request
		want string
	}{
		{symbol("grpc.health.v1.Health"), "1 files"},
		{symbol(".grpc.health.v1.Health.Check"), "1 files"},
		{symbol("grpc.health.v1.HealthCheckResponse.ServingStatus"), "1 files"},
		{symbol("grpc.health.v1.HealthCheckResponse.SERVING"), "1 files"},
		{symbol("grpc.health.v1.HealthCheckResponse.status"), "1 files"},
		{symbol("grpc.reflection.v1.ServerReflectionRequest.message_request"), "1 files"},
		{symbol("grpc.health.v1"), "error 5"},
		{symbol(""), "error 5"},
		{symbol("x.Broken"), "error 5"},
		{symbol("Odd"), "error 5"},
		{symbol("x.e"), "2 files"},
		{byName("more.proto"), "2 files"},
		{byName("base.proto"), "1 files"},
		{byName("missing.proto"), "error 5"},
		{byName(strings.Repeat("x", 1025)), "error 3"},
		{extension("x.M", 150), "2 files"},
		{extension(".x.M", 151), "error 5"},
		{numbers("x.M"), "x.M[120 150]"},
		{numbers("grpc.health.v1.HealthListRequest"), "grpc.health.v1.HealthListRequest[]"},
		{numbers("x.None"), "error 5"},
		{&request{}, "error 3"},
		{&request{Host: strings.Repeat("x", 2000), MessageRequest: list.MessageRequest}, "error 3"},
	} {
		res := ask(t, services, x.q)[0]
		if got := said(res); got != x.want {
			t.Errorf("%v: %s, want %s", x.q, got, x.want)
		}
		if comes := x.want != "error 3" || x.q.MessageRequest == nil; comes != (res.OriginalRequest != nil) {
			t.Errorf("%v: the question that comes back is %v", x.q, res.OriginalRequest)
		}
	}
	// On one stream a file is sent once, but for the one that is asked for.
	var got []string
	for _, res := range ask(t, services, symbol("x.e"), byName("more.proto"), byName("base.proto"), extension("x.M", 150)) {
		got = append(got, said(res))
	}
	if want := "2 files, 1 files, 1 files, 1 files"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// A server without anything tells of itself.
func TestNothing(t *testing.T) {
	if got := said(ask(t, nil, list)[0]); got != "grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection" {
		t.Error(got)
	}
}

// A tool that breaks off ends its stream with its own error.
func TestBrokenOff(t *testing.T) {
	c := reflectpb.NewClient(limosa.Local(reflection.With()...))
	mine := errors.New("mine")
	var last error
	for _, err := range c.ServerReflectionInfo(t.Context(), func(yield func(*request, error) bool) { yield(nil, mine) }) {
		last = err
	}
	if !errors.Is(last, mine) {
		t.Errorf("the stream ends with %v", last)
	}
}

// There are only so many who ask at once.
func TestStreamsAreBounded(t *testing.T) {
	c := reflectpb.NewClient(limosa.Local(reflection.With()...))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	open := func() (stop func(), err error) {
		next, stop := iter.Pull2(c.ServerReflectionInfo(ctx, func(yield func(*request, error) bool) {
			yield(list, nil)
			<-ctx.Done()
		}))
		_, err, _ = next()
		return stop, err
	}
	for range reflection.StreamsMost {
		stop, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	defer leave() // before the stops, which wait
	if stop, err := open(); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	} else {
		stop()
	}
}

// Reflection in one line.
func Example() {
	for _, s := range reflection.With(health.With()...) {
		fmt.Println(s.Name)
	}
	// Output:
	// grpc.health.v1.Health
	// grpc.reflection.v1.ServerReflection
	// grpc.reflection.v1alpha.ServerReflection
}
