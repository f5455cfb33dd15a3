#!/bin/sh
# Installs the missing packages of the named groups: setup.sh build lib test bench lab
# Quiet and fast if all are installed. For Debian 12 and 13; elsewhere it prints the packages to install.
set -eu

need() { # need COMMAND-OR-FILE PACKAGE
	case $1 in
	/*) for f in $1; do [ -e "$f" ] && return; done ;;
	*) command -v "$1" >/dev/null 2>&1 && return ;;
	esac
	missing="$missing $2"
}

lib=/usr/lib/$(uname -m)-linux-gnu
missing=
for group in "$@"; do
	case $group in
	build)
		need gcc gcc
		need g++ g++
		need "$lib/libc.a" libc6-dev
		need pkg-config pkg-config
		need curl curl
		need xz xz-utils
		need flock util-linux
		need nasm nasm
		need yasm yasm
		need meson meson
		need ninja ninja-build
		need cmake cmake
		need "/etc/ssl/certs/ca-certificates.crt" ca-certificates
		need "$lib/libx264.a" libx264-dev
		need "$lib/libx265.a" libx265-dev
		need "$lib/libopus.a" libopus-dev
		need "$lib/libnuma.a" libnuma-dev
		need "$lib/libz.a" zlib1g-dev
		need "$lib/libzimg.a" libzimg-dev
		command -v go >/dev/null 2>&1 || [ -x /usr/local/go/bin/go ] || need go golang-go
		;;
	lib)
		need "/usr/include/frei0r.h" frei0r-plugins-dev
		;;
	test)
		need ffmpeg ffmpeg
		need shellcheck shellcheck
		need x264 x264
		need x265 x265
		need SvtAv1EncApp svt-av1
		need clang-19 clang-19
		need chromium chromium
		need firefox-esr firefox-esr
		need debootstrap debootstrap
		need buildah buildah
		need systemd-analyze systemd
		need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		[ "$(uname -m)" = aarch64 ] || need /usr/aarch64-linux-gnu/lib/libc.so libc6-dev-arm64-cross
		need qemu-aarch64 qemu-user
		;;
	bench)
		need ffmpeg ffmpeg
		need "/usr/lib/python3/dist-packages/cv2*" python3-opencv
		;;
	lab)
		need "/usr/lib/python3/dist-packages/matplotlib" python3-matplotlib
		;;
	*)
		echo "setup.sh: unknown group $group" >&2
		exit 2
		;;
	esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "vidfilter: please install (Debian's names):$missing" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "vidfilter: as root, please run: apt-get install$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists of a fresh machine may be missing or old: refresh them first.
# shellcheck disable=SC2086
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive \
	apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "vidfilter: apt-get could not install:$missing" >&2
	exit 1
fi
