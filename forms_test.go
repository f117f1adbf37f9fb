package limosa_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

// A method as generated code has it, for every form and protocol.

type sayArgs struct {
	Text  string           `thrift:"text,1"`
	Loud  bool             `thrift:"loud,2"`
	Notes map[string]int64 `thrift:"notes,3"`
}

type sayResult struct {
	Success *sayArgs `thrift:"success,0,optional"`
	Mute    *mute    `thrift:"mute,1,optional"`
}

type mute struct {
	Why string `thrift:"why,1"`
}

func (m *mute) Error() string { return m.Why }

var sayMethod = rpc.Method{
	Service: "Say", Name: "say", Codec: thrift.Binary{}, New: stub.New[sayArgs, sayResult],
	Except: func(result any, err error) bool {
		return errors.As(err, &result.(*sayResult).Mute)
	},
	Raise: func(result any) error {
		if r := result.(*sayResult); r.Mute != nil {
			return r.Mute
		}
		return nil
	},
}

func sayService() rpc.Service {
	return rpc.Service{Name: "Say", Methods: []rpc.Handler{{Method: &sayMethod, Serve: func(ctx context.Context, c *rpc.Call) error {
		a, err := stub.Args[sayArgs](c)
		if err != nil {
			return err
		}
		switch a.Text {
		case "declared":
			return &mute{"no"}
		case "error":
			return rpc.Errorf(rpc.NotFound, "nothing of the kind")
		case "deadline":
			_, ok := ctx.Deadline()
			a.Loud = ok
		}
		for _, p := range c.Header {
			c.Trailer.Add("saw-"+p.Key, fmt.Sprint(p.Value, " ", p.Scope == rpc.Persistent))
		}
		stub.Result[sayResult](c).Success = a
		return nil
	}}}}
}

func say(ctx context.Context, c rpc.Caller, a sayArgs) (*sayArgs, *rpc.Call, error) {
	x := stub.NewCall[sayArgs, sayResult](&sayMethod, "Say")
	x.Args = a
	err := c.Do(ctx, &x.Call)
	return x.Result.Success, &x.Call, err
}

// TestEveryFormAndProtocol calls one handler in every form on one server.
func TestEveryFormAndProtocol(t *testing.T) {
	sock := "unix://" + filepath.Join(t.TempDir(), "s")
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{sayService()}}, sock)
	for form := limosa.TTHeader; form <= limosa.THeaderCompact; form++ {
		t.Run(form.String(), func(t *testing.T) {
			c := &limosa.Client{Target: target + "?thrift=" + form.String()}
			defer c.Close()
			checkForm(t, c, strings.Contains(form.String(), "header"))
		})
	}
	stop()
	waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n), n <= 0 })
}

// TestCompressedCalls: a client of THeader that compresses gets a compressed answer,
// one that does not a plain one, on the same connection.
func TestCompressedCalls(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	_, stop := start(t, &limosa.Server{Services: []rpc.Service{sayService()}}, "unix://"+sock)
	defer stop()
	c, err := net.Dial("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var body buf.Out
	defer body.Reset()
	if err := (thrift.Binary{}).Append(&body, &sayArgs{Text: strings.Repeat("say ", 1000)}); err != nil {
		t.Fatal(err)
	}
	for seq, zipped := range []bool{true, false, true} {
		message := append(raw.AppendMessageBegin(nil, "say", raw.Call, int32(seq)), body.Bytes()...)
		header := []byte{0, 0, 0, 0}
		if zipped {
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			if _, err := w.Write(message); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			header, message = []byte{0, 1, 1, 0}, z.Bytes()
		}
		p := binary.BigEndian.AppendUint32(nil, uint32(10+len(header)+len(message)))
		p = binary.BigEndian.AppendUint32(append(p, 0x0f, 0xff, 0, 0), uint32(seq))
		p = append(append(append(p, 0, 1), header...), message...)
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 18)
		if _, err := io.ReadFull(c, head); err != nil || !bytes.Equal(head[14:], header) {
			t.Fatalf("call %d: %x, %v", seq, head, err)
		}
		answer := make([]byte, int(binary.BigEndian.Uint32(head))-14)
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		if zipped {
			r, err := zlib.NewReader(bytes.NewReader(answer))
			if err != nil {
				t.Fatal(err)
			}
			if answer, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		name, typ, id, n, err := raw.ParseMessageBegin(answer, false)
		got := new(sayResult)
		if err == nil {
			err = thrift.Binary{}.Decode(buf.ViewOf(answer[n:]), got, nil)
		}
		if err != nil || string(name) != "say" || typ != raw.Reply || id != int32(seq) || len(got.Success.Text) != 4000 {
			t.Errorf("call %d: %q, %v, %d, %v", seq, name, typ, id, err)
		}
	}
}

func checkForm(t *testing.T, c *limosa.Client, headers bool) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for _, n := range []int{0, 1, 100, 5000, 100_000, 700_000} {
				want := sayArgs{Text: strings.Repeat("x", n), Loud: n == 100, Notes: map[string]int64{"n": int64(n), "w": int64(w)}}
				got, _, err := say(t.Context(), c, want)
				if err != nil || got == nil || got.Text != want.Text || got.Loud != want.Loud || len(got.Notes) != 2 || got.Notes["n"] != int64(n) || got.Notes["w"] != int64(w) {
					t.Errorf("%d bytes: %.100v, %v", n, got, err)
				}
			}
		})
	}
	wg.Wait()
	if _, _, err := say(t.Context(), c, sayArgs{Text: "declared"}); !errors.As(err, new(*mute)) {
		t.Errorf("declared exception: %v", err)
	}
	var e *rpc.Error
	if _, _, err := say(t.Context(), c, sayArgs{Text: "error"}); !errors.As(err, &e) || !e.Remote || e.Msg != "nothing of the kind" || e.Sent != rpc.Processed {
		t.Errorf("error: %v", err)
	}
	if !headers {
		return
	}
	ctx := limosa.With(t.Context(), limosa.Header("a", "1"), limosa.Persistent("b", "2"))
	_, call, err := say(ctx, c, sayArgs{})
	if err != nil || call.Trailer.Get("saw-a") != "1 false" || call.Trailer.Get("saw-b") != "2 true" {
		t.Errorf("metadata: %v, %v", call.Trailer, err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, _, err := say(short, c, sayArgs{Text: "deadline"}); err != nil || !got.Loud {
		t.Errorf("the deadline did not travel: %v", err)
	}
}

// TestCompactNeedsACodec: a method of another codec is refused, not garbled.
func TestCompactNeedsACodec(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Thrift: limosa.FramedCompact}
	defer c.Close()
	if _, err := call(t.Context(), c, echoMethod, "hello"); rpc.CodeOf(err) != rpc.Unimplemented || rpc.SentOf(err) != rpc.NotSent {
		t.Errorf("%v, %v", err, rpc.SentOf(err))
	}
}
