package grpc_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	healthserver "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	theirs "google.golang.org/grpc/reflection"
	reflectv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// grpc-go's own clients of health and reflection, which tools are made with, understand
// what a server of Limosa says.
func TestTools(t *testing.T) {
	var states health.Health
	thrift := rpc.Service{Name: "Hello", IDL: "#file hello.thrift\nstruct R{1:string text}\nservice Hello{R echo(1:R r)}\n"}
	c := dial(t, serve(t, &limosa.Server{Services: reflection.With(states.With(words(echo), thrift)...)}))

	h := healthpb.NewHealthClient(c)
	if res, err := h.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "test.Words"}); err != nil || res.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("Check: %v, %v", res, err)
	}
	if res, err := h.List(t.Context(), &healthpb.HealthListRequest{}); err != nil || len(res.Statuses) != 4 {
		t.Errorf("List: %v, %v", res, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	w, err := h.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []health.State{health.Serving, health.NotServing} {
		states.Set("", s)
		if res, err := w.Recv(); err != nil || int32(res.Status) != int32(s) {
			t.Errorf("Watch: %v, %v", res, err)
		}
	}

	v1, err := reflectv1.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grpc.health.v1.Health", "Hello", "grpc.reflection.v1alpha.ServerReflection"} {
		if err := v1.Send(&reflectv1.ServerReflectionRequest{MessageRequest: &reflectv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}); err != nil {
			t.Fatal(err)
		}
		res, err := v1.Recv()
		if err != nil {
			t.Fatal(err)
		}
		check(t, name, res.GetFileDescriptorResponse().GetFileDescriptorProto())
	}
	alpha, err := reflectalpha.NewServerReflectionClient(c).ServerReflectionInfo(ctx, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 tools ask in it still
	if err := alpha.Send(&reflectalpha.ServerReflectionRequest{MessageRequest: &reflectalpha.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the same
	if res, err := alpha.Recv(); err != nil || len(res.GetListServicesResponse().GetService()) != 5 {
		t.Errorf("list: %v, %v", res, err)
	}
}

// check has the official run time link the files of an answer.
func check(t *testing.T, name string, raw [][]byte) {
	t.Helper()
	set := new(descriptorpb.FileDescriptorSet)
	for _, p := range raw {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(p, f); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, f)
	}
	if all, err := protodesc.NewFiles(set); err != nil || all.NumFiles() == 0 {
		t.Errorf("%s: %v of %d files", name, err, len(raw))
	}
}

// reflection.Services asks grpc-go's servers, in either version.
func TestServicesOfGRPCGo(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"v1": func(s *grpc.Server) { theirs.RegisterV1(s) },
		"v1alpha": func(s *grpc.Server) {
			reflectalpha.RegisterServerReflectionServer(s, theirs.NewServer(theirs.ServerOptions{Services: s}))
		},
		"both": func(s *grpc.Server) { theirs.Register(s) },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		healthpb.RegisterHealthServer(s, healthserver.NewServer())
		register(s)
		go func() { _ = s.Serve(l) }() // Stop ends it
		t.Cleanup(s.Stop)
		c, err := limosa.Dial(l.Addr().String(), func(c *limosa.Client) { c.Protocols = []wire.Protocol{web.Protocol{}} })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		all, err := reflection.Services(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		i := slices.IndexFunc(all, func(s rpc.Service) bool { return s.Name == "grpc.health.v1.Health" })
		if i < 0 || !strings.Contains(all[i].IDL, "HealthCheckRequest") {
			t.Errorf("%s: %v", name, all)
		}
	}
}
