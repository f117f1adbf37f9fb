#!/usr/bin/env bash
# Apache's test/go, last published with v0.17.0, on the library and the IDL of
# the current release. The IDL has grown testUuid since; the handler gets it here.
. "$(dirname "$0")/lib.sh"

done_already go && exit 0
old=$(module_dir "$GO_TESTS")
[ -d "$old/test/go" ] || { say "the source of Apache Thrift $GO_TESTS cannot be fetched"; exit 1; }
dir=$CACHE/go
say "go: test programs of $GO_TESTS on the library of $VERSION"
rm -rf "$dir"
mkdir -p "$dir/lib" "$dir/test/go/src/gen" "$dir/bin"
cp "$APACHE/go.mod" "$dir/"
cp -r "$APACHE/lib/go" "$dir/lib/"
cp -r "$old/test/go/src/bin" "$old/test/go/src/common" "$dir/test/go/src/"
chmod -R u+w "$dir"
rm -f "$dir"/test/go/src/common/*_test.go
cat >"$dir/test/go/src/common/uuid_handler.go" <<'SRC'
package common

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"
)

func (p *printingHandler) TestUuid(ctx context.Context, thing thrift.Tuuid) (thrift.Tuuid, error) {
	return thing, nil
}
SRC
pkg=github.com/apache/thrift/test/go/src/gen/
"$THRIFT" -nowarn -out "$dir/test/go/src/gen" \
	--gen "go:thrift_import=github.com/apache/thrift/lib/go/thrift,package_prefix=$pkg" "$IDL" >&2
(cd "$dir" && quiet go-build go build -o bin/ ./test/go/src/bin/testserver ./test/go/src/bin/testclient)
mark_done go
