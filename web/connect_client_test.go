package web_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
)

// answerHead is the head of an answer, with fields as name=value.
func answerHead(status string, fields ...string) *http2.Head {
	list := []http2.Field{{Name: ":status", Value: status}}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		list = append(list, http2.Field{Name: k, Value: v})
	}
	return http2.NewHead(list...)
}

// packedLast is last, compressed.
func packedLast(text string) string {
	p := packed(text)
	return string(append([]byte{3}, p[1:]...))
}

var speaksConnect = web.Protocol{Authority: "words:80", Connect: true}

const (
	kindOne  = "content-type=application/proto"
	kindMany = "content-type=application/connect+proto"
	kindJSON = "content-type=application/json"
)

// said leaves out of an error who has told it, and when.
var said = strings.NewReplacer("b: ", "", "receive: ", "")

// What a client makes of answers of one message, right and wrong, whole and in parts.
func TestConnectClientReads(t *testing.T) {
	for name, x := range map[string]struct {
		head *http2.Head
		body string
		want string
	}{
		"an answer":         {answerHead("200", kindOne), "hi", "hi [] <nil>"},
		"nothing":           {answerHead("200", kindOne), "", " [] <nil>"},
		"with metadata":     {answerHead("200", kindOne, "lead=1", "trailer-tail=2", "trailer-x-bin=AAE", "date=now"), "hi", "hi [{lead 1 2} {tail 2 0} {x-bin \x00\x01 0}] <nil>"},
		"compressed":        {answerHead("200", kindOne, "content-encoding=gzip"), packed("hi")[5:], "hi [] <nil>"},
		"an odd encoding":   {answerHead("200", kindOne, "content-encoding=br"), "hi", "Internal"},
		"bad metadata":      {answerHead("200", kindOne, "x-bin=!"), "hi", "Internal"},
		"an error":          {answerHead("404", kindJSON, "lead=1"), `{"code":"aborted","message":"no"}`, " [{lead 1 2}] Aborted: no"},
		"a packed error":    {answerHead("404", kindJSON, "content-encoding=gzip"), packed(`{"code":"aborted","message":"no"}`)[5:], " [] Aborted: no"},
		"one without code":  {answerHead("503", kindJSON), `{"message":"no"}`, " [] Unavailable: no"},
		"one of nothing":    {answerHead("503", kindJSON), `{"message":`, " [] Unavailable: the peer has answered with HTTP status 503"},
		"one without text":  {answerHead("401"), "", " [] Unauthenticated: the peer has answered with HTTP status 401"},
		"HTML":              {answerHead("200", "content-type=text/html"), "<p>", `Unknown: the answer is none of Connect: its content type is "text/html"`},
		"a stream's answer": {answerHead("200", kindMany), message("hi") + last("{}"), "Internal: the answer is that to a call of another kind"},
		"gRPC's answer":     {answerHead("200", "content-type=application/grpc"), message("hi"), "Unknown"},
		"damaged":           {answerHead("200", kindOne, "content-encoding=gzip"), "hi", "Internal"},
	} {
		for _, part := range []int{1 << 20, 1, 7} {
			synctest.Test(t, func(t *testing.T) {
				r := newClientRigOf(t, speaksConnect)
				e := newEnd(t, r.peer, http2.Server)
				got := make(chan string, 1)
				go func() {
					text, trailer, err := say(t.Context(), r.client, "question")
					got <- fmt.Sprint(text, " ", trailer, " ", err)
				}()
				if asked, want := e.hears(), `POST /test.Words/Say `+kindOne+` connect-protocol-version=1 accept-encoding=gzip "question" end`; asked != want {
					t.Fatalf("asked %s\nwant %s", asked, want)
				}
				answer(e, x.head, x.body, part)
				if text := said.Replace(<-got); !strings.Contains(text, x.want) {
					t.Errorf("%s, in parts of %d: %s, want %s", name, part, text, x.want)
				}
				if left := web.Remembered(r.sess); left > 0 {
					t.Errorf("%s, in parts of %d: %d streams are remembered", name, part, left)
				}
			})
		}
	}
}

// answer sends an answer to the first call, in parts, and its end behind them.
func answer(e *end, head *http2.Head, body string, part int) {
	if part >= len(body) {
		e.send(http2.Send{Flags: http2.Answer | http2.Data | http2.End, ID: 1, Head: head}, body)
		return
	}
	e.send(http2.Send{Flags: http2.Answer, ID: 1, Head: head}, "")
	for i := 0; len(body) > 0; i++ {
		n := min(part, len(body))
		e.send(http2.Send{Flags: http2.Data, ID: 1}, body[:n])
		if body = body[n:]; i%3 == 0 && strings.Contains(e.hears(), "reset") {
			return // it is not waited for any more
		}
	}
	e.send(http2.Send{Flags: http2.End, ID: 1}, "")
}

// What a client makes of answers that are streams.
func TestConnectClientReadsStreams(t *testing.T) {
	ok := answerHead("200", kindMany, "lead=1")
	for name, x := range map[string]struct {
		head *http2.Head
		body string
		want string
	}{
		"a stream":          {ok, message("a") + message("") + message("bc") + last("{}"), "a||bc|end [{lead 1 2}]"},
		"an empty one":      {ok, last(`{"metadata":{"tail":["2","3"]}}`), "end [{lead 1 2} {tail 2 0} {tail 3 0}]"},
		"one that fails":    {ok, message("a") + last(`{"error":{"code":"data_loss","message":"no"},"metadata":{"tail":["2"]}}`), "a|DataLoss: no [{lead 1 2} {tail 2 0}]"},
		"a packed end":      {ok, message("a") + packedLast(`{"error":{"code":"data_loss","message":"no"}}`), "a|DataLoss: no [{lead 1 2}]"},
		"packed messages":   {answerHead("200", kindMany, "connect-content-encoding=gzip"), packed("ab") + message("c") + last("{}"), "ab|c|end []"},
		"without its end":   {ok, message("a"), "a|Internal: the answer ends without its last envelope"},
		"a torn end":        {ok, message("a") + last("{}")[:6], "a|Internal: the body ends in the middle of a message"},
		"an end of nothing": {ok, message("a") + last("}"), "a|Internal: the end of the stream makes no sense"},
		"a bomb":            {ok, message("a") + packedLast(`{"x":"`+strings.Repeat("x", 2<<20)+`"}`), "a|Internal: the end of the stream makes no sense"},
		"an odd flag":       {ok, message("a") + "\x04\x00\x00\x00\x00", "a|Internal: a message begins with the byte 4"},
		"a status":          {answerHead("404", "content-type=text/html"), "<p>not here", "Unimplemented: the peer has answered with HTTP status 404"},
		"an error's text":   {answerHead("503", kindJSON), `{"code":"unavailable"}`, "Unavailable"},
		"one message":       {answerHead("200", kindOne), "hi", "Internal"},
		"an odd encoding":   {answerHead("200", kindMany, "connect-content-encoding=br"), message("a") + last("{}"), "Internal: the answer is compressed by \"br\""},
	} {
		for _, part := range []int{1 << 30, 1, 9} {
			synctest.Test(t, func(t *testing.T) {
				r := newClientRigOf(t, speaksConnect)
				e := newEnd(t, r.peer, http2.Server)
				got := make(chan string, 1)
				text := "question"
				call := stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)
				go func() {
					said := ""
					for m, err := range stub.Incoming[string](t.Context(), r.client, call) {
						if err != nil {
							got <- said + err.Error() + " " + fmt.Sprint(call.Trailer)
							return
						}
						said += *m + "|"
					}
					got <- said + "end " + fmt.Sprint(call.Trailer)
				}()
				if asked, want := e.hears(), `POST /test.Words/Down `+kindMany+` connect-protocol-version=1 connect-accept-encoding=gzip "\x00\x00\x00\x00\bquestion" end`; asked != want {
					t.Fatalf("asked %s\nwant %s", asked, want)
				}
				answer(e, x.head, x.body, part)
				if said := said.Replace(<-got); !strings.HasPrefix(said, x.want) {
					t.Errorf("%s, in parts of %d: %s\nwant %s", name, part, said, x.want)
				}
				e.send(http2.Send{Flags: http2.Ping}, "") // with which what is over is forgotten
				time.Sleep(2500 * time.Millisecond)       // an idle client reads once in a while
				synctest.Wait()
				if left := web.Remembered(r.sess); left > 0 {
					t.Errorf("%s, in parts of %d: %d streams are remembered", name, part, left)
				}
			})
		}
	}
}
