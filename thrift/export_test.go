package thrift

import "github.com/limosa-rpc/limosa/internal/codec"

// DefaultsCost is what the defaults of msg's type are charged.
func DefaultsCost(msg any) int {
	pl, _, err := planOf(msg)
	if err != nil {
		return 0
	}
	return int(pl.PresetCost(codec.Allocation))
}
