// Command limosa-gen generates Go from .thrift and .proto files. It is the one of the
// root module with a reader of .proto files beside it, and what that needs:
// protocompile, protobuf and x/sync. limosa gen is the same.
package main

import (
	"io"
	"os"

	"github.com/limosa-rpc/limosa/cmd/protoparse"
	"github.com/limosa-rpc/limosa/gen"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return gen.Command{Readers: protoparse.Readers(), Stdout: stdout, Stderr: stderr}.Run(args)
}
