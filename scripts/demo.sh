#!/bin/sh
# Filters the sample, prints the results' paths, and compares them with the sample's clean twin.
set -eu
cd "$(dirname "$0")/.."
mkdir -p demo
vidfilter() { bin/vidfilter "$@"; }

vidfilter -i samples/noisy.mp4 -o demo/filtered.mp4 -r 3 -y
vidfilter -i samples/noisy.mp4 -o demo/side-by-side.mp4 -r 3 --compare side -y -q
vidfilter -i samples/noisy.mp4 -o demo/before-after.jpg -r 3 --compare split --start 1 --frames 1 -y -q

echo
echo "against the clean twin of the sample:"
echo "  before  $(vidfilter compare samples/clean.mp4 samples/noisy.mp4)"
echo "  after   $(vidfilter compare samples/clean.mp4 demo/filtered.mp4)"
echo
echo "the filtered video    demo/filtered.mp4"
echo "before beside after   demo/side-by-side.mp4"
echo "one picture of both   demo/before-after.jpg"
