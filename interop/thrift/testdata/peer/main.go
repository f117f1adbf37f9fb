// Command peer is Limosa's pair of test programs for Apache's ThriftTest
// service: the counterpart of Apache's TestServer and TestClient. It is
// compiled in a module of its own, beside the package that Limosa's generator
// makes from Apache's IDL.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A link says how the two sides talk.
type link struct {
	port                int
	transport, protocol string
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peer server|client [flags]")
		os.Exit(2)
	}
	var l link
	flags := flag.NewFlagSet("peer", flag.ExitOnError)
	flags.IntVar(&l.port, "port", 9090, "the server's port on the loopback interface")
	flags.StringVar(&l.transport, "transport", "buffered", "buffered or framed")
	flags.StringVar(&l.protocol, "protocol", "binary", "binary, compact, header, headerc, multi, multic or multih")
	flags.Parse(os.Args[2:]) // ends the program on an error

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	run := runClient
	if os.Args[1] == "server" {
		run = runServer
	}
	err := run(ctx, l)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
