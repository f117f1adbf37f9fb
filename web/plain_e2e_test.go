package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"iter"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
	full "github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// A greeter is a service of Thrift.
type greeter struct{}

func (greeter) Echo(_ context.Context, req *hello.Request) (*hello.Response, error) {
	if req.Message == "fail" {
		return nil, rpc.Errorf(rpc.NotFound, "no such word")
	}
	return &hello.Response{Message: req.Message}, nil
}

func (greeter) Count(context.Context, *hello.Number) iter.Seq2[*hello.Number, error] {
	return func(func(*hello.Number, error) bool) {}
}

// serveHello serves it on a port that speaks everything, and gives the address.
func serveHello(t *testing.T) string {
	target, _ := full.Start(t, &limosa.Server{
		Services:  []rpc.Service{hello.Service(greeter{})},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}},
	}, "127.0.0.1:0")
	return target
}

// post makes a call with net/http.
func post(t *testing.T, target, path, body string, header ...string) (status int, answer string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+target+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// A method of Thrift is called with JSON, on the port that Thrift's own clients use.
func TestThriftByJSON(t *testing.T) {
	target := serveHello(t)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/hello.Hello/Echo", `{"message":"hi"}`, 200, `{"message":"hi"}`},
		{"/Hello/echo", `{"req":{"message":"hi"}}`, 200, `{"message":"hi"}`},
		{"/Hello/Echo", `{"message":"` + strings.Repeat("x", 300_000) + `"}`, 200, `{"message":"` + strings.Repeat("x", 300_000) + `"}`},
		{"/hello.Hello/Echo", `{"message":"fail"}`, 404, `{"code":"not_found","message":"no such word"}`},
		{"/hello.Hello/Echo", `{"message":7}`, 400, `{"code":"invalid_argument","message":"decode request: json: Request.message: the number 7 where a string is expected at 11"}`},
		{"/hello.Hello/Nothing", `{}`, 404, `{"code":"unimplemented","message":"no such method here"}`},
		{"/hello.Hello/Count", `{}`, 415, `{"code":"unimplemented","message":"the method has streams, which application/json does not carry"}`},
	} {
		status, got, _ := post(t, target, tt.path, tt.body)
		if status != tt.status || got != tt.want && strings.TrimPrefix(got, " ") != tt.want {
			t.Errorf("%s %.60s: %d %.300s", tt.path, tt.body, status, got)
		}
	}
	c, err := hello.DialHello(target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if res, err := c.Echo(t.Context(), &hello.Request{Message: "hi"}); err != nil || res.Message != "hi" {
		t.Errorf("a client of Thrift: %v, %v", res, err)
	}
}

// What is compressed is inflated, and its answer compressed.
func TestGzipByHTTP1(t *testing.T) {
	target := serveHello(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, `{"message":"hi"}`)
	z.Close()
	status, got, h := post(t, target, "/hello.Hello/Echo", zipped.String(), "Content-Encoding", "gzip", "Accept-Encoding", "gzip")
	if status != 200 || h.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%d %q %v", status, got, h)
	}
	r, err := gzip.NewReader(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != `{"message":"hi"}` {
		t.Errorf("%s, %v", b, err)
	}
	status, got, h = post(t, target, "/hello.Hello/Echo", zipped.String(), "Content-Encoding", "gzip", "Accept-Encoding", "identity")
	if status != 200 || got != `{"message":"hi"}` || h.Get("Content-Encoding") != "" {
		t.Errorf("%d %q %v", status, got, h)
	}
	if status, got, _ = post(t, target, "/hello.Hello/Echo", "no gzip", "Content-Encoding", "gzip"); status != 400 {
		t.Errorf("damaged: %d %s", status, got)
	}
	if status, got, _ = post(t, target, "/hello.Hello/Echo", "{}", "Content-Encoding", "br"); status != 501 {
		t.Errorf("br: %d %s", status, got)
	}
}

// curl needs nothing but the address.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("skipped: no curl here")
	}
	out, err := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "-d", `{"message":"hi"}`, "-H", "content-type: application/json", serveHello(t)+"/hello.Hello/Echo").CombinedOutput()
	if err != nil || string(out) != `{"message":"hi"}` {
		t.Errorf("%s, %v", out, err)
	}
}
