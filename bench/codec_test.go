package main

import (
	"maps"
	"slices"
	"testing"
)

// TestCodecPeers runs every operation of every peer on every shape, and looks
// at what comes out.
func TestCodecPeers(t *testing.T) {
	for _, s := range codecShapes() {
		s.load()
		for _, p := range codecPeers() {
			ops := p.ops(s)
			for _, op := range slices.Sorted(maps.Keys(ops)) {
				if err := ops[op].run(2); err != nil {
					t.Errorf("%s %s %s: %v", s.name, p.name, op, err)
				} else if err := ops[op].check(); err != nil {
					t.Errorf("%s %s %s: %v", s.name, p.name, op, err)
				}
			}
		}
	}
}

// TestCodecSizes holds the shapes against what their names promise.
func TestCodecSizes(t *testing.T) {
	least := map[string]int{"echo": 1024, "small": 150, "medium": 17 << 10, "wide": 16 << 10, "large": 5 << 20, "numbers": 1 << 20, "text": 1 << 20, "maps": 20_000}
	for _, s := range codecShapes() {
		s.load()
		if n := s.limosa(false)["encode"].size; n < least[s.name] || n > least[s.name]*3/2 {
			t.Errorf("%s takes %d bytes, about %d are due", s.name, n, least[s.name])
		}
	}
}
