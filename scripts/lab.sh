#!/bin/sh
# Runs the papers' experiments on this machine, on its GPU if there is one, and keeps the results under
# docs/measurements: DATE-DEVICE-lab.json, and a plot of each experiment in the folder DATE-DEVICE-lab. It runs
# bin/vidfilter as built by `make lab`, so it also works on a machine without Go. The plots need python3-matplotlib.
#   lab.sh [LAB-OPTION...]    such as --quick, --paper 004, --device cpu
set -eu
cd "$(dirname "$0")/.."
[ -x bin/vidfilter ] || { echo "lab.sh: bin/vidfilter is missing: make lab builds it" >&2; exit 1; }

results=docs/measurements
mkdir -p $results
work=$(mktemp -d $results/.lab.XXXXXX) # beside the results, so that they can be renamed
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$work"
bin/vidfilter lab "$@" --json >"$work/report"
bin/vidfilter lab --from "$work/report" >"$work/tables" # some options print something other than a report

# Named after the device that was measured.
device=$(sed -n '/^    "gpu": {/{n;s/^ *"name": "\(.*\)",$/\1/p;q}' "$work/report" | tr 'A-Z /' 'a-z--')
out=$results/$(date +%Y-%m-%d)-${device:-cpu}-lab
rm -rf "$out"
mv "$work/report" "$out.json"
cat "$work/tables"
echo
echo "the report is $out.json"
if /usr/bin/python3 -c "import matplotlib" 2>/dev/null; then scripts/plot.py "$out.json" "$out" && echo "the plots are in $out"; fi
echo "the tables of docs/lab.md: bin/vidfilter lab --from $out.json --markdown"
