package thrift_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/thrift"
)

func TestUUIDText(t *testing.T) {
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	u, err := thrift.ParseUUID(text)
	if err != nil || u.String() != text {
		t.Errorf("%v %v", u, err)
	}
	for _, bad := range []string{"", text[1:], strings.ReplaceAll(text, "-", "0"), "g" + text[1:]} {
		if _, err := thrift.ParseUUID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
