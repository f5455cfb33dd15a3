#!/usr/bin/python3
"""Times the bilateral filter on the CPU beside OpenCV's bilateralFilter and FFmpeg's bilateral.

usage: scripts/rivals.py [RUNS [WIDTHxHEIGHT...]]     (default: 5 1920x1080 3840x2160)

The programs take turns, so that other load on the machine affects all of them alike, and the medians count.
What is missing is left out: bin/vidfilter is made by make, cv2 and numpy are Debian's python3-opencv.
"""
import json
import os
import statistics
import subprocess
import sys
import time

try:
    import cv2
    import numpy
except ImportError as missing:
    cv2 = None
    print("no OpenCV:", missing)

NOTES = """
ms is one frame, yuv420p planes to planes for ours, BGR to BGR for OpenCV. Windows differ: ours is the square of
(2r+1)^2 pixels, OpenCV's the circle in it (5, 13, 81 taps at r = 1, 2, 5). FFmpeg's filter is a recursive approximation
whose time does not grow with its sigma; its time is that of "ffmpeg -vf bilateral" over the same frames less that of
"-vf null". Ratios are over ours: above 1 we are faster."""


def ours(width, height, threads, radius):
    args = ["bin/vidfilter", "bench", "--only", "cpu", "--quick", "--json", "--device", "cpu", "--radius", str(radius)]
    env = dict(os.environ, GOMAXPROCS=str(threads))
    out = subprocess.run(args + ["--size", f"{width}x{height}"], env=env, check=True, stdout=subprocess.PIPE).stdout
    return next(row for row in json.loads(out)["cpu"]["rows"] if row["radius"] == radius)["cpu"]["median_ms"]


def opencv(frame, threads, radius):
    cv2.setNumThreads(threads)
    out, frames, start = numpy.empty_like(frame), 10 if radius < 3 else 3, time.perf_counter()
    for _ in range(frames):
        cv2.bilateralFilter(frame, 2 * radius + 1, 20, (radius + 1) / 2, out)
    return (time.perf_counter() - start) * 1000 / frames


def ffmpeg(width, height, threads, chain, frames=10):
    source = f"testsrc2=s={width}x{height}:r=10,format=yuv420p,trim=end_frame=1,loop=-1:1"
    args = ["ffmpeg", "-v", "error", "-filter_threads", str(threads), "-f", "lavfi", "-i", source, "-vf", chain]
    start = time.perf_counter()
    subprocess.run(args + ["-frames:v", str(frames), "-f", "null", "-"], check=True)
    return (time.perf_counter() - start) * 1000 / frames


def measure(runs, width, height, threads, radius):
    """Returns the medians of ours and of each rival that is installed."""
    rivals = {"ours": lambda: ours(width, height, threads, radius)}
    if cv2:
        frame = numpy.random.default_rng(1).integers(0, 256, (height, width, 3), numpy.uint8)
        rivals["OpenCV"] = lambda: opencv(frame, threads, radius)
    if radius == 1:
        theirs = "bilateral=sigmaS=1:sigmaR=0.08:planes=7"
        rivals["FFmpeg"] = lambda: ffmpeg(width, height, threads, theirs) - ffmpeg(width, height, threads, "null")
    times = {name: [] for name in rivals}
    for _ in range(runs):
        for name, run in rivals.items():
            times[name].append(run())
    return {name: statistics.median(all) for name, all in times.items()}


def main(runs="5", *sizes):
    for size in sizes or ("1920x1080", "3840x2160"):
        width, height = map(int, size.split("x"))
        print(f"\n{size}, {os.cpu_count()} cores\nthreads  r   ours ms   ns/tap  rivals: ms, ratio")
        for threads in sorted({1, os.cpu_count()}):
            for radius in (1, 2, 5):
                medians = measure(int(runs), width, height, threads, radius)
                mine = medians.pop("ours")
                taps = width * height * (2 * radius + 1) ** 2
                rivals = ", ".join(f"{name} {ms:.2f}, {ms / mine:.2f}" for name, ms in medians.items())
                print(f"{threads:7} {radius:2} {mine:9.3f} {mine * 1e6 / taps:8.4f}  {rivals}", flush=True)
    print(NOTES)


if __name__ == "__main__":
    main(*sys.argv[1:])
