package grpc

import (
	"math"
	"strconv"
	"time"
)

// units are those of a timeout, from the shortest.
var units = [...]struct {
	name byte
	unit time.Duration
}{
	{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond},
	{'S', time.Second}, {'M', time.Minute}, {'H', time.Hour},
}

const timeoutDigits = 8

// AppendTimeout appends d as the value of a grpc-timeout, at most 9 bytes. What eight digits
// cannot tell is rounded up; d is not below zero.
func AppendTimeout(b []byte, d time.Duration) []byte {
	for _, u := range units {
		n := d / u.unit
		if n*u.unit < d {
			n++
		}
		if n < 1e8 {
			return append(strconv.AppendInt(b, int64(n), 10), u.name)
		}
	}
	return append(b, "99999999H"...)
}

// ParseTimeout reads the value of a grpc-timeout. One that is over already is a
// nanosecond, as zero would be none; one that no Duration can tell is the longest.
func ParseTimeout(s string) (d time.Duration, ok bool) {
	if len(s) < 2 || len(s) > timeoutDigits+1 {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) - 1 {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	for _, u := range units {
		switch {
		case u.name != s[len(s)-1]:
		case n > math.MaxInt64/int64(u.unit):
			return math.MaxInt64, true
		default:
			return max(1, time.Duration(n)*u.unit), true
		}
	}
	return 0, false
}
