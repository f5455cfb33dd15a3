// Vectors of VL floats. A vector holds rows of 8 coefficients: one row of a patch, or, where VL is
// 16, the same row of two patches.

typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));

enum { PAIR = VL / 8 }; // patches in a vector

// Loads and stores go through memcpy, which compiles to one unaligned move.
INLINE vf load(const float *p) { vf v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vi load_whole(const int32_t *p) { vi v; memcpy(&v, p, sizeof v); return v; }
INLINE vf splat(float x) { return x - (vf){}; }

// For each instruction set:
//
//   fmadd, fnmadd    a b + c, c - a b
//   reciprocal       1 / x to 11 bits or better: enough for weights, and for means of differences
//   nearest          to whole numbers, ties to even
//   to_whole         to whole numbers, towards 0
//   load_row         8 floats, for each patch the same
//   load_samples     8 samples of each patch, from places of their own
//   load_wide        VL samples side by side
//   load_words       VL words to floats
//   store_words, store_bytes   whole numbers in the range of each
//   per_patch        a number for each patch
//   sum_rows         the sum of each row of 8, in all of its places
//   sum_quads        the sum of each four, in all of their places
//   sum_around       the sum of each place with those beside it in its row of 8
//   sum_beside       the same from memory, since loads cost less; zeros are beside rows if VL is 8
//   transpose        rows of 8 become columns
//   any_above        whether any number is above a bound
//   add_row          adds whole numbers of one patch to 8 sums

#ifdef VD_ISA_AVX512

INLINE vf fmadd(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf fnmadd(vf a, vf b, vf c) { return (vf)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf reciprocal(vf x) { return (vf)_mm512_rcp14_ps((__m512)x); }
INLINE vi nearest(vf x) { return (vi)_mm512_cvtps_epi32((__m512)x); }
INLINE vf to_float(vi x) { return (vf)_mm512_cvtepi32_ps((__m512i)x); }
INLINE vi to_whole(vf x) { return (vi)_mm512_cvttps_epi32((__m512)x); }
INLINE void store_words(uint16_t *p, vi x) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)x)); }
INLINE vf load_words(const uint16_t *p) { return to_float((vi)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p))); }
INLINE vf load_row(const float *p) { return (vf)_mm512_broadcast_f32x8(_mm256_loadu_ps(p)); }

INLINE void store_bytes(uint8_t *p, vi x) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)x)); }

#if SAMPLE_BITS == 8

INLINE vf from_bytes(__m128i b) { return (vf)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(b)); }
INLINE vf load_wide(const sample *p) { return from_bytes(_mm_loadu_si128((const __m128i *)p)); }

INLINE vf load_samples(const sample *const *p, ptrdiff_t offset)
{
	__m128i a = _mm_loadl_epi64((const __m128i *)(p[0] + offset));
	__m128i b = _mm_loadl_epi64((const __m128i *)(p[1] + offset));
	return from_bytes(_mm_unpacklo_epi64(a, b));
}

#else

INLINE vf load_samples(const sample *const *p, ptrdiff_t offset)
{
	__m256i a = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p[0] + offset)));
	__m256i both = _mm256_inserti128_si256(a, _mm_loadu_si128((const __m128i *)(p[1] + offset)), 1);
	return to_float((vi)_mm512_cvtepu16_epi32(both));
}

#endif

INLINE vf per_patch(const float *f)
{
	return (vf)_mm512_insertf32x8(_mm512_set1_ps(f[0]), _mm256_set1_ps(f[1]), 1);
}

INLINE vf sum_quads(vf x)
{
	__m512 s = (__m512)x;
	s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xb1));
	return (vf)_mm512_add_ps(s, _mm512_permute_ps(s, 0x4e));
}

INLINE vf swap_quads(vf x) { return (vf)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0xb1); }
INLINE vf sum_rows(vf x) { return sum_quads(x + swap_quads(x)); }

INLINE vf sum_around(vf x)
{
	const __m512i up = _mm512_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6, 8, 8, 9, 10, 11, 12, 13, 14);
	const __m512i down = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7, 9, 10, 11, 12, 13, 14, 15, 15);
	vf before = (vf)_mm512_maskz_permutexvar_ps(0xfefe, up, (__m512)x);
	vf after = (vf)_mm512_maskz_permutexvar_ps(0x7f7f, down, (__m512)x);
	return before + x + after;
}

INLINE vf sum_beside(const float *p)
{
	__m512 x = _mm512_loadu_ps(p);
	x = _mm512_mask_add_ps(x, 0xfefe, x, _mm512_loadu_ps(p - 1));
	return (vf)_mm512_mask_add_ps(x, 0x7f7f, x, _mm512_loadu_ps(p + 1));
}

INLINE __m512 lo4(__m512 a, __m512 b) // the lower quads of each row of 8
{
	const __m512i i = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
	return _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(a), i, _mm512_castps_pd(b)));
}

INLINE __m512 hi4(__m512 a, __m512 b)
{
	const __m512i i = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	return _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(a), i, _mm512_castps_pd(b)));
}

#define REGISTER __m512
#define UNPACK_LO _mm512_unpacklo_ps
#define UNPACK_HI _mm512_unpackhi_ps
#define SHUFFLE _mm512_shuffle_ps

INLINE int any_above(vf x, float bound)
{
	return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(bound), _CMP_GT_OQ) != 0;
}

INLINE void add_row(int32_t *sum, vi x, int patch)
{
	__m256i part = patch ? _mm512_extracti32x8_epi32((__m512i)x, 1) : _mm512_castsi512_si256((__m512i)x);
	__m256i *at = (__m256i *)sum;
	_mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), part));
}

#elif defined VD_ISA_AVX2

INLINE vf fmadd(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf fnmadd(vf a, vf b, vf c) { return (vf)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf reciprocal(vf x) { return (vf)_mm256_rcp_ps((__m256)x); }
INLINE vi nearest(vf x) { return (vi)_mm256_cvtps_epi32((__m256)x); }
INLINE vf to_float(vi x) { return (vf)_mm256_cvtepi32_ps((__m256i)x); }
INLINE vi to_whole(vf x) { return (vi)_mm256_cvttps_epi32((__m256)x); }

INLINE __m128i words_of(vi x)
{
	return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
}

INLINE void store_words(uint16_t *p, vi x) { _mm_storeu_si128((__m128i *)p, words_of(x)); }
INLINE vf load_words(const uint16_t *p) { return to_float((vi)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p))); }
INLINE vf load_row(const float *p) { return load(p); }

INLINE void store_bytes(uint8_t *p, vi x)
{
	__m128i words = words_of(x);
	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

#if SAMPLE_BITS == 8

INLINE vf load_wide(const sample *p)
{
	return (vf)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

#endif

INLINE vf per_patch(const float *f) { return splat(f[0]); }

INLINE vf sum_quads(vf x)
{
	__m256 s = (__m256)x;
	s = _mm256_add_ps(s, _mm256_permute_ps(s, 0xb1));
	return (vf)_mm256_add_ps(s, _mm256_permute_ps(s, 0x4e));
}

INLINE vf swap_quads(vf x) { return (vf)_mm256_permute2f128_ps((__m256)x, (__m256)x, 1); }
INLINE vf sum_rows(vf x) { return sum_quads(x + swap_quads(x)); }

INLINE vf sum_around(vf x)
{
	__m256i v = (__m256i)x;
	__m256i low = _mm256_permute2x128_si256(v, v, 0x08);  // zeros, the lower quad
	__m256i high = _mm256_permute2x128_si256(v, v, 0x81); // the upper quad, zeros
	return (vf)_mm256_alignr_epi8(v, low, 12) + x + (vf)_mm256_alignr_epi8(high, v, 4);
}

INLINE __m256 lo4(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x20); }
INLINE __m256 hi4(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x31); }

#define REGISTER __m256
#define UNPACK_LO _mm256_unpacklo_ps
#define UNPACK_HI _mm256_unpackhi_ps
#define SHUFFLE _mm256_shuffle_ps

INLINE int any_above(vf x, float bound)
{
	return _mm256_movemask_ps(_mm256_cmp_ps((__m256)x, _mm256_set1_ps(bound), _CMP_GT_OQ)) != 0;
}

INLINE void add_row(int32_t *sum, vi x, int patch)
{
	(void)patch;
	__m256i *at = (__m256i *)sum;
	_mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), (__m256i)x));
}

#else // any machine: left to the compiler

INLINE vf fmadd(vf a, vf b, vf c) { return a * b + c; }
INLINE vf fnmadd(vf a, vf b, vf c) { return c - a * b; }
INLINE vf either(vi which, vf a, vf b) { return (vf)((which & (vi)a) | (~which & (vi)b)); }
INLINE vf vmin(vf a, vf b) { return either(a < b, a, b); }
INLINE vf vmax(vf a, vf b) { return either(a > b, a, b); }
INLINE vf reciprocal(vf x) { return 1 / x; }
INLINE vf to_float(vi x) { return __builtin_convertvector(x, vf); }
INLINE vi to_whole(vf x) { return __builtin_convertvector(x, vi); }
INLINE void store_words(uint16_t *p, vi x) { for (int i = 0; i < VL; i++) p[i] = x[i]; }

INLINE vf load_words(const uint16_t *p)
{
	float row[VL];
	for (int i = 0; i < VL; i++) row[i] = p[i];
	return load(row);
}

INLINE vf load_row(const float *p) { return load(p); }

INLINE vi nearest(vf x) // of less than 2^31, away from zero in a tie
{
	vi sign = (vi)x & INT32_MIN;
	return __builtin_convertvector(x + (vf)(sign | (vi)splat(0.5f)), vi);
}

INLINE void store_bytes(uint8_t *p, vi x) { for (int i = 0; i < VL; i++) p[i] = x[i]; }

#if SAMPLE_BITS == 8

INLINE vf load_wide(const sample *p)
{
	float row[VL];
	for (int i = 0; i < VL; i++) row[i] = p[i];
	return load(row);
}

#endif

INLINE vf per_patch(const float *f) { return splat(f[0]); }

// Places are moved in quads, which most machines have; of vectors that a machine does not have, the
// compiler would move them one by one.
typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_places __attribute__((vector_size(16)));
typedef struct { quad low, high; } quads;

INLINE quads split(vf x) { quads q; memcpy(&q, &x, sizeof q); return q; }
INLINE vf join(quad low, quad high) { quads q = {low, high}; vf x; memcpy(&x, &q, sizeof x); return x; }

INLINE quad sum_quad(quad x)
{
	x += __builtin_shuffle(x, (quad_places){1, 0, 3, 2});
	return x + __builtin_shuffle(x, (quad_places){2, 3, 0, 1});
}

INLINE vf sum_quads(vf x)
{
	quads q = split(x);
	return join(sum_quad(q.low), sum_quad(q.high));
}

INLINE vf sum_rows(vf x)
{
	quads q = split(x);
	quad sum = sum_quad(q.low + q.high);
	return join(sum, sum);
}

INLINE vf sum_around(vf x)
{
	const quad_places up = {3, 4, 5, 6}, down = {1, 2, 3, 4};
	quad none = {0};
	quads q = split(x);
	quad low = q.low + __builtin_shuffle(none, q.low, up) + __builtin_shuffle(q.low, q.high, down);
	quad high = q.high + __builtin_shuffle(q.low, q.high, up) + __builtin_shuffle(q.high, none, down);
	return join(low, high);
}

INLINE void transpose_quads(quad r[4])
{
	const quad_places low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, left = {0, 1, 4, 5}, right = {2, 3, 6, 7};
	quad a = __builtin_shuffle(r[0], r[1], low), b = __builtin_shuffle(r[2], r[3], low);
	quad c = __builtin_shuffle(r[0], r[1], high), d = __builtin_shuffle(r[2], r[3], high);
	r[0] = __builtin_shuffle(a, b, left), r[1] = __builtin_shuffle(a, b, right);
	r[2] = __builtin_shuffle(c, d, left), r[3] = __builtin_shuffle(c, d, right);
}

INLINE void transpose(vf r[8])
{
	quad part[4][4]; // upper left, upper right, lower left, lower right
	for (int i = 0; i < 8; i++) {
		quads q = split(r[i]);
		part[i / 4 * 2][i % 4] = q.low, part[i / 4 * 2 + 1][i % 4] = q.high;
	}
	for (int i = 0; i < 4; i++) transpose_quads(part[i]);
	for (int i = 0; i < 4; i++) {
		r[i] = join(part[0][i], part[2][i]);
		r[i + 4] = join(part[1][i], part[3][i]);
	}
}

INLINE int any_above(vf x, float bound)
{
	int any = 0;
	for (int i = 0; i < VL; i++) any |= x[i] > bound;
	return any;
}

INLINE void add_row(int32_t *sum, vi x, int patch)
{
	(void)patch;
	vi v;
	memcpy(&v, sum, sizeof v);
	v += x;
	memcpy(sum, &v, sizeof v);
}

#endif

#if SAMPLE_BITS == 16
INLINE vf load_wide(const sample *p) { return load_words(p); }
#endif

#if VL == 8
INLINE vf sum_beside(const float *p) { return load(p - 1) + load(p) + load(p + 1); }
INLINE vf load_samples(const sample *const *p, ptrdiff_t offset) { return load_wide(p[0] + offset); }
#endif

#ifdef REGISTER
INLINE void transpose(vf r[8])
{
	REGISTER t[8], q[8];
	for (int i = 0; i < 8; i += 2) {
		t[i] = UNPACK_LO((REGISTER)r[i], (REGISTER)r[i + 1]);
		t[i + 1] = UNPACK_HI((REGISTER)r[i], (REGISTER)r[i + 1]);
	}
	for (int i = 0; i < 8; i += 4) { // quads of four rows: columns i and i + 4
		q[i] = SHUFFLE(t[i], t[i + 2], 0x44), q[i + 1] = SHUFFLE(t[i], t[i + 2], 0xee);
		q[i + 2] = SHUFFLE(t[i + 1], t[i + 3], 0x44), q[i + 3] = SHUFFLE(t[i + 1], t[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++) {
		r[i] = (vf)lo4(q[i], q[i + 4]);
		r[i + 4] = (vf)hi4(q[i], q[i + 4]);
	}
}
#endif

// 2^x for x of at most 0: a polynomial for the fraction (relative error 3e-06), the bits for the
// exponent.
INLINE vf exp2_neg(vf x)
{
	x = vmax(x, splat(-126));
	vi n = nearest(x - 0.5f); // floor, or one less for whole x: the fraction is then 1
	vf f = x - to_float(n);
	vf p = fmadd(splat(0.0135341676f), f, splat(0.0520114612f));
	p = fmadd(p, f, splat(0.241442757f));
	p = fmadd(p, f, splat(0.693003835f));
	p = fmadd(p, f, splat(1.00000259f));
	return p * (vf)((n + 127) << 23);
}

// log2 of x of at least 1, with an error of 2e-05: the exponent, and of the mantissa m the series
// of artanh((m - 1) / (m + 1)).
INLINE vf log2_of(vf x)
{
	vi exponent = ((vi)x >> 23) - 127;
	vf m = (vf)(((vi)x & 0x7fffff) | 0x3f800000);
	vf s = (m - 1) / (m + 1), q = s * s;
	vf series = fmadd(fmadd(fmadd(q, splat(1.0f / 7), splat(1.0f / 5)), q, splat(1.0f / 3)), q, splat(1));
	return fmadd(series * s, splat(2.88539008f), to_float(exponent));
}
