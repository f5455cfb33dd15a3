// Package cpu makes the rows that fields lack on the CPU: C with the vectors of AVX-512, of AVX2,
// or of whatever the compiler has. [interlace.Reference] is its definition: samples agree exactly.
//
// The C code is compiled for samples of one byte and again for those of two, of 9 to 16 bits.
// [Engine.Prepare] copies the rows of a field into padded planes of the C heap.
package cpu
