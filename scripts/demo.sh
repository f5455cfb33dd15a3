#!/bin/sh
# Filters the sample, prints the results' paths, and compares them with the sample's clean twin.
set -eu
cd "$(dirname "$0")/.."
mkdir -p demo
vidfilter() { bin/vidfilter "$@"; }

vidfilter -i samples/noisy.mp4 -o demo/filtered.mp4 -y
vidfilter -i samples/noisy.mp4 -o demo/side-by-side.mp4 --compare side -y -q
vidfilter -i samples/noisy.mp4 -o demo/split.mkv --encoder ffv1 --compare split -y -q
vidfilter -i demo/split.mkv -o demo/before-after.jpg -r 0 --start 1 --frames 1 -y -q # between others in time
rm demo/split.mkv

before=$(vidfilter compare samples/clean.mp4 samples/noisy.mp4)
after=$(vidfilter compare samples/clean.mp4 demo/filtered.mp4)
echo
echo "against the clean twin of the sample:"
echo "  before  $before"
echo "  after   $after"
echo "$before $after" | awk '{ for (i = 1; i < NF; i++) if ($i == "PSNR") db[++n] = $(i + 1); printf "  gain    %.1f dB\n", db[2] - db[1] }'
echo
echo "the filtered video    demo/filtered.mp4"
echo "before beside after   demo/side-by-side.mp4"
echo "one picture of both   demo/before-after.jpg"
