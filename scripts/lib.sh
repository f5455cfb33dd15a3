#!/bin/sh
# Builds libvidfilter.so, the plugins and the example into a folder: lib.sh FOLDER [VERSION]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
eval "$("$here/scripts/env.sh")"
cd "$here"

so=libvidfilter.so.1 # SONAME: a new one for a change that programs notice
# The tag leaves FFmpeg out, and the list of symbols hides Go's runtime and the C code.
# -buildmode=c-shared does the same, but compiles all C code again in each build, in search of a
# header.
go build -tags nolibav -gcflags=all=-shared -asmflags=all=-shared \
	-ldflags "-buildmode=c-shared -s -w ${2:+-X vidfilter/internal/cli.version=$2} \
	-extldflags '-Wl,-soname,$so -Wl,--version-script=$here/capi/vidfilter.map'" -o "$out/$so" ./capi
ln -sf "$so" "$out/libvidfilter.so"
cp capi/vidfilter.h "$out"

compile() { # compile OUTPUT SOURCE OPTION...
	to=$1 from=$2
	shift 2
	# Plugins are in folders beside the library.
	${CC:-gcc} -std=gnu11 -O2 -Wall -Wextra -Werror -fvisibility=hidden -I "$out" -o "$out/$to" "$from" "$@" \
		-L "$out" -lvidfilter "-Wl,-rpath,\$ORIGIN:\$ORIGIN/.."
}
mkdir -p "$out/vapoursynth" "$out/frei0r-1"
compile vapoursynth/vidfilter.so capi/plugins/vapoursynth.c -shared -fPIC
compile frei0r-1/vidfilter.so capi/plugins/frei0r.c -shared -fPIC
compile denoise capi/example/denoise.c
