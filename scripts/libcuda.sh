#!/bin/sh
# Builds gpu/libcuda, which stands in for the CUDA driver at link time, into the cache and prints the folder;
# takes a second. The name carries a hash of all that goes in, so a changed source builds anew.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../gpu/libcuda
cache=$("$here/ffmpeg.sh" --cache)
cc=${CC:-gcc}
machine=$($cc -dumpmachine)
key=$(cat "$here/libcuda.sh" "$src"/include/*.h "$src"/src/* | sha256sum | cut -c1-12)
prefix=$cache/libcuda-$machine-$key

if [ ! -d "$prefix" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/libcuda.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp -r "$src/include" "$work/include"
	$cc -std=gnu11 -O2 -g -fPIC -Wall -Wextra -Werror -I "$src/include" -c -o "$work/driver.o" "$src/src/driver.c"
	$cc -c -o "$work/jump.o" "$src/src/jump_${machine%%-*}.S"
	(cd "$work" && ar rcs libcuda.a driver.o jump.o && rm driver.o jump.o)
	chmod 755 "$work"
	mv -T "$work" "$prefix" 2>/dev/null || [ -d "$prefix" ] # another build may have been first
fi
echo "$prefix"
