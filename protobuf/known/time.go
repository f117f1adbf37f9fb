package known

import (
	"fmt"
	"math"
	"time"
)

// The ranges that Protobuf gives these types, in seconds: the years 1 to 9999, and about
// 10,000 years either way.
const (
	minSeconds      = -62_135_596_800
	maxSeconds      = 253_402_300_799
	maxSpan         = 315_576_000_000
	nanosASecond    = 1_000_000_000
	maxWholeSeconds = math.MaxInt64 / nanosASecond
)

// TimestampOf makes a Timestamp of a time. One outside of the years 1 to 9999 is taken too;
// see [Timestamp.Check].
func TimestampOf(t time.Time) *Timestamp {
	return &Timestamp{Seconds: t.Unix(), Nanos: int32(t.Nanosecond())}
}

// AsTime gives the time in UTC; of nil the begin of 1970.
func (x *Timestamp) AsTime() time.Time {
	if x == nil {
		return time.Unix(0, 0).UTC()
	}
	return time.Unix(x.Seconds, int64(x.Nanos)).UTC()
}

// Check tells why x is no time that Protobuf allows, nil if it is one.
func (x *Timestamp) Check() error {
	switch {
	case x == nil:
		return fmt.Errorf("known: a Timestamp is nil")
	case x.Seconds < minSeconds || x.Seconds > maxSeconds:
		return fmt.Errorf("known: a Timestamp of %d seconds is not of the years 1 to 9999", x.Seconds)
	case x.Nanos < 0 || x.Nanos >= nanosASecond:
		return fmt.Errorf("known: a Timestamp has %d nanoseconds", x.Nanos)
	}
	return nil
}

// DurationOf makes a Duration of one of Go, all of which Protobuf has.
func DurationOf(d time.Duration) *Duration {
	return &Duration{Seconds: int64(d / time.Second), Nanos: int32(d % time.Second)}
}

// AsDuration gives the duration; of nil 0, and of one that is beyond 292 years the
// longest that Go has.
func (x *Duration) AsDuration() time.Duration {
	if x == nil {
		return 0
	}
	most := time.Duration(math.MaxInt64)
	if x.Seconds < 0 || x.Seconds == 0 && x.Nanos < 0 {
		most = math.MinInt64
	}
	if x.Seconds > maxWholeSeconds || x.Seconds < -maxWholeSeconds {
		return most
	}
	whole, nanos := time.Duration(x.Seconds)*time.Second, time.Duration(x.Nanos)
	if sum := whole + nanos; (nanos > 0) == (sum > whole) || nanos == 0 {
		return sum
	}
	return most
}

// Check tells why x is no duration that Protobuf allows, nil if it is one.
func (x *Duration) Check() error {
	switch {
	case x == nil:
		return fmt.Errorf("known: a Duration is nil")
	case x.Seconds < -maxSpan || x.Seconds > maxSpan:
		return fmt.Errorf("known: a Duration of %d seconds is longer than 10,000 years", x.Seconds)
	case x.Nanos <= -nanosASecond || x.Nanos >= nanosASecond:
		return fmt.Errorf("known: a Duration has %d nanoseconds", x.Nanos)
	case x.Seconds > 0 && x.Nanos < 0 || x.Seconds < 0 && x.Nanos > 0:
		return fmt.Errorf("known: a Duration has %d seconds and %d nanoseconds, which point apart", x.Seconds, x.Nanos)
	}
	return nil
}
