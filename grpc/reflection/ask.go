package reflection

import (
	"context"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

const (
	// questionsMost is how many questions Services asks: one a service, one a file that
	// did not come by itself.
	questionsMost = 10_000
	// toldMost is how much it is told, bytes.
	toldMost = 16 << 20
)

// Services asks a server of gRPC, whoever has written it, for its services: their names and
// their IDL, without methods. The IDL is one FileDescriptorSet for all of them, and empty for
// a service that the server does not describe whole. It fails with rpc.Unimplemented if the
// server has no reflection, neither v1 nor v1alpha, and with rpc.ResourceExhausted if it tells
// more than 16 MB, or has more than 10,000 services.
func Services(ctx context.Context, server rpc.Caller) ([]rpc.Service, error) {
	all, err := services(ctx, server, ownPackage)
	if rpc.CodeOf(err) != rpc.Unimplemented {
		return all, err
	}
	all, older := services(ctx, server, alphaPackage)
	if rpc.CodeOf(older) == rpc.Unimplemented {
		return nil, err
	}
	return all, older
}

// services asks in one version.
func services(ctx context.Context, server rpc.Caller, version string) (all []rpc.Service, err error) {
	m := &rpc.Method{Service: version + ".ServerReflection", Name: "ServerReflectionInfo", Kind: rpc.Bidi, Codec: protobuf.Codec{}}
	err = stub.Converse(ctx, server, stub.Make(m, m.Service, nil, nil), func(_ context.Context, s rpc.Stream) error {
		q := &inquiry{s: s, told: emptyIndex(), asked: map[string]bool{}}
		if err := q.list(); err != nil {
			return err
		}
		if err := q.files(); err != nil {
			return err
		}
		all = q.services()
		return q.end()
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// An inquiry is a conversation with a server. One goroutine has it.
type inquiry struct {
	s         rpc.Stream
	names     []string // of services, as the server listed them
	told      *index
	imports   []string        // files that may have to be asked for
	asked     map[string]bool // files, by name
	questions int
	bytes     int
}

// ask asks one question.
func (q *inquiry) ask(question reflectpb.ServerReflectionRequestMessageRequest) (*reflectpb.ServerReflectionResponse, error) {
	if q.questions++; q.questions > questionsMost {
		return nil, rpc.Errorf(rpc.ResourceExhausted, "the server's services need more than %d questions", questionsMost)
	}
	// io.EOF: the server has ended the call, and Receive tells why.
	if err := q.s.Send(&reflectpb.ServerReflectionRequest{MessageRequest: question}); err != nil && err != io.EOF {
		return nil, err
	}
	res := new(reflectpb.ServerReflectionResponse)
	err := q.s.Receive(res)
	if err == io.EOF {
		err = rpc.Errorf(rpc.DataLoss, "the server has ended its reflection before all questions were answered")
	}
	return res, err
}

// end ends the conversation, of which everything is known by now.
func (q *inquiry) end() error {
	if err := q.s.CloseSend(); err != nil {
		return err
	}
	if err := q.s.Receive(new(reflectpb.ServerReflectionResponse)); err != io.EOF {
		return err
	}
	return nil
}

// list asks for the names.
func (q *inquiry) list() error {
	res, err := q.ask(&reflectpb.ServerReflectionRequestMessageRequestListServices{})
	if err != nil {
		return err
	}
	if e := res.GetErrorResponse(); e != nil {
		return rpc.Errorf(rpc.Code(e.ErrorCode), "%s", e.ErrorMessage)
	}
	l := res.GetListServicesResponse()
	if l == nil {
		return rpc.Errorf(rpc.DataLoss, "the server has answered another question")
	}
	for _, s := range l.Service {
		if s != nil {
			q.names = append(q.names, s.Name)
		}
	}
	return nil
}

// files asks for the files of the services, and for what these import.
func (q *inquiry) files() error {
	for _, name := range q.names {
		if q.told.symbol(name) != nil {
			continue // it came with another one's
		}
		if err := q.file(&reflectpb.ServerReflectionRequestMessageRequestFileContainingSymbol{FileContainingSymbol: name}); err != nil {
			return err
		}
	}
	for ; len(q.imports) > 0; q.imports = q.imports[1:] {
		name := q.imports[0]
		if q.told.files[name] != nil || q.asked[name] {
			continue
		}
		q.asked[name] = true
		if err := q.file(&reflectpb.ServerReflectionRequestMessageRequestFileByFilename{FileByFilename: name}); err != nil {
			return err
		}
	}
	return nil
}

// file takes in what a question for a file is answered. That the server has none, or will not
// give it, is no error: one service of many need not be described.
func (q *inquiry) file(question reflectpb.ServerReflectionRequestMessageRequest) error {
	res, err := q.ask(question)
	if err != nil {
		return err
	}
	got := res.GetFileDescriptorResponse()
	if got == nil {
		return nil
	}
	for _, raw := range got.FileDescriptorProto {
		if q.bytes += len(raw); q.bytes > toldMost {
			return rpc.Errorf(rpc.ResourceExhausted, "the server's files have more than %d bytes", toldMost)
		}
		fd := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(raw, fd); err != nil {
			return rpc.Errorf(rpc.DataLoss, "a file that the server describes: %v", err)
		}
		q.told.add(fd)
		q.imports = append(q.imports, fd.Dependency...)
	}
	return nil
}

// services are what came of it.
func (q *inquiry) services() []rpc.Service {
	broken := q.broken()
	var set []byte
	for _, name := range slices.Sorted(maps.Keys(q.told.files)) {
		if !broken[name] {
			set = protowire.AppendTag(set, 1, protowire.BytesType)
			set = protowire.AppendBytes(set, q.told.files[name].raw)
		}
	}
	var all []rpc.Service
	for _, name := range q.names {
		s := rpc.Service{Name: name}
		if f := q.told.symbol(name); f != nil && !broken[f.name] {
			s.IDL = string(set)
		}
		all = append(all, s)
	}
	return all
}

// broken are the files that import what the server does not have.
func (q *inquiry) broken() map[string]bool {
	users, found := map[string][]string{}, map[string]bool{}
	var next []string
	for _, f := range q.told.files {
		for _, name := range f.deps {
			users[name] = append(users[name], f.name)
			if q.told.files[name] == nil {
				next = append(next, f.name)
			}
		}
	}
	for ; len(next) > 0; next = next[1:] {
		if name := next[0]; !found[name] {
			found[name] = true
			next = append(next, users[name]...)
		}
	}
	return found
}
