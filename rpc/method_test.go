package rpc

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of small and large messages in turn each large one is expected.
func TestLargeMessagesAreExpectedForAWhile(t *testing.T) {
	var m Method
	for range 10 {
		HintsOf(&m).NoteRequest(1 << 20)
		HintsOf(&m).NoteRequest(100)
		if !HintsOf(&m).LargeRequest() {
			t.Fatal("forgotten after one small request")
		}
	}
	for range smallInRow {
		HintsOf(&m).NoteRequest(100)
	}
	if HintsOf(&m).LargeRequest() || HintsOf(&m).LargeResponse() {
		t.Error("expected for ever")
	}
}

// However many small messages follow, the largest one of the last seconds is reckoned
// with; then the largest of those that followed. Where they are few it lasts longer.
func TestTheLargestIsKeptForSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Method
		if h := HintsOf(&m); h.Answered() || h.ResponseBytes() != 0 {
			t.Error("a response is known before the first")
		}
		HintsOf(&m).NoteResponse(0)
		if h := HintsOf(&m); !h.Answered() || h.ResponseBytes() != 0 {
			t.Error("a small response is not known, or thought to be large")
		}
		HintsOf(&m).NoteResponse(8 << 20)
		begin := time.Now()
		for time.Since(begin) < largestFor {
			HintsOf(&m).NoteResponse(64 << 10)
			for range 40 {
				HintsOf(&m).NoteResponse(100)
			}
			if got := HintsOf(&m).ResponseBytes(); got != 8<<20 {
				t.Fatalf("%d bytes expected after %v", got, time.Since(begin))
			}
			time.Sleep(100 * time.Millisecond) // virtual
		}
		for range 2 * smallInRow {
			HintsOf(&m).NoteResponse(100)
		}
		if got := HintsOf(&m).ResponseBytes(); got != 64<<10 {
			t.Errorf("%d bytes expected after seconds without", got)
		}
		for range 2 {
			time.Sleep(largestFor) // virtual
			for range 2 * smallInRow {
				HintsOf(&m).NoteResponse(100)
			}
		}
		if got := HintsOf(&m).ResponseBytes(); got != 0 {
			t.Errorf("%d bytes expected for ever", got)
		}
	})
}
