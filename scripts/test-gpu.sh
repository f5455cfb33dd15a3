#!/bin/sh
# Tests and measures the GPU path on a real device: the tests of gpu, lab/papers, NVDEC and NVENC, the first on small pictures
# under compute-sanitizer's memcheck and racecheck, and vidfilter bench. It runs the programs built by `make test-gpu`,
# so it also works on a machine without Go. The report is kept under docs/measurements.
#   test-gpu.sh [BENCH-OPTION...]
set -eu
cd "$(dirname "$0")/.."
for f in bin/vidfilter bin/gpu.test bin/papers.test bin/job.test bin/clips/h264.mp4; do
	[ -s $f ] || { echo "test-gpu.sh: $f is missing: make test-gpu builds it" >&2; exit 1; }
done
PATH=$PATH:/usr/local/cuda/bin
if ! bin/vidfilter devices | grep '^cuda:0' >/dev/null; then
	bin/vidfilter devices >&2
	echo "test-gpu.sh: no GPU that could be tested" >&2
	exit 1
fi
device=$(bin/vidfilter devices | sed -n 's/^cuda:0 (\([^,]*\),.*/\1/p' | tr 'A-Z ' 'a-z-')
out=docs/measurements/$(date +%Y-%m-%d)-$device
mkdir -p docs/measurements
report=$out.txt
: >"$report"

failed=
step() { # step NAME COMMAND...: output goes to the report; a failure does not stop the rest
	name=$1
	shift
	echo "== $name" | tee -a "$report"
	if "$@" >"$out.step" 2>&1; then result=ok; else result="FAILED ($?)" failed="$failed $name;"; fi
	tail -n "${lines:-400}" "$out.step" >>"$report"
	echo "-- $name: $result" | tee -a "$report"
	rm -f "$out.step"
}

# Tests may be skipped only because they need the test driver.
conformance() {
	(export VIDFILTER_TEST_GPU=1
		cd gpu && ../bin/gpu.test -test.v -test.count=1 && cd ../lab/papers && ../../bin/papers.test -test.v -test.count=1 &&
		cd ../../internal/app/job && VIDFILTER_TEST_CLIPS=$PWD/../../../bin/clips VIDFILTER_PROGRAM=$PWD/../../../bin/vidfilter ../../../bin/job.test -test.v -test.count=1 -test.run 'NVDEC|NVENC|TestPartsInOrder|TestPartsOnTheirGPU|TestEncoderFailsInOrder') >"$out.tests" 2>&1 || { cat "$out.tests"; rm "$out.tests"; return 1; }
	grep -E '^(---|PASS|ok)' "$out.tests" | grep -v SKIP
	skipped=$(grep -c -- '--- SKIP' "$out.tests") known=$(grep -c 'only the test driver has' "$out.tests")
	echo "$skipped tests need faults, which only the test driver has"
	rm "$out.tests"
	[ "$skipped" = "$known" ]
}

sanitizer() { # sanitizer TOOL
	command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is missing: it comes with the CUDA toolkit"; return 1; }
	(cd gpu && VIDFILTER_TEST_GPU=1 compute-sanitizer --tool "$1" --error-exitcode 9 \
		../bin/gpu.test -test.run 'TestConform$|TestRecursive|TestDenoise$' -test.short -test.count=1)
}

{
	date -u '+date: %Y-%m-%d'
	echo "program: $(bin/vidfilter --version | sed -n 1p)"
	bin/vidfilter devices
	nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory --format=csv,noheader | sed 's/^/nvidia-smi: /'
	sed -n 's/^model name.*: /processor: /p' /proc/cpuinfo | sort | uniq -c
} | tee -a "$report"
step conformance conformance
step nvenc sh -c 'bin/vidfilter doctor --nvenc || [ $? = 5 ]' # 5: there is none
lines=20
step memcheck sanitizer memcheck
step racecheck sanitizer racecheck
lines=400
step bench bin/vidfilter bench -v "$@"
[ -z "$failed" ] || { echo "test-gpu.sh: failed:$failed see $report" >&2; exit 1; }
echo "the report is $report"
