package web_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
	full "github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// serveAt serves hello, on event loops or not, over TLS or not, and gives the address and what
// a client calls it with. Its Echo may be asked for by GET.
func serveAt(t *testing.T, loops int, secure bool, where limosa.Handlers) (target string, client *tls.Config) {
	t.Helper()
	service := hello.Service(greeter{})
	for i := range service.Methods {
		if h := &service.Methods[i]; h.Method.Name == "echo" {
			m := h.Method
			h.Method = &rpc.Method{Service: m.Service, Name: m.Name, Codec: m.Codec, New: m.New, Raise: m.Raise, ReadOnly: true}
		}
	}
	s := &limosa.Server{
		Services:  []rpc.Service{service},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}},
		Handlers:  where,
	}
	if secure {
		cert, pool := full.Certificate(t)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		client = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	}
	if loops == 0 {
		target, _ = full.Start(t, s, "127.0.0.1:0")
		return target, client
	}
	cfg := &netio.Config{Net: new(netio.Net), Loops: loops}
	l, err := netio.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the server's end
		if err := cfg.Net.Close(); err != nil {
			t.Error(err)
		}
	})
	full.ServeOn(t, s, l)
	return l.Addr().String(), client
}

// HTTP/1.1 is served wherever Thrift is: on event loops and over TLS, with each kind of handlers,
// on connections that stay open, to many clients at once; with small messages and large ones.
func TestHTTP1Everywhere(t *testing.T) {
	for _, loops := range []int{0, 2} {
		for _, secure := range []bool{false, true} {
			for name, where := range map[string]limosa.Handlers{"spare": limosa.Spare, "inline": limosa.Inline, "goroutines": limosa.Goroutines} {
				t.Run(fmt.Sprintf("%d loops, TLS %v, %s", loops, secure, name), func(t *testing.T) {
					target, conf := serveAt(t, loops, secure, where)
					scheme := "http://"
					if secure {
						scheme = "https://"
					}
					var work sync.WaitGroup
					for i := range 4 {
						work.Go(func() { manyCalls(t, scheme+target, conf.Clone(), i) })
					}
					work.Wait()
					pipelined(t, target, conf)
				})
			}
		}
	}
}

// manyCalls makes calls one after another on one connection.
func manyCalls(t *testing.T, at string, conf *tls.Config, seed int) {
	tr := &http.Transport{TLSClientConfig: conf, MaxConnsPerHost: 1}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for k := range 12 {
		want := fmt.Sprintf(`{"message":"%d %d %s"}`, seed, k, strings.Repeat("x", []int{0, 100, 40_000}[k%3]))
		path, status := "/hello.Hello/Echo", 200
		if k == 5 {
			want, status = `{"message":"fail"}`, 404
		}
		var res *http.Response
		var err error
		if k%4 == 3 && len(want) < 1000 {
			res, err = c.Get(at + path + "?encoding=json&message=" + url.QueryEscape(want))
		} else {
			res, err = c.Post(at+path, "application/json", strings.NewReader(want))
		}
		if err != nil {
			t.Error(err)
			return
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if status == 404 {
			want = `{"code":"not_found","message":"no such word"}`
		}
		if err != nil || res.StatusCode != status || res.ProtoMajor != 1 || strings.TrimLeft(string(got), " ") != want {
			t.Errorf("call %d: %d %s %.80s, %v", k, res.StatusCode, res.Proto, got, err)
		}
	}
}

// pipelined sends requests behind each other, cut anywhere, before it reads the answers: these
// come in the order of the requests. Over TLS it asks for the protocol by its name.
func pipelined(t *testing.T, target string, conf *tls.Config) {
	t.Helper()
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if conf != nil {
		conf = conf.Clone()
		conf.NextProtos = []string{"http/1.1"}
		c := tls.Client(nc, conf)
		if err := c.Handshake(); err != nil || c.ConnectionState().NegotiatedProtocol != "http/1.1" {
			t.Fatalf("%q, %v", c.ConnectionState().NegotiatedProtocol, err)
		}
		nc = c
	}
	const calls = 20
	var all strings.Builder
	for i := range calls {
		body := fmt.Sprintf(`{"message":"%d"}`, i)
		fmt.Fprintf(&all, "POST /hello.Hello/Echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	}
	for text := all.String(); text != ""; {
		n := min(len(text), 97)
		if _, err := io.WriteString(nc, text[:n]); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	r := bufio.NewReader(nc)
	for i := range calls {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		got, err := io.ReadAll(res.Body)
		if want := fmt.Sprintf(`{"message":"%d"}`, i); err != nil || strings.TrimLeft(string(got), " ") != want {
			t.Fatalf("answer %d: %s, %v", i, got, err)
		}
	}
}
