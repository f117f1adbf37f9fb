package codec

import (
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// TestUTF8 puts every kind of wrong and right character at every place of strings of every length.
func TestUTF8(t *testing.T) {
	for n := range 400 {
		text := strings.Repeat("x", n)
		for _, i := range []int{0, min(1, n), n / 3, n / 2, max(n-9, 0), max(n-1, 0), n} {
			for _, c := range []string{"", "é", "𝄞", "\x80", "\xff", "\xed\xa0\x80"} {
				s := text[:i] + c + text[i:]
				if UTF8(s) != utf8.ValidString(s) || UTF8Bytes([]byte(s)) != utf8.ValidString(s) {
					t.Fatalf("UTF8(%q) = %v", s, UTF8(s))
				}
				if ASCII(s) != (c == "") {
					t.Fatalf("ASCII(%q) = %v", s, ASCII(s))
				}
				dst := make([]byte, len(s)+2)
				if CopyASCII(unsafe.Pointer(&dst[1]), s) != (c == "") || string(dst) != "\x00"+s+"\x00" {
					t.Fatalf("CopyASCII(%q) made %q", s, dst)
				}
			}
		}
	}
}
