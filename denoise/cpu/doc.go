// Package cpu is the denoiser's form for the CPU, in C with the vectors of AVX-512, of AVX2, or the
// compiler's own. [denoise.Reference] is its definition: vectors agree with it exactly, samples
// within 1 level in 99.9 % and within 2 everywhere, from 11 bits on in levels of 10 bits. The same
// instruction set gives the same bits for any number of threads.
//
// The second pass computes with whole numbers of 16 bits: the samples' differences from the pilot
// and their coefficients, in a unit that follows the noise. All else are floats.
//
// The C code is compiled for samples of one byte and again for two bytes, of 9 to 16 bits, except
// the search, which compares bytes.
//
// [Engine.Prepare] copies a frame, or one field of it, into padded planes. Other inputs of the
// search and the passes are made when first needed and kept with the frame, since up to 13 windows
// read it. All large memory is of the C heap and is used again for frames of the same size.
//
// The work is cut into rows of cells in the search and into strips of patch rows in the passes. A
// strip adds up its patches in memory of its own, in 32-bit integers; where two strips overlap,
// both leave their sums, which are added and finished at the end.
package cpu
