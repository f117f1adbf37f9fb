package rpc

import "testing"

// Of small and large messages in turn each large one is expected.
func TestLargeMessagesAreExpectedForAWhile(t *testing.T) {
	var m Method
	for range 10 {
		m.NoteRequest(1 << 20)
		m.NoteRequest(100)
		if !m.LargeRequest() {
			t.Fatal("forgotten after one small request")
		}
	}
	for range smallInRow {
		m.NoteRequest(100)
	}
	if m.LargeRequest() || m.LargeResponse() {
		t.Error("expected for ever")
	}
}
