package web_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/web"
)

// quoted is texts that have JSON as well.
type quoted struct{ texts }

func (quoted) In(e rpc.Encoding) rpc.Codec {
	if e == rpc.JSON {
		return quotes1{}
	}
	return nil
}

type quotes1 struct{}

func (quotes1) Append(out *buf.Out, msg any) error {
	out.AppendString(strconv.Quote(*msg.(*string)))
	return nil
}

func (quotes1) Decode(body buf.View, msg any, _ *rpc.Limits) (err error) {
	if *msg.(*string), err = strconv.Unquote(string(body.Bytes())); err != nil {
		return rpc.Errorf(rpc.InvalidArgument, "%q is no text", body.Bytes())
	}
	return nil
}

// quotes is the service test.Words again, as test.Quotes, whose messages have JSON.
func quotes() rpc.Service {
	s := service()
	s.Name = "test.Quotes"
	for i, h := range s.Methods {
		m := method(h.Method.Name, h.Method.Kind)
		m.Service, m.Codec = s.Name, quoted{}
		s.Methods[i].Method = m
	}
	look := method("Look", rpc.Unary)
	look.Service, look.Codec, look.ReadOnly = s.Name, quoted{}, true
	s.Methods = append(s.Methods, rpc.Handler{Method: look, Serve: serveSay})
	return s
}

// last is the last envelope of a stream's answer.
func last(text string) string { return string(grpc.AppendFlags(nil, 2, len(text))) + text }

// What a server says to requests of Connect, right and wrong.
func TestConnectServerAnswers(t *testing.T) {
	const (
		one, many   = "content-type=application/proto", "content-type=application/connect+proto"
		json, jsons = "content-type=application/json", "content-type=application/connect+json"
		ok          = "200 " + one + " accept-encoding=gzip "
		okJSON      = "200 " + json + " accept-encoding=gzip "
		stream      = "200 " + many + " connect-accept-encoding=gzip "
		streamJSON  = "200 " + jsons + " connect-accept-encoding=gzip "
		accepts     = " accept-post=" + connectKinds
		none        = `{"code":"unimplemented","message":"no such method here"}`
		failed      = `{"code":"not_found","message":"no such word: 100%","details":[{"type":"limosa.detail/word","value":"ZmFpbA"},{"type":"a.Type","value":"AA"}]}`
	)
	fail := func(status int, code, message, more string) string {
		return fmt.Sprintf("%d %s%s %q end", status, json, more, fmt.Sprintf(`{"code":"%s","message":%q}`, code, message))
	}
	ends := func(text string) string { return fmt.Sprintf("%q end", last(text)) }
	for name, x := range map[string]struct {
		head *http2.Head
		body string
		want string
	}{
		"a call":            {head("/test.Words/Say", one), "hi", ok + `"hi" end`},
		"with its length":   {head("/test.Words/Say", one, "content-length=2"), "hi", ok + `"hi" end`},
		"another length":    {head("/test.Words/Say", one, "content-length=3"), "hi", "reset:PROTOCOL_ERROR"},
		"nothing":           {head("/test.Words/Say", one), "", ok + "end"},
		"with a parameter":  {head("/test.Quotes/Say", "content-type=Application/JSON; charset=utf-8"), `"hi"`, okJSON + `"\"hi\"" end`},
		"compressed":        {head("/test.Words/Say", one, "content-encoding=gzip"), packed("hi")[5:], ok + `"hi" end`},
		"damaged":           {head("/test.Words/Say", one, "content-encoding=gzip"), "hi", fail(400, "invalid_argument", "the compressed message makes no sense: unexpected EOF", "")},
		"another encoding":  {head("/test.Words/Say", one, "content-encoding=br"), "hi", fail(501, "unimplemented", `messages are not compressed by "br", but by gzip`, "")},
		"metadata":          {head("/test.Words/Say", one, "lead=1", "tail=2", "b-bin=AAE"), "hi", `200 ` + one + ` accept-encoding=gzip lead=1 trailer-tail=2 trailer-b-bin=AAE "hi" end`},
		"bad metadata":      {head("/test.Words/Say", one, "a-bin=!"), "hi", fail(400, "invalid_argument", "metadata that is not base64", "")},
		"a timeout":         {head("/test.Words/Say", one, "connect-timeout-ms=1000"), "hi", ok + `"hi" end`},
		"a bad timeout":     {head("/test.Words/Say", one, "connect-timeout-ms=soon"), "hi", fail(400, "invalid_argument", "malformed connect-timeout-ms", "")},
		"a version":         {head("/test.Words/Say", one, "connect-protocol-version=1"), "hi", ok + `"hi" end`},
		"another version":   {head("/test.Words/Say", one, "connect-protocol-version=2"), "hi", fail(400, "invalid_argument", `connect-protocol-version is "2", not 1`, "")},
		"a failure":         {head("/test.Words/Say", one), "fail", fmt.Sprintf("404 %s %q end", json, failed)},
		"no such method":    {head("/test.Words/Nothing", one), "hi", fmt.Sprintf("404 %s %q end", json, none)},
		"no such stream":    {head("/test.Words/Nothing", many), message("hi"), stream + ends(`{"error":`+none+`}`)},
		"no path":           {head("/Say", one), "hi", fail(404, "unimplemented", "a path is /SERVICE/METHOD", "")},
		"JSON":              {head("/test.Quotes/Say", json), `"hi"`, okJSON + `"\"hi\"" end`},
		"bad JSON":          {head("/test.Quotes/Say", json), `hi`, fail(400, "invalid_argument", "decode request: InvalidArgument: \"hi\" is no text", "")},
		"of a stream":       {head("/test.Words/Down", one), "hi", fail(415, "unimplemented", "the method has streams, which application/proto does not carry", accepts)},
		"of one message":    {head("/test.Words/Say", many), message("hi"), fail(415, "unimplemented", "the method has no streams: its messages come as application/proto", accepts)},
		"no JSON":           {head("/test.Words/Down", jsons), message("hi"), fail(415, "unimplemented", `content type "application/json"; it is one of application/json, application/proto`, accepts)},
		"GET":               {head("/test.Quotes/Look?encoding=json&message=%22hi%22&connect=v1", ":method=GET"), "", okJSON + `"\"hi\"" end`},
		"GET, base64":       {head("/test.Quotes/Look?encoding=proto&message=aGk&base64=1", ":method=GET"), "", ok + `"hi" end`},
		"GET with a body":   {head("/test.Quotes/Look?encoding=json&message=%22hi%22", ":method=GET"), "x", fail(400, "invalid_argument", "a GET with a body", "")},
		"GET of a deed":     {head("/test.Quotes/Say?encoding=json&message=%22hi%22", ":method=GET"), "", fail(405, "unimplemented", "the method takes no GET", " allow=POST")},
		"GET of nothing":    {head("/", ":method=GET"), "", fail(404, "unimplemented", "a path is /SERVICE/METHOD", "")},
		"a stream":          {head("/test.Words/Down", many), message("a bc"), stream + `"\x00\x00\x00\x00\x01a" "\x00\x00\x00\x00\x02bc" ` + ends("{}")},
		"a led stream":      {head("/test.Words/Down", many, "lead=1", "tail=2"), message("a"), stream + `lead=1 "\x00\x00\x00\x00\x01a" ` + ends(`{"metadata":{"tail":["2"]}}`)},
		"a led empty one":   {head("/test.Words/Down", many, "lead=1", "tail=2", "x-bin=AAE"), message(""), stream + "lead=1 " + ends(`{"metadata":{"tail":["2"],"x-bin":["AAE"]}}`)},
		"one that fails":    {head("/test.Words/Down", many, "tail=2"), message("a fail"), stream + `"\x00\x00\x00\x00\x01a" ` + ends(`{"error":{"code":"data_loss","message":"on purpose"},"metadata":{"tail":["2"]}}`)},
		"one of JSON":       {head("/test.Quotes/Down", jsons), message(`"a bc"`), streamJSON + `"\x00\x00\x00\x00\x03\"a\"" "\x00\x00\x00\x00\x04\"bc\"" ` + ends("{}")},
		"many":              {head("/test.Words/Up", many), strings.Repeat(message("ab"), 2000), stream + fmt.Sprintf("%q ", message("2000 messages, 4000 bytes")) + ends("{}")},
		"a torn stream":     {head("/test.Words/Up", many), message("ab") + "\x00\x00", stream + ends(`{"error":{"code":"internal","message":"the body ends in the middle of a message"}}`)},
		"a packed stream":   {head("/test.Words/Up", many, "connect-content-encoding=gzip"), packed("ab") + message("c") + "\x01\x00\x00\x00\x00", stream + fmt.Sprintf("%q ", message("3 messages, 3 bytes")) + ends("{}")},
		"a packed bad one":  {head("/test.Words/Up", many), packed("ab"), stream + ends(`{"error":{"code":"internal","message":"a message is compressed, and the head does not say how"}}`)},
		"snappy":            {head("/test.Words/Up", many, "connect-content-encoding=snappy"), message("ab"), stream + ends(`{"error":{"code":"unimplemented","message":"messages are not compressed by \"snappy\", but by gzip"}}`)},
		"a wrong flag":      {head("/test.Words/Up", many), "\x02\x00\x00\x00\x00", stream + ends(`{"error":{"code":"internal","message":"a message begins with the byte 2, which is neither 0 nor 1"}}`)},
		"a stream that has": {head("/test.Words/Both", many), message("a") + message("bc"), stream + `"\x00\x00\x00\x00\x01a" "\x00\x00\x00\x00\x02bc" ` + ends("{}")},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newServerRig(t, rpc.Limits{})
			e := newEnd(t, r.peer, http2.Client)
			e.send(http2.Send{Flags: whole, ID: 7, Head: x.head}, x.body)
			if got := e.hears(); got != x.want {
				t.Errorf("%s: %s\nwant %s", name, got, x.want)
			}
			e.send(http2.Send{Flags: whole, ID: 9, Head: head("/test.Words/Say")}, message("still here"))
			if got := e.hears(); !strings.Contains(got, "still here") {
				t.Errorf("%s: afterwards %s", name, got)
			}
			if left := web.Remembered(r.sess); left > 0 {
				t.Errorf("%s: %d streams are remembered", name, left)
			}
		})
	}
}

// Requests come in any parts, and with any of their fields indexed: a content type that is
// not among what lists share is the same one.
func TestConnectServerByBytes(t *testing.T) {
	bare := http2.NewHead(http2.Field{Name: ":method", Value: "POST"}, http2.Field{Name: ":scheme", Value: "http"}, http2.Field{Name: ":path", Value: "/test.Words/Both"})
	alone := http2.NewHead(http2.Field{Name: ":method", Value: "POST"}, http2.Field{Name: ":scheme", Value: "http"}, http2.Field{Name: ":path", Value: "/test.Words/Say"})
	field := func(kind string) []http2.Field { return []http2.Field{{Name: "content-type", Value: kind}} }
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		body := message("ab") + message("") + message("cde")
		for round, x := range []struct {
			head       *http2.Head
			kind, body string
			want       string
		}{
			{bare, "application/connect+proto", body, `200 content-type=application/connect+proto connect-accept-encoding=gzip "\x00\x00\x00\x00\x02ab" "\x00\x00\x00\x00\x00" "\x00\x00\x00\x00\x03cde" ` + fmt.Sprintf("%q end", last("{}"))},
			{bare, "application/grpc", body, `200 content-type=application/grpc "\x00\x00\x00\x00\x02ab" "\x00\x00\x00\x00\x00" "\x00\x00\x00\x00\x03cde" grpc-status=0 end`},
			{alone, "application/proto", "abcde", `200 content-type=application/proto accept-encoding=gzip "abcde" end`},
			{alone, "application/grpc", message("abcde"), `200 content-type=application/grpc "\x00\x00\x00\x00\x05abcde" grpc-status=0 end`},
			{alone, "text/html", "<p>", refused},
		} {
			id := uint64(2*round + 1)
			e.send(http2.Send{Flags: http2.Open, ID: id, Head: x.head, Fields: field(x.kind)}, "")
			got := ""
			for i := range len(x.body) {
				e.send(http2.Send{Flags: http2.Data, ID: id}, x.body[i:i+1])
				got += e.hears() + " "
			}
			e.send(http2.Send{Flags: http2.End, ID: id}, "")
			if got = strings.Join(strings.Fields(got+e.hears()), " "); got != x.want {
				t.Errorf("%s: %s\nwant %s", x.kind, got, x.want)
			}
		}
		if left := web.Remembered(r.sess); left > 0 {
			t.Errorf("%d streams are remembered", left)
		}
	})
}

// Limits hold for Connect as for gRPC: of what is sent, of what it becomes, of an answer.
func TestConnectServerLimits(t *testing.T) {
	const one, many = "content-type=application/proto", "content-type=application/connect+proto"
	zeros := strings.Repeat("\x00", 1<<20)
	for name, x := range map[string]struct {
		head *http2.Head
		body string
	}{
		"a message":               {head("/test.Words/Say", one), strings.Repeat("x", 80<<10)},
		"an inflated one":         {head("/test.Words/Say", one, "content-encoding=gzip"), packed(zeros)[5:]},
		"of a stream":             {head("/test.Words/Up", many), message(strings.Repeat("x", 70<<10))},
		"an inflated one of such": {head("/test.Words/Up", many, "connect-content-encoding=gzip"), packed(zeros)},
		"metadata":                {head("/test.Words/Say", one, "x-bin="+strings.Repeat(",", 1000)), "x"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newServerRig(t, rpc.Limits{MessageBytes: 64 << 10})
			e := newEnd(t, r.peer, http2.Client)
			e.send(http2.Send{Flags: whole, ID: 7, Head: x.head}, x.body)
			if got := e.hears() + e.hears(); !strings.Contains(got, `resource_exhausted`) { // what the window had no room for goes between
				t.Errorf("%s: %.300s", name, got)
			}
			e.send(http2.Send{Flags: whole, ID: 9, Head: head("/test.Words/Say", one)}, "still here")
			if got := e.hears(); !strings.Contains(got, "still here") {
				t.Errorf("%s: afterwards %s", name, got)
			}
		})
	}
}

// A caller's deadline, and its leaving, end the call on the server.
func TestConnectServerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		e.send(http2.Send{Flags: whole, ID: 7, Head: head("/test.Words/Say", "content-type=application/proto", "connect-timeout-ms=50")}, "wait")
		if got := e.hears(); got != "" {
			t.Errorf("at once: %s", got)
		}
		time.Sleep(51 * time.Millisecond)
		if got := e.hears(); !strings.HasPrefix(got, "504 content-type=application/json") {
			t.Errorf("after its time: %s", got)
		}
		e.send(http2.Send{Flags: http2.Open | http2.Data, ID: 9, Head: head("/test.Words/Both", "content-type=application/connect+proto")}, message("x")+message("half")[:7])
		e.hears()
		e.send(http2.Send{Flags: http2.Reset, ID: 9, Code: http2.Cancel}, "")
		e.hears()
		if running, left := r.server.Running(), web.Remembered(r.sess); len(running) > 0 || left > 0 {
			t.Errorf("%v run, %d streams are remembered", running, left)
		}
	})
}
