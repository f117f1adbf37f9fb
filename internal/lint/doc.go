// Package lint holds the tests that read the project's own source: the floor
// plan, what a package may import, doc comments, sizes, state of packages, the
// exported API, links and references of the docs.
//
// It has no code that others could use. Run it with
//
//	go test ./internal/lint
//	go test ./internal/lint -run API -update    # accept a change of the exported API
package lint
