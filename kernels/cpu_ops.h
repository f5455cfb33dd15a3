// The operations that GCC's vector extensions lack, for each instruction set. Included by
// cpu_vectors.h.
//
//   fmadd, fnmadd   a b + c, c - a b
//   fused           a b + c, rounded once
//   whole           a b, rounded once, to nearest, ties to even, for 0 <= a b < 2^22
//   reciprocal      1 / x to 12 bits or better
//   round_near      to nearest, ties to even, for |x| < 2^22
//   scale2          x 2^n for a whole n of -127 to 0
//   load_u8         VL bytes to floats; store_u8 whole numbers of 0 to 255 to VL bytes
//   rsqrt           1 / sqrt(x) to 12 bits or better, for a normal x above 0
//   load_u16, load_int_u16, store_u16   the same with 16 bits; store_u16 rounds and saturates
//   add_pairs       a0+a1, a2+a3, ... b0+b1, ...: neighbours' sums of 2 VL columns

#define MAGIC 12582912.0f // 1.5 * 2^23: floats are whole beyond 2^23

#ifdef VF_ISA_AVX512

INLINE vf fmadd(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf fused(vf a, vf b, vf c) { return fmadd(a, b, c); }
INLINE vf whole(vf a, vf b) { return fmadd(a, b, splat(MAGIC)) - MAGIC; }
INLINE vf fnmadd(vf a, vf b, vf c) { return (vf)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf reciprocal(vf x) { return (vf)_mm512_rcp14_ps((__m512)x); }
INLINE vf round_near(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vf scale2(vf x, vf n) { return (vf)_mm512_scalef_ps((__m512)x, (__m512)n); }
INLINE vi to_int(vf x) { return (vi)_mm512_cvttps_epi32((__m512)x); }
INLINE vf to_float(vi x) { return (vf)_mm512_cvtepi32_ps((__m512i)x); }
INLINE vf load_u8(const uint8_t *p) { return to_float((vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p))); }
INLINE void store_u8(uint8_t *p, vi x) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)x)); }
INLINE vf rsqrt(vf x) { return (vf)_mm512_rsqrt14_ps((__m512)x); }
INLINE vi load_int_u16(const void *p) { return (vi)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE vf load_u16(const uint16_t *p) { return to_float(load_int_u16(p)); }

INLINE void store_u16(void *p, vf x)
{
	__m512i whole = _mm512_cvtps_epi32((__m512)vmax(x, splat(0)));
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtusepi32_epi16(whole));
}

INLINE vf add_pairs(vf a, vf b)
{
	const vi even = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
	return (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)even, (__m512)b) +
	       (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)(even + 1), (__m512)b);
}

#elif defined VF_ISA_AVX2

INLINE vf fmadd(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf fused(vf a, vf b, vf c) { return fmadd(a, b, c); }
INLINE vf whole(vf a, vf b) { return fmadd(a, b, splat(MAGIC)) - MAGIC; }
INLINE vf fnmadd(vf a, vf b, vf c) { return (vf)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf reciprocal(vf x) { return (vf)_mm256_rcp_ps((__m256)x); }
INLINE vf round_near(vf x) { return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vi to_int(vf x) { return (vi)_mm256_cvttps_epi32((__m256)x); }
INLINE vf to_float(vi x) { return (vf)_mm256_cvtepi32_ps((__m256i)x); }
INLINE vf load_u8(const uint8_t *p) { return to_float((vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p))); }
INLINE vf scale2(vf x, vf n) { return (vf)((vi)x + (to_int(n) << 23)); }

INLINE void store_u8(uint8_t *p, vi x)
{
	__m128i words = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

INLINE vf rsqrt(vf x) { return (vf)_mm256_rsqrt_ps((__m256)x); }
INLINE vi load_int_u16(const void *p) { return (vi)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE vf load_u16(const uint16_t *p) { return to_float(load_int_u16(p)); }

INLINE void store_u16(void *p, vf x)
{
	__m256i whole = _mm256_cvtps_epi32((__m256)x);
	_mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1)));
}

INLINE vf add_pairs(vf a, vf b)
{
	__m256 sums = _mm256_hadd_ps((__m256)a, (__m256)b); // a0 a1 b0 b1 in units of two sums
	return (vf)_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(sums), 0xd8));
}

#else // any machine: left to the compiler

typedef double vd __attribute__((vector_size(8 * VL))); // in which a product of floats is exact

#define WIDE(x) __builtin_convertvector(x, vd)
INLINE vf fused(vf a, vf b, vf c) { return __builtin_convertvector(WIDE(a) * WIDE(b) + WIDE(c), vf); }

INLINE vf whole(vf a, vf b)
{
	const double magic = 6755399441055744; // 1.5 * 2^52
	return __builtin_convertvector((WIDE(a) * WIDE(b) + magic) - magic, vf);
}

INLINE vf fmadd(vf a, vf b, vf c) { return a * b + c; }
INLINE vf fnmadd(vf a, vf b, vf c) { return c - a * b; }
INLINE vf either(vi which, vf a, vf b) { return (vf)((which & (vi)a) | (~which & (vi)b)); }
INLINE vf vmin(vf a, vf b) { return either(a < b, a, b); }
INLINE vf vmax(vf a, vf b) { return either(a > b, a, b); }
INLINE vf reciprocal(vf x) { return 1 / x; }
INLINE vi to_int(vf x) { return __builtin_convertvector(x, vi); }
INLINE vf to_float(vi x) { return __builtin_convertvector(x, vf); }
INLINE vf scale2(vf x, vf n) { return (vf)((vi)x + (to_int(n) << 23)); }

INLINE vf round_near(vf x)
{
	return (x + MAGIC) - MAGIC;
}

INLINE vf load_u8(const uint8_t *p)
{
	vb bytes;
	memcpy(&bytes, p, sizeof bytes);
	return __builtin_convertvector(bytes, vf);
}

INLINE void store_u8(uint8_t *p, vi x)
{
	vb bytes = __builtin_convertvector(x, vb);
	memcpy(p, &bytes, sizeof bytes);
}

INLINE vf rsqrt(vf x)
{
	vf y = (vf)(0x5f3759df - ((vi)x >> 1)); // halve the exponent, then two Newton steps
	for (int i = 0; i < 2; i++) y = y * (1.5f - 0.5f * x * y * y);
	return y;
}

INLINE vi load_int_u16(const void *p)
{
	vh halves;
	memcpy(&halves, p, sizeof halves);
	return __builtin_convertvector(halves, vi);
}

INLINE vf load_u16(const uint16_t *p) { return to_float(load_int_u16(p)); }

INLINE void store_u16(void *p, vf x)
{
	vh halves = __builtin_convertvector(to_int(vmin(vmax(x, splat(0)), splat(65535)) + 0.5f), vh);
	memcpy(p, &halves, sizeof halves);
}

INLINE vf add_pairs(vf a, vf b)
{
	return __builtin_shuffle(a, b, (vi){0, 2, 4, 6}) + __builtin_shuffle(a, b, (vi){1, 3, 5, 7});
}

#endif
