#!/bin/sh
# Runs each fuzz target of the tree for a time, side by side and at the lowest priority. An input that fails is kept in
# the package's testdata, where `go test` tries it from then on. Inputs that reach new code are kept in bin/fuzz/corpus,
# and the next run goes on from them.
#   fuzz.sh build            compile the targets into bin/fuzz
#   fuzz.sh TIME [NAME...]   run all, or those whose name has one of these words in it; needs no Go
#   JOBS=N                   run N at once instead of one on each core
set -eu
cd "$(dirname "$0")/.."
fuzz=$PWD/bin/fuzz

case ${1:-} in
build)
	rm -f "$fuzz/targets"
	mkdir -p "$fuzz"
	grep -rEo '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed 's|^\./||; s|/[^/]*:func |:|' | sort >"$fuzz/targets.new"
	cut -d: -f1 "$fuzz/targets.new" | uniq | while read -r folder; do
		mkdir -p "$(dirname "$fuzz/$folder")"
		go test -vet=off -fuzz . -c -ldflags '-s -w' -o "$fuzz/$folder.test" "./$folder"
	done
	mv "$fuzz/targets.new" "$fuzz/targets"
	exit
	;;
--one) # TIME FOLDER:NAME
	folder=${3%:*} name=${3#*:}
	log=$fuzz/log/$(echo "$folder" | tr / -)-$name
	mkdir -p "$folder" # not in a bundle
	cd "$folder"
	result=ok
	nice -n 19 "$fuzz/$folder.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$2" -test.parallel 1 -test.fuzzminimizetime 5s \
		-test.fuzzcachedir "$fuzz/corpus/$folder" >"$log" 2>&1 || result="FAILED, see $log"
	last=$(grep '^fuzz: elapsed' "$log" | tail -n 1)
	echo "$folder $name: ${last#fuzz: }: $result"
	[ "$result" = ok ]
	exit
	;;
esac

[ -n "${1:-}" ] || { echo "usage: fuzz.sh build | TIME [NAME...]" >&2; exit 2; }
[ -s "$fuzz/targets" ] || { echo "fuzz.sh: no programs in bin/fuzz: \`fuzz.sh build\` makes them" >&2; exit 1; }
time=$1
shift
mkdir -p "$fuzz/log"
names=$(echo "${*:-.}" | tr ' ' '|')
grep -E ":.*($names)" "$fuzz/targets" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$time" ||
	{ echo "fuzz.sh: some targets failed" >&2; exit 1; }
