package rpc

import "time"

// Limits bound what a peer can make this side spend. The zero value of each
// field stands for its default. WithDefaults fills them in; engines and codecs
// are given limits that were filled in.
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

	ResetsPerSecond   int `default:"100"`
	PingsPerSecond    int `default:"10"`
	SettingsPerSecond int `default:"10"`
	EmptyPerSecond    int `default:"100"` // frames without content

	FirstBytes time.Duration `default:"5s"`  // from accept until the protocol is known
	Handshake  time.Duration `default:"5s"`  // TLS
	FrameRest  time.Duration `default:"30s"` // from the first byte of a frame to its last
	WriteStall time.Duration `default:"30s"` // output queued and nothing sent
	Idle       time.Duration `default:"5m"`  // a client's connection without calls
}

// defaults is the table of rules; WithDefaults copies what is unset from it.
var defaults = Limits{
	MessageBytes: 16 << 20, Depth: 64, DecodeFactor: 16,
	HeaderBytes: 16 << 10, HeaderEntries: 64,
	CallsPerConn: 8192, StreamsPerConn: 1024, Conns: 20000, Abandoned: 1024, QueuedBytes: 4 << 20,
	ResetsPerSecond: 100, PingsPerSecond: 10, SettingsPerSecond: 10, EmptyPerSecond: 100,
	FirstBytes: 5 * time.Second, Handshake: 5 * time.Second, FrameRest: 30 * time.Second,
	WriteStall: 30 * time.Second, Idle: 5 * time.Minute,
}

// WithDefaults fills in every field that is zero. Use its result for as long
// as the thing that it limits lives.
func (l Limits) WithDefaults() *Limits {
	for _, f := range []struct{ have, def *int }{
		{&l.MessageBytes, &defaults.MessageBytes}, {&l.Depth, &defaults.Depth}, {&l.DecodeFactor, &defaults.DecodeFactor},
		{&l.HeaderBytes, &defaults.HeaderBytes}, {&l.HeaderEntries, &defaults.HeaderEntries},
		{&l.CallsPerConn, &defaults.CallsPerConn}, {&l.StreamsPerConn, &defaults.StreamsPerConn},
		{&l.Conns, &defaults.Conns}, {&l.Abandoned, &defaults.Abandoned}, {&l.QueuedBytes, &defaults.QueuedBytes},
		{&l.ResetsPerSecond, &defaults.ResetsPerSecond}, {&l.PingsPerSecond, &defaults.PingsPerSecond},
		{&l.SettingsPerSecond, &defaults.SettingsPerSecond}, {&l.EmptyPerSecond, &defaults.EmptyPerSecond},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
	}
	for _, f := range []struct{ have, def *time.Duration }{
		{&l.FirstBytes, &defaults.FirstBytes}, {&l.Handshake, &defaults.Handshake}, {&l.FrameRest, &defaults.FrameRest},
		{&l.WriteStall, &defaults.WriteStall}, {&l.Idle, &defaults.Idle},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
	}
	return &l
}

// DecodeBudget gives the bytes of memory that the decode of a message of n
// bytes may allocate: a small message must not declare a large one.
func (l *Limits) DecodeBudget(n int) int { return l.DecodeFactor*n + 64<<10 }
