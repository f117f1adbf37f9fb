package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"

	"thriftpeer/thrifttest"
)

// forms gives the form for transport and protocol; the short names are those
// that follow "multi".
var forms = map[link]limosa.Form{
	{transport: "buffered", protocol: "binary"}:  limosa.Buffered,
	{transport: "buffered", protocol: ""}:        limosa.Buffered,
	{transport: "framed", protocol: "binary"}:    limosa.Framed,
	{transport: "framed", protocol: ""}:          limosa.Framed,
	{transport: "buffered", protocol: "compact"}: limosa.BufferedCompact,
	{transport: "buffered", protocol: "c"}:       limosa.BufferedCompact,
	{transport: "framed", protocol: "compact"}:   limosa.FramedCompact,
	{transport: "framed", protocol: "c"}:         limosa.FramedCompact,
	{transport: "buffered", protocol: "header"}:  limosa.THeader,
	{transport: "buffered", protocol: "h"}:       limosa.THeader,
	{transport: "buffered", protocol: "headerc"}: limosa.THeaderCompact,
}

// runClient calls every method of the server at l and compares the answers.
func runClient(ctx context.Context, l link) error {
	form, ok := forms[link{transport: l.transport, protocol: strings.TrimPrefix(l.protocol, "multi")}]
	if !ok {
		return fmt.Errorf("no form for transport %q and protocol %q", l.transport, l.protocol)
	}
	multi := strings.HasPrefix(l.protocol, "multi")
	target := &limosa.Client{Target: fmt.Sprintf("tcp://127.0.0.1:%d?multiplexed=%t", l.port, multi), Thrift: form}
	defer target.Close()

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r := &report{ctx: ctx}
	c := thrifttest.NewThriftTestClient(target)
	checkScalars(r, c)
	checkStructs(r, c)
	checkContainers(r, c)
	checkExceptions(r, c)
	checkOneway(r, c)
	if multi {
		s := thrifttest.NewSecondServiceClient(target)
		got, err := s.SecondtestString(ctx, "foobar")
		r.same("secondtestString", got, err, `testString("foobar")`)
	}
	return r.finish()
}

func checkScalars(r *report, c *thrifttest.ThriftTestClient) {
	r.nothing("testVoid", c.TestVoid(r.ctx))
	echo(r, "testString", c.TestString,
		"", "Test", strings.Repeat("Limosa", 20),
		"quote: \" backslash: \\ slash: / \b\f\n\r\t ]] \"]] \\\" }}}{ [[[ ",
		"Ελληνικά Кыргызча 日本語 ދިވެހިބަސް ꙮ 🐦 e\u0301",
		strings.Repeat("0123456789abcdef", 20<<10)) // 320 KB: many segments, several blocks
	echo(r, "testBool", c.TestBool, true, false)
	echo(r, "testByte", c.TestByte, 0, 1, 63, -1, math.MinInt8, math.MaxInt8)
	echo(r, "testI32", c.TestI32, 0, -1, math.MinInt32, math.MaxInt32)
	echo(r, "testI64", c.TestI64, 0, -34359738368, 1<<53+1, math.MinInt64, math.MaxInt64)
	echo(r, "testDouble", c.TestDouble, 0, -1, -5.235098235, -0.000341012439638598279,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1))
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	big := make([]byte, 1<<20)
	rand.Read(big) // never fails
	echo(r, "testBinary", c.TestBinary, []byte{}, every, big)
	var random thrift.UUID
	rand.Read(random[:])
	// Version 4, variant 10: Apache's Node server dies of what RFC 9562 does not name.
	random[6], random[8] = random[6]&0x0f|0x40, random[8]&0x3f|0x80
	echo(r, "testUuid", c.TestUuid, random, thrift.UUID{},
		thrift.UUID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff})
	echo(r, "testEnum", c.TestEnum, thrifttest.NumberzONE, thrifttest.NumberzTWO, thrifttest.NumberzTHREE,
		thrifttest.NumberzFIVE, thrifttest.NumberzSIX, thrifttest.NumberzEIGHT)
	echo(r, "testTypedef", c.TestTypedef, thrifttest.UserId(309858235082523), thrifttest.UserId(0xffffffffffffff))
}

func checkStructs(r *report, c *thrifttest.ThriftTestClient) {
	x := &thrifttest.Xtruct{StringThing: "Zero", ByteThing: 1, I32Thing: -3, I64Thing: -5}
	echo(r, "testStruct", c.TestStruct, x, new(thrifttest.Xtruct))
	echo(r, "testNest", c.TestNest, &thrifttest.Xtruct2{ByteThing: 1, StructThing: x, I32Thing: 5})

	multi, err := c.TestMulti(r.ctx, 42, 4242, 424242, map[int16]string{1: "blah", 2: "thing"}, thrifttest.NumberzEIGHT, 24)
	r.same("testMulti", multi, err, &thrifttest.Xtruct{StringThing: "Hello2", ByteThing: 42, I32Thing: 4242, I64Thing: 424242})

	crazy := &thrifttest.Insanity{
		UserMap: map[thrifttest.Numberz]thrifttest.UserId{thrifttest.NumberzFIVE: 5, thrifttest.NumberzEIGHT: 8},
		Xtructs: []*thrifttest.Xtruct{
			{StringThing: "Goodbye4", ByteThing: 4, I32Thing: 4, I64Thing: 4},
			{StringThing: "Hello2", ByteThing: 2, I32Thing: 2, I64Thing: 2},
		},
	}
	whoa, err := c.TestInsanity(r.ctx, crazy)
	r.same("testInsanity", whoa, err, map[thrifttest.UserId]map[thrifttest.Numberz]*thrifttest.Insanity{
		1: {thrifttest.NumberzTWO: crazy, thrifttest.NumberzTHREE: crazy},
		2: {thrifttest.NumberzSIX: {}},
	})
}

func checkContainers(r *report, c *thrifttest.ThriftTestClient) {
	echo(r, "testMap", c.TestMap, map[int32]int32{}, map[int32]int32{0: -10, 1: -9, 2: -8, -3: 7, math.MaxInt32: math.MinInt32})
	echo(r, "testStringMap", c.TestStringMap, map[string]string{},
		map[string]string{"a": "2", "b": "blah", "some": "thing", "with space": "", "日本": "語"})
	echo(r, "testSet", c.TestSet, thrift.Set[int32]{}, thrift.Set[int32]{-2, -1, 0, 1, 2, 42})
	many := make([]int32, 10_000)
	for i := range many {
		many[i] = int32(i * i)
	}
	echo(r, "testList", c.TestList, []int32{}, []int32{1, 4, 9, -42}, many)
	mm, err := c.TestMapMap(r.ctx, 42)
	r.same("testMapMap", mm, err, mapMap())
}

func checkExceptions(r *report, c *thrifttest.ThriftTestClient) {
	raised(r, "testException", c.TestException(r.ctx, "Xception"), &thrifttest.Xception{ErrorCode: 1001, Message: "Xception"})
	r.undeclared("testException", c.TestException(r.ctx, "TException"))
	r.nothing("testException", c.TestException(r.ctx, "success"))

	_, err := c.TestMultiException(r.ctx, "Xception", "ignored")
	raised(r, "testMultiException", err, &thrifttest.Xception{ErrorCode: 1001, Message: "This is an Xception"})
	_, err = c.TestMultiException(r.ctx, "Xception2", "ignored")
	// What the struct holds beyond its text differs among Apache's servers.
	if x, ok := errors.AsType[*thrifttest.Xception2](err); !ok || x.ErrorCode != 2002 || x.StructThing == nil ||
		x.StructThing.StringThing != "This is an Xception2" {
		r.fail("testMultiException", "ended with %T %v, want Xception2 2002", err, err)
	}
	x, err := c.TestMultiException(r.ctx, "success", "foobar")
	if err != nil || x == nil || x.StringThing != "foobar" {
		r.fail("testMultiException", "answered %#v, %v; want foobar", x, err)
	}
}

// checkOneway makes sure that nobody waits for the sleeping handler, and that
// the next answer on the connection is the next call's own.
func checkOneway(r *report, c *thrifttest.ThriftTestClient) {
	began := time.Now()
	r.nothing("testOneway", c.TestOneway(r.ctx, 1))
	if took := time.Since(began); took > 500*time.Millisecond {
		r.fail("testOneway", "took %v although nothing is to be waited for", took)
	}
	echo(r, "testI32", c.TestI32, -1)
}

// undeclared checks an error that the peer's program threw and the IDL does
// not know: an error of the other side, not of the connection.
func (r *report) undeclared(method string, err error) {
	r.called(method)
	if e, ok := errors.AsType[*rpc.Error](err); !ok || !e.Remote || e.Sent != rpc.Processed {
		r.fail(method, "ended with %T %v, want an error that the server has reported", err, err)
	}
}
