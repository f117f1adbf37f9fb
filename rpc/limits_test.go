package rpc_test

import (
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
