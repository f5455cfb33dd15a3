#!/bin/sh
# Runs each fuzz target of the tree for a time, one after the other. An input that fails is kept in the package's
# testdata, where `go test` tries it from then on.
#   fuzz.sh TIME [NAME...]
set -eu
cd "$(dirname "$0")/.."
time=$1
shift
names=$(echo "${*:-Fuzz}" | tr ' ' '|')
failed=
targets=$(grep -rEo '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed 's|/[^/]*:func |:|' | grep -E "$names")
for at in $targets; do
	folder=${at%:*} name=${at#*:}
	echo "== $name of $folder, $time"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$folder" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "fuzz.sh: failed:$failed" >&2; exit 1; }
