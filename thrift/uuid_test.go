package thrift

import (
	"strings"
	"testing"
)

func TestUUIDText(t *testing.T) {
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	u, err := ParseUUID(text)
	if err != nil || u.String() != text {
		t.Errorf("%v %v", u, err)
	}
	for _, bad := range []string{"", text[1:], strings.ReplaceAll(text, "-", "0"), "g" + text[1:]} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
