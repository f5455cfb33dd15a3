// The same code for samples of two bytes.
#define SAMPLE_BITS 16
#include "avx512.c"
