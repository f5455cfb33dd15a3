#!/bin/sh
# Prints the bin folder of a Go toolchain that is at least as new as go.mod asks. An older go on this
# machine is used to fetch the right one as a module, from wherever it fetches modules, checked against
# the checksum database as every module is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
want=$(sed -n 's/^go //p' "$here/../go.mod")

find_go() { command -v go 2>/dev/null || { [ -x /usr/local/go/bin/go ] && echo /usr/local/go/bin/go; }; }
version() { GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//'; }
newer() { [ "$(printf '%s\n%s\n' "$want" "$1" | sort -V | head -n 1)" = "$want" ]; }

go=$(find_go) || {
	echo "vidfilter: no go command; run make" >&2
	exit 1
}
if newer "$(version "$go")"; then
	dirname "$go"
	exit
fi
arch=$("$go" env GOARCH)
name=golang.org/toolchain@v0.0.1-go$want.linux-$arch
root=$("$go" env GOMODCACHE)/$name
if [ ! -x "$root/bin/go" ]; then
	echo "vidfilter: go $(version "$go") is too old, fetching go $want" >&2
	(cd / && GO111MODULE=on GOFLAGS=-mod=mod "$go" mod download "$name") >&2
	# Modules are unpacked read-only and without the execute bits.
	chmod -R u+w "$root"
	chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
fi
echo "$root/bin"
