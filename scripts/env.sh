#!/bin/sh
# Prints the environment in which plain go commands and gopls work: eval "$(scripts/env.sh)"
# It points pkg-config at the static FFmpeg and cgo at gpu/libcuda, ahead of any CUDA on this machine, and puts a
# Go toolchain of the version in go.mod on PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$("$here/ffmpeg.sh" --path)
echo "export PKG_CONFIG_PATH='$prefix/lib/pkgconfig'"
cuda=$("$here/libcuda.sh")
# Go's build cache does not see the folders that pkg-config names. Naming FFmpeg's here makes another FFmpeg another build.
sanitize=${VIDFILTER_SANITIZE:+ -g1 -fno-omit-frame-pointer -fsanitize=address,undefined}
echo "export CGO_ENABLED=1 CGO_CFLAGS='-O2 -I$cuda/include -I$prefix/include$sanitize'"
echo "export CGO_LDFLAGS='-O2 -static-libgcc -L$cuda -L$prefix/lib$sanitize'"
# With the same flags, builds, tests and vet share compiled packages.
echo "case \" \${GOFLAGS:-} \" in *' -trimpath '*) ;; *) export GOFLAGS=\"-trimpath \${GOFLAGS:-}\" ;; esac"
bin=$("$here/go.sh")
echo "case :\$PATH: in *:'$bin':*) ;; *) export PATH='$bin':\"\$PATH\" ;; esac"
