#!/usr/bin/env bash
# Builds Apache's compiler with the generators the peers need. Every peer needs
# it; it takes about a minute on two cores, once. Debian's own package is too
# old: it does not know uuid.
. "$(dirname "$0")/lib.sh"

done_already compiler && [ -x "$THRIFT" ] && exit 0
need cmake
need make
need g++
missing=
for tool in bison flex; do
	command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || skip "no$missing"
	say "installing$missing"
	quiet apt-update apt-get update || skip "no$missing"
	# shellcheck disable=SC2086 # a list of words
	quiet apt-install apt-get install -y --no-install-recommends $missing || skip "no$missing"
fi

say "building Apache's compiler $VERSION"
src=$CACHE/compiler/src build=$CACHE/compiler/build
rm -rf "$CACHE/compiler"
mkdir -p "$src" "$CACHE/bin"
# The module cache is read-only, and the build writes beside its sources.
cp -r "$APACHE/." "$src"
chmod -R u+w "$src"
off=
for generator in c_glib cl cpp d dart delphi erl gv haxe html javame json kotlin lua \
	markdown mmd netstd ocaml perl php rb rs st swift xml xsd; do
	off="$off -DTHRIFT_COMPILER_${generator^^}=OFF"
done
# shellcheck disable=SC2086 # a list of words
quiet cmake cmake -S "$src" -B "$build" -DBUILD_LIBRARIES=OFF -DBUILD_TESTING=OFF \
	-DBUILD_TUTORIALS=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 $off
quiet make make -C "$build" -j2 thrift-compiler
cp "$build/compiler/cpp/bin/thrift" "$THRIFT"
"$THRIFT" --version >&2
rm -rf "$CACHE/compiler"
mark_done compiler
