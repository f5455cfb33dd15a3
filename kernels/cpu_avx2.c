// The filter in AVX2 with FMA: 8 pixels an instruction.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define VF_ISA_AVX2
#define VL 8
#define TILE vf_tile_avx2
#define FMA_RATE vf_fma_rate_avx2
#define ROWS vf_rows_avx2
#define COLUMNS vf_columns_avx2
#include "cpu_tile.h"
#include "cpu_recursive.h"
#endif
