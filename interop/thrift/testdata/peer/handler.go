package main

import (
	"context"
	"errors"
	"time"

	"github.com/limosa-rpc/limosa/thrift"

	"thriftpeer/thrifttest"
)

// handler does what Apache's IDL says of each method: most give back what they
// were given.
type handler struct{}

func (handler) TestVoid(context.Context) error { return nil }

func (handler) TestString(_ context.Context, thing string) (string, error)         { return thing, nil }
func (handler) TestBool(_ context.Context, thing bool) (bool, error)               { return thing, nil }
func (handler) TestByte(_ context.Context, thing int8) (int8, error)               { return thing, nil }
func (handler) TestI32(_ context.Context, thing int32) (int32, error)              { return thing, nil }
func (handler) TestI64(_ context.Context, thing int64) (int64, error)              { return thing, nil }
func (handler) TestDouble(_ context.Context, thing float64) (float64, error)       { return thing, nil }
func (handler) TestBinary(_ context.Context, thing []byte) ([]byte, error)         { return thing, nil }
func (handler) TestUuid(_ context.Context, thing thrift.UUID) (thrift.UUID, error) { return thing, nil }

func (handler) TestStruct(_ context.Context, thing *thrifttest.Xtruct) (*thrifttest.Xtruct, error) {
	return thing, nil
}

func (handler) TestNest(_ context.Context, thing *thrifttest.Xtruct2) (*thrifttest.Xtruct2, error) {
	return thing, nil
}

func (handler) TestMap(_ context.Context, thing map[int32]int32) (map[int32]int32, error) {
	return thing, nil
}

func (handler) TestStringMap(_ context.Context, thing map[string]string) (map[string]string, error) {
	return thing, nil
}

func (handler) TestSet(_ context.Context, thing thrift.Set[int32]) (thrift.Set[int32], error) {
	return thing, nil
}

func (handler) TestList(_ context.Context, thing []int32) ([]int32, error) { return thing, nil }

func (handler) TestEnum(_ context.Context, thing thrifttest.Numberz) (thrifttest.Numberz, error) {
	return thing, nil
}

func (handler) TestTypedef(_ context.Context, thing thrifttest.UserId) (thrifttest.UserId, error) {
	return thing, nil
}

func (handler) TestMapMap(context.Context, int32) (map[int32]map[int32]int32, error) {
	return mapMap(), nil
}

func (handler) TestInsanity(_ context.Context, arg *thrifttest.Insanity) (map[thrifttest.UserId]map[thrifttest.Numberz]*thrifttest.Insanity, error) {
	return map[thrifttest.UserId]map[thrifttest.Numberz]*thrifttest.Insanity{
		1: {thrifttest.NumberzTWO: arg, thrifttest.NumberzTHREE: arg},
		2: {thrifttest.NumberzSIX: new(thrifttest.Insanity)},
	}, nil
}

func (handler) TestMulti(_ context.Context, arg0 int8, arg1 int32, arg2 int64, _ map[int16]string, _ thrifttest.Numberz, _ thrifttest.UserId) (*thrifttest.Xtruct, error) {
	return &thrifttest.Xtruct{StringThing: "Hello2", ByteThing: arg0, I32Thing: arg1, I64Thing: arg2}, nil
}

func (handler) TestException(_ context.Context, arg string) error {
	switch arg {
	case "Xception":
		return &thrifttest.Xception{ErrorCode: 1001, Message: arg}
	case "TException": // not declared: the peer gets a TApplicationException
		return errors.New("an error that the IDL does not know")
	}
	return nil
}

func (handler) TestMultiException(_ context.Context, arg0, arg1 string) (*thrifttest.Xtruct, error) {
	switch arg0 {
	case "Xception":
		return nil, &thrifttest.Xception{ErrorCode: 1001, Message: "This is an Xception"}
	case "Xception2":
		return nil, &thrifttest.Xception2{
			ErrorCode:   2002,
			StructThing: &thrifttest.Xtruct{StringThing: "This is an Xception2"},
		}
	}
	return &thrifttest.Xtruct{StringThing: arg1}, nil
}

// TestOneway sleeps, for its caller to see that nobody waits for it.
func (handler) TestOneway(ctx context.Context, secondsToSleep int32) error {
	select {
	case <-time.After(time.Duration(secondsToSleep) * time.Second):
	case <-ctx.Done():
	}
	return nil
}

// mapMap is what TestMapMap answers.
func mapMap() map[int32]map[int32]int32 {
	return map[int32]map[int32]int32{
		-4: {-4: -4, -3: -3, -2: -2, -1: -1},
		4:  {4: 4, 3: 3, 2: 2, 1: 1},
	}
}

// second is the other service of a multiplexed server.
type second struct{}

func (second) SecondtestString(_ context.Context, thing string) (string, error) {
	return `testString("` + thing + `")`, nil
}
