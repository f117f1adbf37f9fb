package rpc

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailuresAreLoggedTenASecond: the rest is counted, and told with the next one.
func TestFailuresAreLoggedTenASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Method
		logged := 0
		for range 25 {
			if log, left := HintsOf(&m).LogFailure(time.Now()); log {
				if logged++; left != 0 {
					t.Errorf("%d were left out before the first that was", left)
				}
			}
		}
		if logged != failuresLogged {
			t.Errorf("%d of 25 at once were logged", logged)
		}
		time.Sleep(time.Second - 1) // virtual
		if log, _ := HintsOf(&m).LogFailure(time.Now()); log {
			t.Error("an eleventh within the second was logged")
		}
		time.Sleep(time.Nanosecond) // virtual
		if log, left := HintsOf(&m).LogFailure(time.Now()); !log || left != 16 {
			t.Errorf("in the next second: %v, %d left out", log, left)
		}
		if log, left := HintsOf(&m).LogFailure(time.Now()); !log || left != 0 {
			t.Errorf("and again: %v, %d left out", log, left)
		}
	})
}

// TestCostIsAnAverage: it is known after the first run, follows the handler within some
// tens of runs, and is never 0 again, which would mean that it is not known.
func TestCostIsAnAverage(t *testing.T) {
	var m Method
	if HintsOf(&m).Cost() != 0 {
		t.Error("a cost is known before the first run")
	}
	HintsOf(&m).NoteCost(time.Millisecond)
	if HintsOf(&m).Cost() != time.Millisecond {
		t.Errorf("after one run: %v", HintsOf(&m).Cost())
	}
	HintsOf(&m).NoteCost(time.Second)
	if got := HintsOf(&m).Cost(); got < 100*time.Millisecond || got > 200*time.Millisecond {
		t.Errorf("one slow run makes it %v", got)
	}
	for range 200 {
		HintsOf(&m).NoteCost(0)
	}
	if got := HintsOf(&m).Cost(); got <= 0 || got > time.Microsecond {
		t.Errorf("after 200 quick runs: %v", got)
	}
}

// TestSizesAtTheEdges: a size hint is the next power of two of the last large message,
// for messages of any size.
func TestSizesAtTheEdges(t *testing.T) {
	for _, tt := range []struct{ n, want int }{
		{0, 0}, {largeBytes - 1, 0}, {largeBytes, largeBytes}, {largeBytes + 1, 2 * largeBytes},
		{1 << 20, 1 << 20}, {1<<30 - 1, 1 << 30}, {1 << 30, 1 << 30}, {math.MaxInt, 1 << 30},
	} {
		var m Method
		HintsOf(&m).NoteRequest(tt.n)
		HintsOf(&m).NoteResponse(tt.n)
		if large := HintsOf(&m).NoteDecoded(tt.n); large != (tt.n >= largeBytes) {
			t.Errorf("%d decoded bytes are large: %v", tt.n, large)
		}
		if HintsOf(&m).RequestBytes() != tt.want || HintsOf(&m).ResponseBytes() != tt.want || HintsOf(&m).DecodedBytes() != tt.want || HintsOf(&m).LargeResponse() != (tt.want > 0) {
			t.Errorf("%d bytes: %d, %d, %d; want %d", tt.n, HintsOf(&m).RequestBytes(), HintsOf(&m).ResponseBytes(), HintsOf(&m).DecodedBytes(), tt.want)
		}
	}
}

// TestDocumentedDefaults: the tags, which are what a user reads, say what WithDefaults
// does.
func TestDocumentedDefaults(t *testing.T) {
	have := reflect.ValueOf(*new(Limits).WithDefaults())
	for i := range have.NumField() {
		f := have.Type().Field(i)
		tag, ok := f.Tag.Lookup("default")
		if !ok {
			t.Errorf("%s has no default tag", f.Name)
			continue
		}
		var want int64
		var err error
		number, unit, _ := strings.Cut(tag, " ")
		switch d, isDuration := have.Field(i).Interface().(time.Duration); {
		case isDuration && tag != "0":
			var said time.Duration
			said, err = time.ParseDuration(tag)
			if err != nil || d != said {
				t.Errorf("%s is %v, the tag says %s, %v", f.Name, d, tag, err)
			}
			continue
		case tag == "0":
			continue // no limit, or one that other fields or the machine decide
		}
		want, err = strconv.ParseInt(number, 10, 64)
		switch unit {
		case "KiB":
			want <<= 10
		case "MiB":
			want <<= 20
		}
		if got := have.Field(i).Int(); err != nil || got != want {
			t.Errorf("%s is %d, the tag says %q, %v", f.Name, got, tag, err)
		}
	}
}

// TestEndlessLimits: what nobody could meet is no limit, and no sum of it overflows.
func TestEndlessLimits(t *testing.T) {
	l := (Limits{MessageBytes: math.MaxInt, HeldPerConn: math.MaxInt, DecodeFactor: math.MaxInt, Conns: math.MaxInt}).WithDefaults()
	for _, n := range []int{0, 1, 16 << 20, math.MaxInt >> 23} {
		if got := l.DecodeBudget(n); got < n {
			t.Errorf("the budget of %d bytes is %d", n, got)
		}
	}
	if l.HeldPerConn < 2*l.MessageBytes || l.MessageBytes <= 0 || l.ConnsPerAddress <= 0 {
		t.Errorf("%+v", l)
	}
	if again := l.WithDefaults(); *again != *l {
		t.Errorf("filled in twice: %+v", again)
	}
}
