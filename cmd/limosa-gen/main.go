// Command limosa-gen generates Go from .thrift and .proto files. It is the one of the
// root module with a reader of .proto files beside it, and what that needs:
// protocompile, protobuf and x/sync. limosa gen is the same.
package main

import (
	"os"

	"github.com/limosa-rpc/limosa/cmd/protoparse"
	"github.com/limosa-rpc/limosa/gen"
)

func main() {
	readers := map[string]gen.Reader{".thrift": gen.ThriftReader, ".proto": protoparse.Schema}
	os.Exit(gen.Command{Readers: readers, Stdout: os.Stdout, Stderr: os.Stderr}.Run(os.Args[1:]))
}
