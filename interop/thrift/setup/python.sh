#!/usr/bin/env bash
# Apache's test/py with the library from the package index, in a venv.
. "$(dirname "$0")/lib.sh"

need python3
done_already python && exit 0
dir=$CACHE/python
say "python: venv and package thrift ${VERSION#v}"
rm -rf "$dir"
mkdir -p "$dir"
python3 -m venv "$dir/venv" >&2 || skip "no python3 venv"
quiet pip "$dir/venv/bin/pip" install --quiet "thrift==${VERSION#v}"
# The test programs look for a library two folders up and find none there.
mkdir -p "$dir/test"
cp "$APACHE"/test/py/*.py "$dir/test/"
chmod -R u+w "$dir/test"
mkdir -p "$dir/test/gen-py"
"$THRIFT" -nowarn --gen py -out "$dir/test/gen-py" "$IDL" >&2
mark_done python
