# Everything here is a thin name for a command that can be run by hand.
.DEFAULT_GOAL := help
.PHONY: help check test race invariants fuzz sim metamorph gen-check interop-thrift interop-kitex interop-http1 interop-protobuf interop-h2spec interop-grpc interop-tools bench static vulns cross test-arm64 ci

GO       ?= go
FUZZTIME ?= 30000x
QEMU_ARM64 ?= qemu-aarch64
PEERS    ?= python,java,node,go
COUNT    ?= 5
SEEDS    ?= 2000
BENCH    ?= rpc -peers limosa,grpc-go -callers 1,100 -payload 1024 -rounds 3
# Packages whose goroutines meet: what the race detector is for.
CONCURRENT := ./buf/... ./stats/... ./rpc/... ./netio/... ./mux/... ./endpoint ./internal/inproc ./internal/serve ./internal/sim .
# Pinned: a new release of a checker is taken when somebody has looked at what it says.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB      ?= https://vuln.go.dev
# Packages with assembly, and those whose tests go through it.
ASSEMBLY   := ./internal/codec ./thrift
SYSTEMS    := linux/386 linux/arm64 darwin/arm64 windows/amd64

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: ## gofmt, vet, the source's own tests, short tests of changed packages: under a minute
	@.ci/check

test: ## all tests of all modules
	$(GO) test work

race: ## the concurrent packages under the race detector, COUNT times
	$(GO) test -race -timeout 20m -count=$(COUNT) $(CONCURRENT)

invariants: ## the root module with released memory taken out of use and leaks reported
	$(GO) test -tags invariants $$($(GO) list ./... | grep -v /internal/lint$$)

fuzz: ## each fuzz target for FUZZTIME (30000x: executions)
	@.ci/fuzz $(FUZZTIME)

sim: ## SEEDS simulations of the whole stack in virtual time, with faults; TAGS=invariants
	@.ci/sim $(SEEDS)

metamorph: ## one script of calls by every form, transport, IDL and codec; CALLS=100000 SEED=1; an hour
	$(GO) test ./internal/metamorph -run OneHistory -count=1 -timeout 4h -args -calls $(or $(CALLS),100000) -seed $(or $(SEED),1)

gen-check: ## generated code is what the generator makes today
	@.ci/gen-check

interop-thrift: ## Apache Thrift's programs in PEERS as peers; ends with 'N passed, N failed'
	@$(GO) run ./interop/thrift -peers $(PEERS)

interop-kitex: ## Kitex as client and as server, calls and streams; KITEX='-race' and the like; ends with 'N passed, N failed'
	@interop/kitex/run $(KITEX) || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

interop-http1: ## HTTP/1 against h11 and llhttp, installed with pip where that can be, and Node's llhttp; LIMOSA_HTTP1_CASES='300000'
	@interop/http1/run

interop-protobuf: ## Protobuf's conformance suite; RUNNER=PROGRAM is a conformance_test_runner that is there already
	@RUNNER='$(RUNNER)' interop/protobuf/run || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

interop-grpc: ## gRPC's interoperability cases with grpc-go and grpc-java, both ways, plain and over TLS; GRPC='-case ping_pong'; ends with 'N passed, N failed'
	@interop/grpc/suite/run $(GRPC) || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

interop-tools: ## grpcurl, ghz and buf curl against a server of both IDLs; those that can be fetched; ends with 'N passed, N failed'
	@interop/grpc/tools/run || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

interop-h2spec: ## h2spec, plain and over TLS; H2SPEC='-only http2/6.9.1'; ends with 'N passed, N failed'
	@interop/h2spec/run $(H2SPEC) || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

bench: ## comparison in one interleaved run; BENCH='rpc -peers ...' sets what runs
	$(GO) run ./bench $(BENCH)

static: ## staticcheck on all modules; skipped where it cannot be fetched
	@GOWORK=off $(GO) run $(STATICCHECK) -version >/dev/null 2>&1 || { echo "skipped: staticcheck cannot be fetched here"; exit 0; }; \
	$(GO) run $(STATICCHECK) ./... ./cmd/... ./bench/... ./interop/...

vulns: ## govulncheck on what users link; skipped where it or its database cannot be reached
	@out=$$($(GO) run $(GOVULNCHECK) -db $(VULNDB) ./... ./cmd/... 2>&1); code=$$?; echo "$$out"; \
	case $$out in *"fetching vulnerabilities"* | *"no required module"* | *"dial tcp"*) echo "skipped: the vulnerability database cannot be reached here"; exit 0 ;; esac; exit $$code

cross: ## vet for the other systems
	@for s in $(SYSTEMS); do echo "vet $$s"; GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 $(GO) vet ./... || exit 1; done

test-arm64: ## what has assembly, and what uses it, on an emulated arm64; skipped without qemu-aarch64
	@command -v $(QEMU_ARM64) >/dev/null || { echo "skipped: no $(QEMU_ARM64) here (Debian: apt-get install qemu-user)"; exit 0; }; \
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec $(QEMU_ARM64) $(ASSEMBLY)

ci: ## all that CI runs
	.ci/run
