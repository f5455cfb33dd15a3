#!/bin/sh
# Prints the bin folder of a Go toolchain at least as new as go.mod requires. An older go on this machine fetches
# the right one as a module, verified by the checksum database like every module.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
want=$(sed -n 's/^go //p' "$here/../go.mod")
go=$(command -v go || echo /usr/local/go/bin/go)
if [ ! -x "$go" ]; then
	echo "vidfilter: no go command; run make" >&2
	exit 1
fi
# Outside the tree, since an old go fails on the version in go.mod.
old() { (cd / && GOTOOLCHAIN=local GO111MODULE=on GOFLAGS=-mod=mod "$go" "$@"); }

have=$(old env GOVERSION | sed 's/^go//; s/[^0-9.].*//')
if [ "$(printf '%s\n' "$want" "$have" | sort -V | head -n 1)" = "$want" ]; then
	dirname "$go"
	exit
fi
name=golang.org/toolchain@v0.0.1-go$want.linux-$(old env GOARCH)
root=$(old env GOMODCACHE)/$name
if [ ! -f "$root/ready" ]; then
	echo "vidfilter: go $have is older than go.mod requires, fetching go $want" >&2
	old mod download "$name" >&2
	# Modules are unpacked read-only and without the execute bits.
	chmod -R u+w "$root"
	chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
	touch "$root/ready"
fi
echo "$root/bin"
