package limosa_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// refusals is a server whose interceptors tell what they see, and answer calls of secret methods otherwise. Its service
// has a method without an answer, which no protocol of HTTP carries.
func refusals(t *testing.T) (target string, seen chan string) {
	t.Helper()
	seen = make(chan string, 10)
	svc := rig.Service(nil)
	tell := &rpc.Method{Service: svc.Name, Name: "tell", Kind: rpc.Oneway, Codec: rig.Text{}, New: stub.New[string, string]}
	svc.Methods = append(svc.Methods, rpc.Handler{Method: tell, Serve: func(context.Context, *rpc.Call) error { return nil }})
	target, _ = rig.Start(t, &limosa.Server{
		Services: []rpc.Service{svc}, Protocols: append(both(), web.HTTP1{}),
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			err := next(ctx, c)
			seen <- c.Asked + "/" + c.Method.Name + " " + rpc.CodeOf(err).String()
			if c.Method.Name == "secret" {
				return rpc.Errorf(rpc.Unauthenticated, "who are you?")
			}
			return err
		}},
	}, "127.0.0.1:0")
	return target, seen
}

// Interceptors see calls that gRPC itself refuses, and what they say instead is the answer. A method without an answer is
// refused in any case, where its name is asked for in another service as well.
func TestInterceptorsSeeWhatGRPCRefuses(t *testing.T) {
	target, seen := refusals(t)
	client, err := limosa.Dial(target, func(c *limosa.Client) { c.Protocols, c.Timeout = []wire.Protocol{web.Protocol{}}, 20*time.Second })
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, x := range []struct {
		service, method string
		kind            rpc.Kind
		want            rpc.Code
	}{
		{"Test", "nowhere", rpc.Unary, rpc.Unimplemented},
		{"Test", "secret", rpc.Unary, rpc.Unauthenticated},
		{"Test", "secret", rpc.Bidi, rpc.Unauthenticated},
		{"Test", "tell", rpc.Unary, rpc.Unimplemented},
		{"Other", "tell", rpc.Unary, rpc.Unimplemented},
		{"Other", "echo", rpc.Unary, rpc.Unimplemented},
		{"Other", "echo", rpc.ServerStream, rpc.Unimplemented},
	} {
		m := &rpc.Method{Service: x.service, Name: x.method, Kind: x.kind, Codec: rig.Text{}}
		err := error(nil)
		if x.kind == rpc.Unary {
			c := stub.NewCall[string, string](m, x.service)
			err = client.Do(t.Context(), &c.Call)
		} else {
			err = stub.Converse(t.Context(), client, stub.Make(m, x.service, nil, nil), func(_ context.Context, s rpc.Stream) error { return s.Receive(new(string)) })
		}
		if rpc.CodeOf(err) != x.want {
			t.Errorf("%s/%s, kind %d: %v, want %v", x.service, x.method, x.kind, err, x.want)
		}
		if got, want := <-seen, x.service+"/"+x.method+" Unimplemented"; got != want {
			t.Errorf("the interceptor has seen %q, want %q", got, want)
		}
	}
}

// The same over HTTP/1.1, where the status is that of what they say.
func TestInterceptorsSeeWhatHTTPRefuses(t *testing.T) {
	target, seen := refusals(t)
	for _, x := range []struct {
		method, path string
		want         int
	}{
		{"POST", "/Test/nowhere", 404}, {"POST", "/Test/secret", 401}, {"POST", "/Test/tell", 501}, {"POST", "/Other/tell", 404},
		{"POST", "/Other/echo", 404}, {"GET", "/Test/echo", 405},
	} {
		req, err := http.NewRequestWithContext(t.Context(), x.method, "http://"+target+x.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("content-type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != x.want {
			t.Errorf("%s %s: %s, want %d", x.method, x.path, res.Status, x.want)
		}
		if got, want := <-seen, x.path[1:]+" Unimplemented"; got != want {
			t.Errorf("the interceptor has seen %q, want %q", got, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
