"""Times OpenCV's bilateralFilter for the benchmark beside it.

usage: opencv.py WIDTH HEIGHT, with a yuv420p frame of that size as the first bytes of standard input, then
one line a measurement: "THREADS RADIUS SIGMA_R SIGMA_S FRAMES". Each is answered by the milliseconds of one frame.
The frame is turned into BGR once, outside the time.
"""
import sys
import time

import cv2
import numpy

width, height = int(sys.argv[1]), int(sys.argv[2])
raw = sys.stdin.buffer.read(width * height * 3 // 2)
frame = cv2.cvtColor(numpy.frombuffer(raw, numpy.uint8).reshape(height * 3 // 2, width), cv2.COLOR_YUV2BGR_I420)
out = numpy.empty_like(frame)
print(cv2.__version__, flush=True)
for line in sys.stdin.buffer:
    threads, radius, sigma_r, sigma_s, frames = line.split()
    cv2.setNumThreads(int(threads))
    start = time.perf_counter()
    for _ in range(int(frames)):
        cv2.bilateralFilter(frame, 2 * int(radius) + 1, float(sigma_r), float(sigma_s), out)
    print((time.perf_counter() - start) * 1000 / int(frames), flush=True)
