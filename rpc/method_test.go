package rpc

import "testing"

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
