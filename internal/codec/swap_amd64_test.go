package codec

import (
	"os"
	"os/exec"
	"testing"
)

// The same tests again as on processors with less: AVX2 alone, and neither.
func TestOlderProcessors(t *testing.T) {
	for _, without := range []string{"cpu.avx512vbmi2=off", "cpu.avx2=off"} {
		t.Run(without, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.short", "-test.run=^(Test|Fuzz)Swap", "-test.v")
			cmd.Env = append(os.Environ(), "GODEBUG="+without)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// TestSwapHere says what this run has gone through; under TestOlderProcessors it
// sees that GODEBUG was heeded.
func TestSwapHere(t *testing.T) {
	t.Logf("AVX2 %v, AVX-512 %v", hasVectors(), hasWide())
	switch os.Getenv("GODEBUG") {
	case "cpu.avx2=off":
		if hasVectors() {
			t.Error("AVX2 is on")
		}
	case "cpu.avx512vbmi2=off":
		if hasWide() {
			t.Error("AVX-512 is on")
		}
	}
}
