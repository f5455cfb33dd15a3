// Package cpu is the deinterlacer's engine for the CPU, in C with AVX-512, AVX2 or the compiler's
// default vectors. Its pictures match [interlace.Reference] bit for bit.
//
// The C code is compiled for samples of 8 bits in one byte and of 9 to 16 bits in two bytes.
// [Engine.Prepare] copies the rows of a field to padded planes on the C heap.
package cpu
