// Package kernels implements the filters: a plain Go reference that defines the correct result
// (Reference), and the fast CPU backend (NewCPU), which is within 1 level of it in every sample,
// equal in 99 % of them, and bit-equal for any number of threads. Samples of 9 to 16 bits have the
// bounds of kerneltest.Difference. GPU kernels are listed in Builtin.
//
// The CPU backend is C with GCC's vector extensions, compiled for each instruction set, for samples
// of one byte and of two, and chosen at run time: cpu_tile.h explains the idea, cpu_planes.h
// converts between samples and words, cpu_ops.h holds the operations that differ between the sets.
// recursive.go explains the recursive filter, cpu_recursive.h implements it. Package lab/papers
// holds the CPU programs of the papers (CPUVariants), and scripts/rivals.py measures the bilateral
// filter against OpenCV and FFmpeg.
package kernels
