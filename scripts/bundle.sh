#!/bin/sh
# Packs long tests for a larger machine that has neither Go, nor a compiler, nor the ffmpeg program, and no network.
#   bundle.sh fuzz FILE.tar.xz   unpack it there, and run scripts/fuzz.sh TIME
#   bundle.sh asan FILE.tar.xz   unpack it there, and run bin/asan/run.sh TRIES [PART/PARTS]
# Results that `make test-asan` judges by the ffmpeg program it names there as "again: ..."; pass
# these lines to VIDFILTER_DAMAGE here.
set -eu
cd "$(dirname "$0")/.."
[ $# = 2 ] || { echo "usage: bundle.sh fuzz|asan FILE.tar.xz" >&2; exit 2; }
file=$2
eval "$(scripts/env.sh)"

case $1 in
fuzz)
	scripts/fuzz.sh build
	cut -d: -f1 bin/fuzz/targets | sort -u >bin/fuzz/folders
	set -- scripts/fuzz.sh bin/fuzz/targets
	while read -r folder; do
		set -- "$@" "bin/fuzz/$folder.test"
		if [ -d "$folder/testdata" ]; then set -- "$@" "$folder/testdata"; fi
	done <bin/fuzz/folders
	;;
asan)
	rm -rf bin/asan
	mkdir -p bin/asan/lib
	VIDFILTER_SANITIZE=1 scripts/ffmpeg.sh >/dev/null
	(eval "$(VIDFILTER_SANITIZE=1 scripts/env.sh)" && go build -asan -o bin/asan/vidfilter ./cmd/vidfilter)
	strip bin/asan/vidfilter
	# Without the tests that link FFmpeg themselves, it is a tenth as large.
	(cd internal/e2e/media && find . -name '*_test.go' | grep -vE '/(alpha|kept|decode|fidelity|units)_test.go' |
		xargs go test -vet=off -c -ldflags '-s -w' -o ../../../bin/asan/media.test)
	ldd bin/asan/vidfilter | awk '/lib(asan|ubsan|atomic|stdc|gcc_s)/ { print $3 }' | xargs cp -L -t bin/asan/lib
	VIDFILTER_PROGRAM=/bin/true VIDFILTER_SEEDS=$PWD/bin/asan/seeds bin/asan/media.test -test.run TestKeepSeeds
	cat >bin/asan/run.sh <<'EOF'
#!/bin/sh
# run.sh TRIES [PART/PARTS]
set -eu
cd "$(dirname "$0")"
export VIDFILTER_SANITIZE=1 VIDFILTER_PROGRAM="$PWD/vidfilter" VIDFILTER_SEEDS="$PWD/seeds" LD_LIBRARY_PATH="$PWD/lib"
export VIDFILTER_DAMAGE="$1" VIDFILTER_DAMAGE_PART="${2:-}"
exec nice -n 19 ./media.test -test.v -test.run TestRandomDamage
EOF
	chmod +x bin/asan/run.sh
	set -- bin/asan
	;;
*)
	echo "bundle.sh: no bundle $1: fuzz or asan" >&2
	exit 2
	;;
esac
# FFmpeg is in most of the programs: a large dictionary packs it once.
tar -c "$@" | xz -T1 --x86 --lzma2=preset=6,dict=200MiB >"$file"
ls -l "$file"
