package route

import (
	"context"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
)

// service has methods that say who they are in their call's trailer.
func service(name string, methods ...string) rpc.Service {
	s := rpc.Service{Name: name}
	for _, m := range methods {
		s.Methods = append(s.Methods, rpc.Handler{Method: &rpc.Method{Service: name, Name: m}, Serve: func(_ context.Context, c *rpc.Call) error {
			c.Trailer.Add("ran", name+"/"+m)
			return nil
		}})
	}
	return s
}

// A call finds the method of the service that it names; else the first service
// that has the method, unless the table is exact about names.
func TestFind(t *testing.T) {
	services := []rpc.Service{service("Users", "get", "delete"), service("Items", "get", "list")}
	for _, tt := range []struct{ service, method, loose, exact string }{
		{"Users", "get", "Users/get", "Users/get"},
		{"Items", "get", "Items/get", "Items/get"},
		{"", "get", "Users/get", "Users/get"},
		{"", "list", "Items/list", "Items/list"},
		{"Orders", "list", "Items/list", `no service "Orders" here`},
		{"Items", "delete", `service Items has no method "delete"`, `service Items has no method "delete"`},
		{"Orders", "pay", `no service here has a method "pay"`, `no service "Orders" here`},
		{"", "pay", `no service here has a method "pay"`, `no service here has a method "pay"`},
	} {
		for exact, want := range map[bool]string{false: tt.loose, true: tt.exact} {
			table, err := New(services, nil, exact)
			if err != nil {
				t.Fatal(err)
			}
			h, got, ok := table.Find(tt.service, tt.method)
			if ok {
				c := new(rpc.Call)
				if err := h.Serve(t.Context(), c); err != nil {
					t.Error(err)
				}
				if got = c.Trailer.Get("ran"); h.Service != strings.Split(got, "/")[0] {
					t.Errorf("%s: its service is %q", got, h.Service)
				}
			}
			if got != want {
				t.Errorf("%q, %q, exact %v: %s, want %s", tt.service, tt.method, exact, got, want)
			}
		}
	}
}

// What cannot be served is refused when the table is made.
func TestNewRefuses(t *testing.T) {
	unbound := service("Users", "get")
	unbound.Unbound = true
	for want, services := range map[string][]rpc.Service{
		`a service has no name`:                                     {{}},
		`service "Users" is there twice`:                            {service("Users", "get"), service("Users", "list")},
		`service "Users" has no implementation: it was made of nil`: {unbound},
	} {
		if _, err := New(services, nil, false); rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %s", err, want)
		}
	}
}

// Interceptors run around every handler, the first outermost.
func TestInterceptors(t *testing.T) {
	say := func(word string) rpc.Interceptor {
		return func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			c.Trailer.Add("ran", word)
			return next(ctx, c)
		}
	}
	table, err := New([]rpc.Service{service("Users", "get")}, func(final rpc.Next) rpc.Next { return rpc.Chain(final, say("first"), say("second")) }, false)
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := table.Find("Users", "get")
	c := new(rpc.Call)
	if err := h.Serve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, p := range c.Trailer {
		ran = append(ran, p.Value)
	}
	if got := strings.Join(ran, " "); got != "first second Users/get" {
		t.Error(got)
	}
}

// Names that a caller has made up come back in part: quoted they are four times as long.
func TestLongNamesAreShownInPart(t *testing.T) {
	long := strings.Repeat("\x00", 16<<10)
	for _, exact := range []bool{false, true} {
		table, err := New([]rpc.Service{service("Users", "get")}, nil, exact)
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range []string{"Users", long} {
			if _, why, ok := table.Find(asked, long); ok || len(why) > 1000 {
				t.Errorf("exact %v: %v, %d bytes", exact, ok, len(why))
			}
		}
	}
}
