package rpc

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"time"
)

// Limits bound what a peer can make this side spend. The zero value of each
// field stands for its default; one below zero is refused (Check), a very large
// one is as good as none. WithDefaults fills them in; engines and codecs are
// given limits that were filled in.
type Limits struct {
	MessageBytes int `default:"16 MiB"` // one message or frame
	Depth        int `default:"64"`     // nesting of a message's structs and containers
	DecodeFactor int `default:"16"`     // memory that one decode may take: this times the message's bytes, and 64 KiB

	HeaderBytes   int `default:"16 KiB"` // metadata of one call
	HeaderEntries int `default:"64"`     // pairs of metadata of one call

	CallsPerConn   int `default:"8192"` // in flight on one connection
	CallsPerServer int `default:"0"`    // in flight on the whole server; 0: no limit
	StreamsPerConn int `default:"1024"` // open streams on one connection
	Conns          int `default:"20000"`
	Abandoned      int `default:"1024"`  // calls on one connection whose late answer is still awaited
	QueuedBytes    int `default:"4 MiB"` // output for a peer that does not read

	// HeldPerConn bounds the bytes that a peer makes this side hold on one
	// connection, whatever for; it is never less than two messages.
	HeldPerConn int `default:"64 MiB"`
	// HeldPerServer bounds them over all connections of a server; 0: a quarter
	// of the memory that the process may have, at least 256 MiB.
	HeldPerServer int `default:"0"`
	// HeldPerAddress bounds them over the connections of a server that come from
	// one address; 0: a quarter of HeldPerServer, at least HeldPerConn.
	HeldPerAddress int `default:"0"`
	// HeldPerClient bounds them over all connections of a client; 0: as HeldPerServer.
	HeldPerClient int `default:"0"`
	// ConnsPerAddress bounds the connections of a server that come from one
	// address; 0: a quarter of Conns.
	ConnsPerAddress int `default:"0"`
	// InflateFactor times its compressed size, and 512 KiB, is what a compressed
	// message may become.
	InflateFactor int `default:"128"`

	FirstBytes time.Duration `default:"5s"`  // from accept until the protocol is known
	Handshake  time.Duration `default:"5s"`  // TLS
	FrameRest  time.Duration `default:"30s"` // from the first byte of a frame to its last
	WriteStall time.Duration `default:"30s"` // output queued and nothing sent
	Idle       time.Duration `default:"5m"`  // a client's connection without calls
	ServerIdle time.Duration `default:"15m"` // a server's connection without calls
	QueueTime  time.Duration `default:"10s"` // a request without a deadline that waits for its start
	CallTime   time.Duration `default:"0"`   // the longest deadline of a call of one message on a server, whatever its caller says; 0: no limit
	Silence    time.Duration `default:"30s"` // no byte from the peer while calls wait for it, before it is taken for dead
	Keepalive  time.Duration `default:"5m"`  // between two pings to a peer of HTTP/2 that is silent while calls live; servers of grpc-go end connections that ping more often
}

// defaults is the table of rules; WithDefaults copies what is unset from it.
var defaults = Limits{
	MessageBytes: 16 << 20, Depth: 64, DecodeFactor: 16,
	HeaderBytes: 16 << 10, HeaderEntries: 64,
	CallsPerConn: 8192, StreamsPerConn: 1024, Conns: 20000, Abandoned: 1024, QueuedBytes: 4 << 20,
	HeldPerConn: 64 << 20, InflateFactor: 128,
	FirstBytes: 5 * time.Second, Handshake: 5 * time.Second, FrameRest: 30 * time.Second,
	WriteStall: 30 * time.Second, Idle: 5 * time.Minute, ServerIdle: 15 * time.Minute,
	QueueTime: 10 * time.Second, Silence: 30 * time.Second, Keepalive: 5 * time.Minute,
}

// endless and endlessFactor are as good as no limit, and sums and products of them
// do not overflow. Where an int has 32 bits, endless is 256 MiB: above each default, and
// the sum of a few still fits.
const (
	endless       = math.MaxInt >> (bits.UintSize/8 - 1)
	endlessFactor = 1 << 20
)

// WithDefaults fills in every field that is zero, and takes what is larger than
// anything that could be met for no limit. Use its result for as long
// as the thing that it limits lives.
func (l Limits) WithDefaults() *Limits {
	for _, f := range []struct{ have, def *int }{
		{&l.MessageBytes, &defaults.MessageBytes}, {&l.Depth, &defaults.Depth}, {&l.DecodeFactor, &defaults.DecodeFactor},
		{&l.HeaderBytes, &defaults.HeaderBytes}, {&l.HeaderEntries, &defaults.HeaderEntries},
		{&l.CallsPerConn, &defaults.CallsPerConn}, {&l.StreamsPerConn, &defaults.StreamsPerConn},
		{&l.Conns, &defaults.Conns}, {&l.Abandoned, &defaults.Abandoned}, {&l.QueuedBytes, &defaults.QueuedBytes},
		{&l.HeldPerConn, &defaults.HeldPerConn}, {&l.InflateFactor, &defaults.InflateFactor},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
		*f.have = min(*f.have, endless)
	}
	l.DecodeFactor, l.InflateFactor = min(l.DecodeFactor, endlessFactor), min(l.InflateFactor, endlessFactor)
	for _, f := range []struct{ have, def *time.Duration }{
		{&l.FirstBytes, &defaults.FirstBytes}, {&l.Handshake, &defaults.Handshake}, {&l.FrameRest, &defaults.FrameRest},
		{&l.WriteStall, &defaults.WriteStall}, {&l.Idle, &defaults.Idle},
		{&l.ServerIdle, &defaults.ServerIdle}, {&l.QueueTime, &defaults.QueueTime}, {&l.Silence, &defaults.Silence}, {&l.Keepalive, &defaults.Keepalive},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
	}
	l.HeldPerConn = max(l.HeldPerConn, 2*l.MessageBytes)
	if l.ConnsPerAddress == 0 {
		l.ConnsPerAddress = max(l.Conns/4, 1)
	}
	return &l
}

// Check reports the first field that is below zero: no limit is switched off so.
// The error's code is InvalidArgument.
func (l *Limits) Check() error {
	v := reflect.ValueOf(*l)
	for i := range v.NumField() {
		if v.Field(i).Int() < 0 {
			return &Error{Code: InvalidArgument, Op: "limits", Sent: NotSent, Msg: fmt.Sprintf("Limits.%s is %v, below zero", v.Type().Field(i).Name, v.Field(i))}
		}
	}
	return nil
}

// inflateFree is what a compressed message may become besides its share: a message of few
// bytes may well be half a megabyte of zeros, which deflate makes a thousandth of.
const inflateFree = 512 << 10

// InflateBudget gives the bytes that a compressed message of n bytes may become: a small one
// must not become a large one.
func (l *Limits) InflateBudget(n int) int {
	all := int64(l.InflateFactor)*int64(n) + inflateFree // which an int of 32 bits may not hold
	return int(max(0, min(int64(l.MessageBytes), all)))
}

// DecodeBudget gives the bytes of memory that the decode of a message of n
// bytes may allocate: a small message must not declare a large one.
//
// It is at most 8 PiB, 512 MiB where an int has 32 bits: a factor that stands for no bound
// gives none, and the budgets of many decodes can be added up.
func (l *Limits) DecodeBudget(n int) int {
	const most = math.MaxInt >> (bits.UintSize/4 - 6)
	if hi, all := bits.Mul(uint(max(l.DecodeFactor, 0)), uint(n)); hi == 0 && all <= most-64<<10 {
		return int(all) + 64<<10
	}
	return most
}
