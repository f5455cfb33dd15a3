// Package kernels holds the filters: a plain Go reference that defines correct (Reference), and the fast CPU
// backend that is held against it (NewCPU): at most 1 level apart in any sample, equal in 99 % of them, and
// bit-equal for any number of threads.
//
// The CPU backend is C with GCC's vector extensions, compiled for each instruction set and chosen at run
// time: cpu_tile.h tells the idea, cpu_planes.h makes words of samples and samples of words, cpu_ops.h holds
// what differs between the sets. The recursive filter is told in recursive.go and done in cpu_recursive.h. kernels/bench measures
// the bilateral against OpenCV and FFmpeg. Beside it are the papers' own CPU programs (CPUVariants), to be read and measured.
package kernels
