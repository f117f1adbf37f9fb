// Package guide holds the code that docs/guide shows: each block of a page is a
// region of a file here, between //guide:begin NAME and //guide:end, which the
// tests compile and run. After a change of a region
//
//	go test ./internal/lint -run Guide -update
//
// writes the pages anew.
package guide

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out gen idl
//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -prefix github.com/limosa-rpc/limosa/examples/guide/gen -M greet.proto=github.com/limosa-rpc/limosa/examples/guide/gen/greet -out ../examples/guide/gen -I ../examples/guide/proto ../examples/guide/proto/greet.proto"
