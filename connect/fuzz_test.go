package connect_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// FuzzRead reads any head. A query that is taken says what package net/url says it does.
func FuzzRead(f *testing.F) {
	f.Add("POST", "/a.Words/Say", "content-type", "application/json", "x-bin", "AA")
	f.Add("GET", "/a.Words/Look?encoding=json&message=%7B%7D&connect=v1", "accept-encoding", "gzip;q=0.1,br", "connect-timeout-ms", "10")
	f.Add("GET", "/a.Words/Look?encoding=proto&message=aGk&base64=1&compression=gzip", "content-encoding", "x", "connect-protocol-version", "1")
	f.Fuzz(func(t *testing.T, method, target, name1, value1, name2, value2 string) {
		r := read(method, target, name1, value1, name2, value2)
		switch {
		case r.Err != nil:
			if r.Err.Code == rpc.OK || r.Status != 0 && r.Status != 404 && r.Status != 405 && r.Status != 415 {
				t.Errorf("%d %v", r.Status, r.Err)
			}
		case r.Timeout < 0 || r.Header.Fits(limits) != nil:
			t.Errorf("%v %v", r.Timeout, r.Header)
		case r.Get:
			_, query, _ := strings.Cut(target, "?")
			all := map[string]string{}
			for part := range strings.SplitSeq(query, "&") {
				k, v, _ := strings.Cut(part, "=")
				if _, have := all[k]; !have {
					all[k], _ = url.QueryUnescape(v)
				}
			}
			if all["base64"] != "1" && all["message"] != string(r.Message) {
				t.Errorf("%q, net/url %q", r.Message, all["message"])
			}
		}
	})
}

// FuzzThriftJSON reads any text as the arguments of a method. What is taken is JSON.
func FuzzThriftJSON(f *testing.F) {
	for _, text := range []string{`{"a":{"text":"x"},"b":2}`, `{"req":{"text":"a"}}`, `{"text":"a"}`, `7`, `null`, ``, `[[[[`, `nnull`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := thriftJSON(&testing.T{})
		for _, msg := range []any{&one{}, &plain{}, &several{}, &struct{}{}} {
			err := c.Decode(buf.ViewOf(text), msg, limits)
			if err == nil && len(text) > 0 && !json.Valid(text) {
				t.Errorf("%T: %q is taken", msg, text)
			}
		}
	})
}
