module github.com/limosa-rpc/limosa/cmd

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/limosa-rpc/limosa v0.0.0
	github.com/mattn/go-isatty v0.0.24
	github.com/urfave/cli/v3 v3.14.0
	github.com/vbauerster/mpb/v8 v8.9.3
	golang.org/x/mod v0.42.0
	golang.org/x/sys v0.49.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/VividCortex/ewma v1.2.0 // indirect
	github.com/acarl005/stripansi v0.0.0-20180116102854-5a71ef0e047d // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/sync v0.8.0 // indirect
)

replace github.com/limosa-rpc/limosa => ../
