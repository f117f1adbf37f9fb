package metamorph_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A planner makes calls with methods whose messages go by plans.
type planner struct {
	to rpc.Caller
	mu sync.Mutex
	by map[*rpc.Method]*rpc.Method // guarded by mu
}

func (p *planner) Do(ctx context.Context, c *rpc.Call) error {
	p.mu.Lock()
	m := p.by[c.Method]
	if m == nil {
		m = planned(c.Method)
		p.by[c.Method] = m
	}
	p.mu.Unlock()
	c.Method = m
	return p.to.Do(ctx, c)
}

func (p *planner) Close() error { return p.to.Close() }

// A poster makes calls by net/http, in the Connect protocol.
type poster struct {
	kind   string // json or proto
	url    string
	client *http.Client
}

// newPoster posts to a target.
func newPoster(w way, target string, trust *tls.Config) *poster {
	t := &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: lanes}
	url := "http://" + target
	switch w.transport {
	case "tls":
		url = "https://" + target
	case "unix":
		url = "http://unix"
		path := strings.TrimPrefix(target, "unix://")
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	return &poster{w.form, url, &http.Client{Transport: t}}
}

func (p *poster) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// Do implements [rpc.Caller].
func (p *poster) Do(ctx context.Context, c *rpc.Call) error {
	body, err := p.request(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/"+cmp.Or(c.Service, c.Method.Service)+"/"+c.Method.Name, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("content-type", "application/"+p.kind)
	if by, ok := ctx.Deadline(); ok {
		req.Header.Set("connect-timeout-ms", strconv.FormatInt(max(1, time.Until(by).Milliseconds()), 10))
	}
	noted, _ := ctx.Value(posted{}).(*rpc.Call)
	if noted == nil {
		noted = new(rpc.Call)
	}
	for _, pair := range noted.Header {
		req.Header.Add(pair.Key, pair.Value)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	for k, values := range res.Header {
		if name, trailing := strings.CutPrefix(strings.ToLower(k), "trailer-"); trailing {
			noted.Trailer.Add(name, values[0])
		}
	}
	if res.StatusCode != http.StatusOK {
		return failure(res.StatusCode, answer)
	}
	return p.answer(c, answer)
}

// request is the body of a request.
func (p *poster) request(c *rpc.Call) ([]byte, error) {
	args, err := rpc.EngineOf(c).Args()
	if err != nil {
		return nil, err
	}
	if c.Method.Raise != nil && p.kind == "json" { // of Thrift: the one argument itself
		return stub.AppendJSON(nil, reflect.ValueOf(args).Elem().Field(0).Interface())
	}
	var out buf.Out
	if err := p.codec(c.Method).Append(&out, args); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// codec is that of Protobuf's messages.
func (p *poster) codec(m *rpc.Method) rpc.Codec {
	if p.kind == "json" {
		return connect.CodecOf(m, rpc.JSON)
	}
	return m.Codec
}

// answer reads the body of an answer.
func (p *poster) answer(c *rpc.Call, body []byte) error {
	res := rpc.EngineOf(c).Result()
	if c.Method.Raise != nil && p.kind == "json" {
		return stub.UnmarshalJSON(reflect.ValueOf(res).Elem().FieldByName("Success").Addr().Interface(), body)
	}
	return p.codec(c.Method).Decode(buf.ViewOf(body), res, nil)
}

// failure reads the error of an answer.
func failure(status int, body []byte) error {
	var e struct{ Code, Message string }
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("status %d with %q", status, body)
	}
	for code := rpc.OK; code <= rpc.Unauthenticated; code++ {
		if strings.EqualFold(strings.ReplaceAll(e.Code, "_", ""), code.String()) {
			return &rpc.Error{Code: code, Msg: e.Message}
		}
	}
	return fmt.Errorf("status %d with the code %q", status, e.Code)
}
