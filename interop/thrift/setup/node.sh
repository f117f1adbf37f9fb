#!/usr/bin/env bash
# Apache's lib/nodejs/test with the library from the package registry, whose
# newest release is 0.24.0. tape 5 fails four assertions even against Apache's
# own server, tape 4 none.
. "$(dirname "$0")/lib.sh"

need node
done_already node && exit 0
need npm
dir=$CACHE/node
say "node: packages thrift, tape, commander, uuid, node-int64"
rm -rf "$dir"
mkdir -p "$dir"
cp "$APACHE"/lib/nodejs/test/{server,client,test-cases,test_driver,test_handler}.mjs "$APACHE"/lib/nodejs/test/helpers.js "$dir/"
chmod -R u+w "$dir"
echo '{"private": true}' >"$dir/package.json"
(cd "$dir" && quiet npm npm install --no-audit --no-fund --loglevel=error \
	thrift@0.24.0 'tape@^4.9' commander@13 uuid@11 node-int64)
"$THRIFT" -nowarn -o "$dir" --gen js:node "$IDL" >&2
mark_done node
