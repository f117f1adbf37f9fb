package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

func TestRollingFlags(t *testing.T) {
	for _, args := range [][]string{{"-mode", "hammer"}, {"-times", "0"}, {"-d", "0s"}, {"extra"}} {
		if _, err := parseRolling(args); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The judge sees each way in which a client and a server may disagree.
func TestRollingJudge(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	var notes []byte
	for _, id := range []uint64{1, 2, 2, 3, 6} {
		notes = binary.LittleEndian.AppendUint64(notes, id)
	}
	if err := os.WriteFile(ledger, notes, 0o600); err != nil {
		t.Fatal(err)
	}
	calls := &rollingCalls{outcomes: map[int64]error{
		1: nil, 2: nil,
		3: &rpc.Error{Code: rpc.Unavailable, Sent: rpc.NotSent},
		4: nil,
		5: &rpc.Error{Code: rpc.Unavailable, Sent: rpc.Refused},
		6: &rpc.Error{Code: rpc.Unavailable, Sent: rpc.Maybe},
	}}
	var r rollingRow
	if err := calls.judge(&r, ledger); err != nil {
		t.Fatal(err)
	}
	r.FirstError = ""
	if want := (rollingRow{Calls: 6, Failed: 3, NotSent: 1, Refused: 1, Maybe: 1, Unsafe: 2, Duplicated: 1, False: 1, Lost: 1}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// A run that finds what no client may be told fails, and says what.
func TestFaultsAreErrors(t *testing.T) {
	good := &rollingRow{Mode: "drain", Calls: 9, Failed: 3, NotSent: 1, Maybe: 2}
	if err := rollingFault([]*rollingRow{good}); err != nil {
		t.Error(err)
	}
	for _, bad := range []rollingRow{{Duplicated: 1}, {False: 1}, {Lost: 1}, {Wrong: 1}} {
		bad.Mode = "kill9"
		if err := rollingFault([]*rollingRow{good, &bad}); err == nil || !strings.Contains(err.Error(), "kill9") || strings.Contains(err.Error(), "drain") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := overloadFault([]*overloadRow{{Calls: 9, Refusals: 4}}); err != nil {
		t.Error(err)
	}
	if err := overloadFault([]*overloadRow{{Setup: "shared", Calls: 9, Errors: 2}}); err == nil || !strings.Contains(err.Error(), "2 of 9") {
		t.Error(err)
	}
}

func TestRollingRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, takes seconds")
	}
	p := &rollingPlan{times: 1, every: 200 * time.Millisecond}
	for _, mode := range []string{"drain", "kill9"} {
		r, err := p.run(t.Context(), mode)
		if err != nil {
			t.Fatal(err)
		}
		if r.Calls == 0 || r.Duplicated+r.False+r.Lost+r.Wrong > 0 || r.Failed == r.Calls {
			t.Errorf("%+v", r)
		}
	}
}
