package rpc_test

import (
	"math"
	"math/bits"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
)

func TestLimitsBelowZero(t *testing.T) {
	if err := new(rpc.Limits).WithDefaults().Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for f := range reflect.TypeFor[rpc.Limits]().Fields() {
		var lim rpc.Limits
		reflect.ValueOf(&lim).Elem().FieldByIndex(f.Index).SetInt(-1)
		err := lim.Check()
		if rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), "Limits."+f.Name+" is -1") {
			t.Errorf("%s below zero: %v", f.Name, err)
		}
	}
}

// A factor that stands for no bound gives a budget that is as good as none, and room to add to.
func TestDecodeBudgetDoesNotOverflow(t *testing.T) {
	const most = math.MaxInt >> (bits.UintSize/4 - 6)
	for _, tt := range []struct{ factor, n, least int }{
		{16, 1 << 20, 16<<20 + 64<<10}, {0, 100, 64 << 10}, {math.MaxInt, 0, 64 << 10}, {math.MaxInt, 1, most},
		{math.MaxInt, 3, most}, {math.MaxInt / 4, 1000, most}, {-1, 1000, 64 << 10},
	} {
		if got := (&rpc.Limits{DecodeFactor: tt.factor}).DecodeBudget(tt.n); got != tt.least {
			t.Errorf("factor %d, %d bytes: %d; want %d", tt.factor, tt.n, got, tt.least)
		}
	}
}

// What a compressed message may become is bounded by its size, and by what any message may be.
func TestInflateBudget(t *testing.T) {
	for _, tt := range []struct{ factor, most, n, want int }{
		{0, 0, 0, 512 << 10}, {0, 0, 1000, 128*1000 + 512<<10}, {0, 0, 1 << 20, 16 << 20}, {2, 0, 1000, 2*1000 + 512<<10},
		{0, 100 << 10, 1000, 100 << 10}, {math.MaxInt, 0, 1 << 20, 16 << 20},
	} {
		lim := rpc.Limits{InflateFactor: tt.factor, MessageBytes: tt.most}.WithDefaults()
		if got := lim.InflateBudget(tt.n); got != tt.want {
			t.Errorf("factor %d, messages of %d, %d bytes: %d; want %d", tt.factor, tt.most, tt.n, got, tt.want)
		}
	}
}
