package main

import (
	"slices"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// A peer is one RPC stack, or one way to use it.
type peer struct {
	trial.Peer
	later   string // why it cannot be measured yet; empty if it can
	outside string // the folder below bench/peers whose program has it; empty if this one does
}

// peers lists what can be asked for, Limosa first.
func peers() []*peer {
	return slices.Concat(limosaPeers(), []*peer{
		{Peer: trial.Peer{Name: "grpc-go", Serve: serveGRPC, Dial: dialGRPC}},
		{Peer: trial.Peer{Name: "grpc-go-stream", Serve: serveGRPC, Dial: dialGRPCStream}},
		{Peer: trial.Peer{Name: "connect", Serve: serveConnect, Dial: dialConnect}},
		{Peer: trial.Peer{Name: "drpc", Serve: serveDRPC, Dial: dialDRPC}},
		{Peer: trial.Peer{Name: "apache-thrift", Serve: serveApache, Dial: dialApache}},
	}, outsidePeers(), []*peer{{Peer: *trial.Null()}})
}

// inside lists the peers that this program itself can be.
func inside() (own []*trial.Peer) {
	for _, p := range peers() {
		if p.later == "" && p.outside == "" {
			own = append(own, &p.Peer)
		}
	}
	return own
}

// peerNames are the peers there are, in order.
func peerNames() (names []string) {
	for _, p := range peers() {
		names = append(names, p.Name)
	}
	return names
}

// findPeer gives the peer of that name, nil if there is none.
func findPeer(name string) *peer {
	for _, p := range peers() {
		if p.Name == name {
			return p
		}
	}
	return nil
}
