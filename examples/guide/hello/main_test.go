package main

import (
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
	"github.com/limosa-rpc/limosa/rpc"
)

// TestMain runs the program itself if a test has asked for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-addr" {
		main()
		return
	}
	os.Exit(m.Run())
}

//guide:begin client
func greet(ctx context.Context, target string) (string, error) {
	c, err := hello.Dial(target)
	if err != nil {
		return "", err
	}
	defer c.Close()
	res, err := c.Echo(ctx, &hello.Request{Message: "hi"}) // the deadline of ctx travels with the call
	if err != nil {
		return "", err
	}
	return res.Message, nil
}

//guide:end

//guide:begin count
func add(ctx context.Context, c hello.Hello) (sum int64, err error) {
	for n, err := range c.Count(ctx, &hello.Number{N: 10}) {
		if err != nil {
			return 0, err // comes once, last
		}
		if sum += n.N; n.N == 3 {
			break // ends the call; nothing has to be closed
		}
	}
	return sum, nil
}

//guide:end

//guide:begin test
func TestEcho(t *testing.T) {
	c := hello.NewClient(limosa.Local(hello.Service(server{})))
	res, err := c.Echo(t.Context(), &hello.Request{Message: "hi"})
	if err != nil || res.Message != "hi" {
		t.Errorf("Echo = %v, %v", res, err)
	}
}

//guide:end

func TestReadme(t *testing.T) {
	var certificates []tls.Certificate
	var seen []string
	//guide:begin readme
	s := limosa.Server{Services: []rpc.Service{hello.Service(server{})}}
	s.TLS = &tls.Config{Certificates: certificates}
	s.Interceptors = append(s.Interceptors, func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		seen = append(seen, c.Method.Name+" for "+c.Header.Get("tenant"))
		return next(ctx, c)
	})
	//guide:end
	ctx := limosa.With(t.Context(), limosa.Header("tenant", "t1"))
	if _, err := hello.NewClient(s.Caller()).Echo(ctx, &hello.Request{}); err != nil || !slices.Equal(seen, []string{"echo for t1"}) {
		t.Errorf("Echo: %v, seen %q", err, seen)
	}
}

func TestCount(t *testing.T) {
	if sum, err := add(t.Context(), hello.NewClient(limosa.Local(hello.Service(server{})))); err != nil || sum != 6 {
		t.Errorf("add = %d, %v", sum, err)
	}
}

// TestProgram starts the program, calls it and ends it by a signal.
func TestProgram(t *testing.T) {
	target := "unix://" + filepath.Join(t.TempDir(), "s")
	program := exec.Command(os.Args[0], "-addr", target)
	program.Stderr = os.Stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	got, err := "", error(nil)
	for begin := time.Now(); got == "" && time.Since(begin) < 10*time.Second; {
		got, err = greet(t.Context(), target) // until it listens
	}
	if err != nil || got != "hi" {
		t.Errorf("greet = %q, %v", got, err)
	}
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}
