// Package gpu is the CUDA backend: devices, pinned memory, and the filter that overlaps copies with
// kernels. The program starts without a driver. The first call of this package loads it.
package gpu
