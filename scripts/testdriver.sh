#!/bin/sh
# Builds the test driver (gpu/testdriver: a libcuda.so.1 that runs the kernels on the CPU, a libnvcuvid.so.1, a libnvidia-encode.so.1)
# into the cache and prints the folder, for LD_LIBRARY_PATH. The name has a hash of all inputs; unchanged kernels are not compiled again.
#   testdriver.sh       with the project's kernels
#   testdriver.sh LIST  with the kernels of a file: NAME SOURCE FLAGS... a line, as kernels/mkptx -list prints them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
cc=clang-19
src=gpu/testdriver/src
cache=$("$here/ffmpeg.sh" --cache)
objects=$cache/testdriver-objects

# Objects are kept when a program ends: a thread may still wait for a kernel that hangs.
flags="-x c++ -std=c++17 -O2 -fno-exceptions -fno-rtti -fno-c++-static-destructors -fPIC -fvisibility=hidden"
flags="$flags -Wall -Wextra -Werror -Wmissing-prototypes -I gpu/libcuda/include -I gpu/libcuda/src -I kernels/cuda"
# Halves are converted by instructions where there are any.
if grep -q ' avx2 .* f16c\| f16c .* avx2 ' /proc/cpuinfo; then flags="$flags -march=x86-64-v3"; fi

version=${version:-$($cc --version)}
export version # for each compile
# compile OUTPUT SOURCE FLAGS...: unless the cache has the same text compiled with the same flags. CPPFLAGS may change the text.
if [ "${1:-}" = compile ]; then
	output=$2 source=$3
	shift 3
	# shellcheck disable=SC2086
	object=$objects/$({ echo "$version" && echo "$flags $*" && $cc $flags ${CPPFLAGS:-} "$@" -E -P "$source"; } | sha256sum | cut -c1-24)
	if [ ! -f "$object" ]; then
		# shellcheck disable=SC2086
		$cc $flags ${CPPFLAGS:-} "$@" -o "$object.$$" "$source"
		ln "$object.$$" "$object" 2>/dev/null || [ -f "$object" ] # never replaced, lest another build fail to link it meanwhile
		rm "$object.$$"
	fi
	ln -f "$object" "$output"
	exit
fi

ffmpeg=$("$here/ffmpeg.sh" --path)
list=${1:-}
if [ -n "$list" ]; then extra="$list $(cut -d ' ' -f 2 "$list" | sort -u)"; else extra=$(ls kernels/*.go denoise/device/*.go interlace/device/*.go gpu/surface/*.go lab/papers/*.go); fi
# folder FILES...: the driver that comes of these files and of those that every driver comes of
folder() {
	echo "$cache/testdriver-$({ echo "$version $flags ${CPPFLAGS:-} $ffmpeg" && cat "$here/testdriver.sh" $src/* gpu/testdriver/nvcuvid/* gpu/testdriver/nvenc/* gpu/libcuda/include/cuda.h \
		gpu/libcuda/src/symbols.h kernels/common.h kernels/layouts.h kernels/cuda/* denoise/device/cuda/* interlace/device/cuda/* gpu/surface/cuda/* lab/papers/cuda/* "$@"; } | sha256sum | cut -c1-12)"
}
# shellcheck disable=SC2086
prefix=$(folder $extra)
if [ -d "$prefix" ]; then
	echo "$prefix"
	exit
fi

mkdir -p "$objects"
work=$(mktemp -d "$cache/testdriver.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/kernels" "$work/driver"
link=
if [ -n "$list" ]; then
	cp "$list" "$work/list"
else
	eval "$("$here/env.sh")" # as everything else is built, so that Go's cache serves
	go run ./kernels/mkptx -list >"$work/list"
	link=$prefix prefix=$(folder "$work/list") # most changes of Go files leave the list as it is
fi
finish() {
	[ -z "$link" ] || ln -s "$prefix" "$link" 2>/dev/null || [ -d "$link" ]
	echo "${link:-$prefix}"
	exit
}
[ ! -d "$prefix" ] || finish
compile_all() { xargs -P "$(nproc)" -L 1 "$here/testdriver.sh" compile; } # an output, a source and flags a line
{
	for file in "$src"/*.cc; do
		echo "$work/driver/$(basename "$file" .cc).o $file -c"
	done
	for name in nvcuvid nvenc; do
		echo "$work/$name.o gpu/testdriver/$name/$name.cc -c -Wno-missing-prototypes -I $src -isystem $ffmpeg/include"
	done
} | compile_all
$cc -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -o "$work/libcuda.so.1" "$work"/driver/*.o -lstdc++ -lpthread -ldl
$cc -shared -Wl,-soname,libnvcuvid.so.1 -o "$work/libnvcuvid.so.1" "$work/nvcuvid.o" -L "$work" -l:libcuda.so.1 -lstdc++
# Its codecs are its own, whichever the program has. The static libnuma is not for shared libraries.
# shellcheck disable=SC2046
$cc -shared -Wl,-soname,libnvidia-encode.so.1 -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,--gc-sections -o "$work/libnvidia-encode.so.1" \
	"$work/nvenc.o" -L "$work" -l:libcuda.so.1 $(PKG_CONFIG_PATH=$ffmpeg/lib/pkgconfig pkg-config --libs libavcodec libavutil | sed "s/-lnuma/-l:libnuma.so.1/") -lstdc++
rm -r "$work/driver" "$work/nvcuvid.o" "$work/nvenc.o"
while read -r name source defines; do
	echo "$work/kernels/$name.so $source $defines -DVF_CPU -ffp-contract=off -Wno-unused -Wno-unused-parameter" \
		"-Wno-unused-command-line-argument -shared -l:libcuda.so.1 -lm"
done <"$work/list" | LIBRARY_PATH=$work compile_all
chmod 755 "$work"
mv -T "$work" "$prefix" 2>/dev/null || [ -d "$prefix" ] # another build may have been first
finish
