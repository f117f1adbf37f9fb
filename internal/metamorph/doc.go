// Package metamorph holds the metamorphic run: one random script of calls, played over every
// form, transport, IDL and codec, gives one history. What the service says is told by a
// model beside it in no way: the ways are held against each other.
//
//	go test ./internal/metamorph -calls 100000
package metamorph

//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -out ../internal/metamorph/gen ../internal/metamorph/idl/ledger.thrift"
//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -prefix github.com/limosa-rpc/limosa/internal/metamorph/gen -M ledger.proto=github.com/limosa-rpc/limosa/internal/metamorph/gen/ledgerpb -out ../internal/metamorph/gen -I ../internal/metamorph/idl ../internal/metamorph/idl/ledger.proto"
