package http2

import (
	"strings"
	"testing"
)

// TestAnswers: what a server may say to three calls in flight, of which the third is a
// stream, and what becomes of it. The ids of the calls are 101, 102 and 103.
func TestAnswers(t *testing.T) {
	ok := []string{":status", "200"}
	for _, c := range []struct {
		name string
		send func(r *raw)
		want string // events
		told string
	}{
		{"whole", func(r *raw) { r.head(1, 0, ok...).data(1, 0, "abc").head(1, flagEnd, "x-t", "y") }, `answer|data|end 101 200  "abc" trailer x-t=y`, ""},
		{"without trailers", func(r *raw) { r.head(1, 0, ok...).data(1, flagEnd, "abc") }, `answer|data|end 101 200  "abc"`, ""},
		{"head alone", func(r *raw) { r.head(1, flagEnd, ok...) }, `answer|end 101 200 `, ""},
		{"head and trailers", func(r *raw) { r.head(1, 0, ok...).head(1, flagEnd, "x-t", "y") }, `answer|end 101 200  trailer x-t=y`, ""},
		{"several DATA", func(r *raw) { r.head(1, 0, ok...).data(1, 0, "a").data(1, 0, "b").data(1, flagEnd, "c") }, `answer|data|end 101 200  "abc"`, ""},
		{"padding", func(r *raw) { r.head(1, 0, ok...).data(1, flagPadded|flagEnd, "\x03abc\x00\x00\x00") }, `answer|data|end 101 200  "abc"`, ""},
		{"informational", func(r *raw) { r.head(1, 0, ":status", "103", "link", "x").head(1, flagEnd, ok...) }, `answer|end 101 200 `, ""},
		{"informational with END_STREAM", func(r *raw) { r.head(1, flagEnd, ":status", "103") },
			"reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR informational answer with END_STREAM)", "rst 1 PROTOCOL_ERROR"},
		{"interleaved", func(r *raw) {
			r.head(1, 0, ok...).head(3, 0, ok...).data(3, 0, "x").data(1, 0, "a").data(3, flagEnd, "y").data(1, flagEnd, "b")
		}, `answer|data|end 102 200  "xy"; answer|data|end 101 200  "ab"`, ""},
		{"a stream", func(r *raw) {
			r.head(5, 0, ok...).data(5, 0, "x").data(5, 0, "y").head(5, flagEnd, "x-t", "z")
		}, `answer|data 103 200  "x"; data 103 "y"; end 103 trailer x-t=z`, ""},
		{"head of a stream", func(r *raw) { r.head(5, 0, ok...).frame(typePing, flagAck, 0, "12345678") }, `answer 103 200 ; pong`, ""},
		{"reset", func(r *raw) { r.rst(3) }, "reset 102 CANCEL", ""},
		{"reset within a body", func(r *raw) { r.head(1, 0, ok...).data(1, 0, "x").rst(1) }, "reset 101 CANCEL", ""},
		{"behind the end", func(r *raw) { r.head(1, flagEnd, ok...).data(1, 0, "x") }, "answer|end 101 200 ; close (STREAM_CLOSED frame behind END_STREAM)", "goaway STREAM_CLOSED"},
		{"behind a reset", func(r *raw) { r.rst(1).data(1, 0, "x") }, "reset 101 CANCEL", "rst 1 STREAM_CLOSED"},
		{"content-length", func(r *raw) { r.head(1, 0, with(ok, "content-length", "3")...).data(1, flagEnd, "abc") }, `answer|data|end 101 200  "abc"`, ""},
		{"content-length without a body", func(r *raw) { r.head(1, flagEnd, with(ok, "content-length", "3")...) }, `answer|end 101 200 `, ""},
		{"wrong content-length", func(r *raw) { r.head(1, 0, with(ok, "content-length", "2")...).data(1, flagEnd, "abc") },
			"reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR content-length is not that of the body)", "rst 1 PROTOCOL_ERROR"},
		{"DATA first", func(r *raw) { r.data(1, 0, "abc") }, "reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR answer without its head)", "rst 1 PROTOCOL_ERROR"},
		{"trailers first", func(r *raw) { r.head(1, flagEnd, "x-t", "y") }, "reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR answer without its head)", "rst 1 PROTOCOL_ERROR"},
		{"two heads", func(r *raw) { r.head(5, 0, ok...).head(5, 0, ok...) }, "answer 103 200 ; reset 103 PROTOCOL_ERROR (PROTOCOL_ERROR second head of an answer)", "rst 5 PROTOCOL_ERROR"},
		{"two heads of a call", func(r *raw) { r.head(1, 0, ok...).head(1, flagEnd, ok...) }, "reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR second head of an answer)", "rst 1 PROTOCOL_ERROR"},
		{"trailers without END_STREAM", func(r *raw) { r.head(1, 0, ok...).data(1, 0, "x").head(1, 0, "x-t", "y") },
			"reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR trailers without END_STREAM)", "rst 1 PROTOCOL_ERROR"},
		{"no status", func(r *raw) { r.head(1, flagEnd, ":path", "/") },
			"reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR answer with other pseudo-header fields than :status)", "rst 1 PROTOCOL_ERROR"},
		{"status of letters", func(r *raw) { r.head(1, flagEnd, ":status", "2x0") }, `reset 101 PROTOCOL_ERROR (PROTOCOL_ERROR status "2x0")`, "rst 1 PROTOCOL_ERROR"},
		{"idle HEADERS", func(r *raw) { r.head(99, flagEnd, ok...) }, "close (PROTOCOL_ERROR frame on an idle stream)", "goaway PROTOCOL_ERROR"},
		{"idle DATA", func(r *raw) { r.data(99, 0, "x") }, "close (PROTOCOL_ERROR frame on an idle stream)", "goaway PROTOCOL_ERROR"},
		{"idle RST_STREAM", func(r *raw) { r.rst(99) }, "close (PROTOCOL_ERROR frame on an idle stream)", "goaway PROTOCOL_ERROR"},
		{"idle WINDOW_UPDATE", func(r *raw) { r.update(99, 1) }, "close (PROTOCOL_ERROR frame on an idle stream)", "goaway PROTOCOL_ERROR"},
		{"pushed", func(r *raw) { r.frame(typePushPromise, flagEndHeaders, 1, word(2)) }, "close (PROTOCOL_ERROR PUSH_PROMISE)", "goaway PROTOCOL_ERROR"},
		{"even number", func(r *raw) { r.head(2, flagEnd, ok...) }, "close (PROTOCOL_ERROR stream with an even number)", "goaway PROTOCOL_ERROR"},
		{"ENABLE_PUSH", func(r *raw) { r.setting(settingPush, 1) }, "close (PROTOCOL_ERROR setting 2 of 1)", "goaway PROTOCOL_ERROR"},
		{"PING", func(r *raw) { r.frame(typePing, 0, 0, "12345678") }, "ping", "ping 1 12345678"},
		{"GOAWAY", func(r *raw) { r.frame(typeGoAway, 0, 0, word(3)+word(2)) }, "goaway INTERNAL_ERROR", ""},
		{"more by the next GOAWAY", func(r *raw) {
			r.frame(typeGoAway, 0, 0, word(1)+word(0)).frame(typeGoAway, 0, 0, word(9)+word(0))
		}, "goaway NO_ERROR; goaway NO_ERROR", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range []int{1 << 20, 1} {
				e := newEnd(t, Client, Config{})
				for i := range uint64(3) {
					sd := Send{Flags: Open | End | Gathered, ID: 101 + i, Head: requestHead}
					if i == 2 {
						sd.Flags = Open
					}
					if err := e.send(sd, ""); err != nil {
						t.Fatal(err)
					}
				}
				e.moved()
				r := newRaw().frame(typeSettings, 0, 0, "")
				c.send(r)
				e.give(r.Bytes(), piece)
				var got []string
				for _, s := range e.seen {
					if s != "settings" {
						got = append(got, s)
					}
				}
				want := c.want
				if piece == 1 {
					want = strings.Replace(want, "answer|data 103 200  ", "answer 103 200 ; data 103 ", 1)
					if c.name == "two heads of a call" { // Cut knows by then that the answer is gathered
						want = strings.Replace(want, "second head of an answer", "pseudo-header field in trailers", 1)
					}
				}
				if s := strings.Join(got, "; "); s != want {
					t.Errorf("in pieces of %d bytes\nsaw  %s\nwant %s", piece, s, want)
				}
				if s := told(append(settingsFrame(), e.moved()...)); s != strings.TrimSuffix("ack, "+c.told, ", ") {
					t.Errorf("told %s", s)
				}
				account(t, e.s)
			}
		})
	}
}
