// Command bench measures Limosa beside other RPC stacks, in one interleaved
// run, with one load generator.
//
//	go run ./bench rpc -peers limosa,grpc-go -callers 1,100
//
// Client and server are processes of their own, started anew for each
// measurement. Rows go to stdout as JSON lines, the readable table and
// progress to stderr. Absolute figures move from run to run; what counts is
// the ratio between peers of the same round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// A usageError is a mistake of whoever typed the command: one line, exit 2.
type usageError struct{ why string }

// Error says what was typed wrong.
func (e usageError) Error() string { return e.why }

// main ends with 0, 1 for what went wrong and 2 for what was typed wrong, as the tool does.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	endProfile := trial.StartProfile()
	err := run(ctx, os.Args[1:])
	endProfile()
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run has a case for each subcommand, which is all of its complexity.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usageError{"say what to measure: rpc, stream, slow, where, net, idle, accept, relay, pipe, codec, simd, attack, overload or rolling (go run ./bench rpc -h lists its flags)"}
	}
	switch args[0] {
	case "rpc":
		return rpcMain(ctx, args[1:])
	case "stream":
		return streamMain(ctx, args[1:])
	case childStream:
		return streamChildMain(ctx, args[1:])
	case "slow":
		return slowMain(ctx, args[1:])
	case childSlow:
		return slowChildMain(ctx, args[1:])
	case "relay":
		return relayMain(ctx, args[1:])
	case "pipe":
		return pipeMain(ctx, args[1:])
	case "codec":
		return codecMain(ctx, args[1:])
	case "simd":
		return simdMain(ctx, args[1:])
	case "net":
		return netMain(ctx, args[1:])
	case "idle":
		return idleMain(ctx, args[1:])
	case "accept":
		return acceptMain(ctx, args[1:])
	case "where":
		return whereMain(ctx, args[1:])
	case "attack":
		return attackMain(ctx, args[1:])
	case "overload":
		return overloadMain(ctx, args[1:])
	case childOverload:
		return overloadChildMain(ctx, args[1:])
	case "rolling":
		return rollingMain(ctx, args[1:])
	case childRolling:
		return rollingChildMain(ctx, args[1:])
	case childVictim:
		return victimMain(ctx, args[1:])
	case childAttacker:
		return attackerMain(ctx, args[1:])
	case childEcho:
		return echoChildMain(args[1:])
	case childRelay:
		return relayChildMain(args[1:])
	case trial.Server, trial.Client:
		return trial.Child(ctx, inside(), args[0], args[1:])
	}
	return usageError{fmt.Sprintf("unknown benchmark %q; there is: %s", args[0], strings.Join([]string{"rpc", "stream", "slow", "where", "net", "idle", "accept", "relay", "pipe", "codec", "simd", "attack", "overload", "rolling"}, ", "))}
}
