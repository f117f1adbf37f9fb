// Command limosa-gen generates Go from .thrift files. It pulls nothing into a
// user's go.mod but this module; limosa gen is the same.
package main

import (
	"os"

	"github.com/limosa-rpc/limosa/gen"
)

func main() { os.Exit(gen.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
