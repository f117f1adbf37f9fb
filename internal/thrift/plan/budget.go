package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
)

// Begin makes the message at p ready to be decoded into: what it held is gone, so
// that a message that is used again does not keep what the new one leaves out, and
// its defaults are set. false: there is not enough memory for these.
func (d *Decoder) Begin(pl *Plan, p unsafe.Pointer) bool {
	pl.Clear(p)
	return !pl.HasPreset() || d.Defaults(pl, p)
}

// Defaults takes the memory for the defaults of a struct, which has some, and
// sets them in the fresh one at p.
//
// The cost is measured by the shape when the type is first used, not taken from the
// message. Without it a list of empty structs, one byte each, would make the defaults of
// all of them for nothing: 262,160 bytes had made 157 MB.
func (d *Decoder) Defaults(pl *Plan, p unsafe.Pointer) bool {
	if cost := pl.PresetCost(codec.Allocation); cost != 0 {
		if d.Budget -= codec.Budget(cost); d.Budget < 0 {
			return false
		}
	}
	pl.Preset(p)
	return true
}
