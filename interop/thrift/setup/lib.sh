# Shared by the setup scripts; sourced, never run.
#
# Each script installs one thing into $CACHE and may be run again at any time:
# a step whose stamp exists is not repeated. Exit status 3 means "a tool is
# missing": the last line of stdout then says which one, and the runner skips
# that peer. All progress goes to stderr.

set -euo pipefail

CACHE=${LIMOSA_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/limosa-interop}/thrift
VERSION=v0.25.0    # of Apache Thrift: compiler, IDL, test programs, libraries
GO_TESTS=v0.17.0   # the last release whose Go module carries test/go
STAMPS=$CACHE/stamps
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 GOWORK=off
mkdir -p "$STAMPS"

# Two runs that share a cache take turns, where the system has flock.
if command -v flock >/dev/null 2>&1; then
	exec 9>"$CACHE/lock"
	flock 9
fi

say() { echo "setup: $*" >&2; }

# skip WORDS: the peer cannot be set up here, and why.
skip() { echo "$*"; exit 3; }

# need TOOL: skips when the tool is not installed.
need() { command -v "$1" >/dev/null 2>&1 || skip "no $1"; }

done_already() { [ -e "$STAMPS/$1-$VERSION" ]; }
mark_done() { touch "$STAMPS/$1-$VERSION"; }

# quiet LOG COMMAND...: runs the command; its output is shown only if it fails.
quiet() {
	local log=$CACHE/log-$1
	shift
	if ! "$@" >"$log" 2>&1; then
		say "failed: $*"
		tail -n 40 "$log" >&2
		return 1
	fi
}

# module_dir VERSION: where the Go module cache holds Apache Thrift's source.
# The command runs outside any module, so that no go.mod is looked at.
module_dir() {
	(cd "$CACHE" && go mod download -json "github.com/apache/thrift@$1") |
		sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p'
}

APACHE=$(module_dir "$VERSION")
[ -d "$APACHE/test" ] || { say "the source of Apache Thrift $VERSION cannot be fetched"; exit 1; }
THRIFT=$CACHE/bin/thrift
IDL=$APACHE/test/ThriftTest.thrift
