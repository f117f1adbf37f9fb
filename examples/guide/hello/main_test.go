package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// TestReadme is what the README shows.
func TestReadme(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	addr := "unix://" + filepath.Join(t.TempDir(), "s")
	done := make(chan error, 1)
	go func() { done <- serve(ctx, addr) }()
	c, err := hello.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var res *hello.Response
	var sum int64
	for begin := time.Now(); res == nil && time.Since(begin) < 10*time.Second; {
		res, sum, err = readme(t.Context(), c) // until it listens
	}
	if err != nil || res.Message != "hi" || sum != 3 {
		t.Error(res, sum, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func serve(ctx context.Context, addr string) error {
	//guide:begin serve
	err := limosa.Serve(ctx, addr, hello.Service(server{})) // ":8888" or "unix:///path"; until ctx ends
	//guide:end
	return err
}

func readme(ctx context.Context, c hello.Hello) (res *hello.Response, sum int64, err error) {
	//guide:begin readme
	res, err = c.Echo(ctx, &hello.Request{Message: "hi"}) // the deadline of ctx travels with the call
	for n, err := range c.Count(ctx, &hello.Number{N: 10}) {
		if err != nil || n.N == 3 {
			break // ends the call; nothing has to be closed
		}
		sum += n.N
	}
	//guide:end
	return res, sum, err
}

//guide:begin options
func patient(target string) (*hello.HelloClient, error) {
	return hello.Dial(target, func(c *limosa.Client) {
		c.Timeout = time.Second
		c.Interceptors = []rpc.Interceptor{trace}
	})
}

//guide:end

func trace(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	c.Header.Set("trace", "7")
	return next(ctx, c)
}

// TestOptions: what Dial's functions set is what the client has.
func TestOptions(t *testing.T) {
	got := make(chan string, 1)
	s := limosa.Server{Services: []rpc.Service{hello.Service(server{})}, Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		d, ok := ctx.Deadline()
		got <- fmt.Sprint(c.Header.Get("trace"), " ", ok && time.Until(d) <= time.Second)
		return next(ctx, c)
	}}}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	c, err := patient(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Echo(t.Context(), &hello.Request{}); err != nil {
		t.Error(err)
	}
	if saw := <-got; saw != "7 true" {
		t.Errorf("the server saw %q", saw)
	}
	c.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
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
