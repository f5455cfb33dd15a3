// Vectors of 2 VL whole numbers of 16 bits, and the transforms of them. Sums that do not fit are
// cut off; products are rounded, in the unit of 1 << 15.
//
// A quad is 8 numbers, the part of a vector that places are moved in. A vector holds PAIR rows of
// patches of 16x16, in two quads each.

typedef int16_t vw __attribute__((vector_size(4 * VL)));
typedef uint16_t vw_unsigned __attribute__((vector_size(4 * VL)));

INLINE vw load_vw(const void *p) { vw v; memcpy(&v, p, sizeof v); return v; }
INLINE void store_vw(void *p, vw v) { memcpy(p, &v, sizeof v); }
INLINE vw splat_vw(int x) { return (int16_t)x - (vw){}; }

// For each instruction set:
//
//   plus, minus      a + b, a - b
//   times            a b
//   square_pairs     a[2i]^2 + a[2i+1]^2, in 32 bits
//   load_shorts      VL numbers to floats
//   add_tap          (a + b) factor, in 32 bits, of the lower or the upper half of each quad
//   pack_words       the numbers of both halves in 16 bits
//   load_rows        16 samples of each of PAIR patches
//   load_row16       16 numbers of memory, for each patch the same
//   groups16         places 0, 2, 4, 6, each four times, from the lower or the upper vf
//   sum_frames       the sum of the rows of 8, in both, where there are two
//   double_words     the lower words of a vi, each twice
//   unpack_low, unpack_high   the lower or the upper halves of two quads, in turn
//   swap_pairs, first_of_quad, second_pair   floats 1, 0, 3, 2 of each four; 0, 0, 0, 0; 2, 2, 2, 2
//   join_pairs       the first two of each four of a, and of b
//   first_from       the first of each eight of a, and the rest of b
//   swap_squares     the upper quad of each 16 of a for the lower one of b

#ifdef VD_ISA_AVX512

INLINE vw plus(vw a, vw b) { return (vw)_mm512_adds_epi16((__m512i)a, (__m512i)b); }
INLINE vw minus(vw a, vw b) { return (vw)_mm512_subs_epi16((__m512i)a, (__m512i)b); }
INLINE vw times(vw a, vw b) { return (vw)_mm512_mulhrs_epi16((__m512i)a, (__m512i)b); }
INLINE vw vw_max(vw a, vw b) { return (vw)_mm512_max_epi16((__m512i)a, (__m512i)b); }
INLINE vw vw_min(vw a, vw b) { return (vw)_mm512_min_epi16((__m512i)a, (__m512i)b); }
INLINE vi square_pairs(vw a) { return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)a); }

INLINE vw double_words(vi a)
{
	return (vw)_mm512_shuffle_epi8((__m512i)a, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13)));
}

INLINE vi add_tap(vw a, vw b, int factor, int high)
{
	__m512i pairs = high ? _mm512_unpackhi_epi16((__m512i)a, (__m512i)b) : _mm512_unpacklo_epi16((__m512i)a, (__m512i)b);
	return (vi)_mm512_madd_epi16(pairs, _mm512_set1_epi16(factor));
}

INLINE vw pack_words(vi low, vi high) { return (vw)_mm512_packs_epi32((__m512i)low, (__m512i)high); }
INLINE vf load_shorts(const int16_t *p) { return to_float((vi)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p))); }

#if SAMPLE_BITS == 8
INLINE vw load_rows(const sample *const *p, ptrdiff_t offset)
{
	return (vw)_mm512_cvtepu8_epi16(_mm256_set_m128i(_mm_loadu_si128((const __m128i *)(p[1] + offset)), _mm_loadu_si128((const __m128i *)(p[0] + offset))));
}
#else
INLINE vw load_rows(const sample *const *p, ptrdiff_t offset)
{
	__m512i a = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(p[0] + offset)));
	return (vw)_mm512_inserti64x4(a, _mm256_loadu_si256((const __m256i *)(p[1] + offset)), 1);
}
#endif
INLINE vw load_row16(const void *p) { return (vw)_mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p)); }
INLINE vf groups16(vf x, int half) { (void)half; return (vf)_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6), (__m512)x); }
INLINE vf sum_frames(vf x) { return x + (vf)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0x4e); }

INLINE vf swap_pairs(vf x) { return (vf)_mm512_permute_ps((__m512)x, 0xb1); }
INLINE vf first_of_quad(vf x) { return (vf)_mm512_permute_ps((__m512)x, 0x00); }
INLINE vi join_pairs(vi a, vi b) { return (vi)SHUFFLE((REGISTER)a, (REGISTER)b, 0x44); }
INLINE vf second_pair(vf x) { return (vf)_mm512_permute_ps((__m512)x, 0xaa); }
INLINE vi first_from(vi a, vi b) { return (vi)_mm512_mask_blend_epi32(0x0101, (__m512i)b, (__m512i)a); }

INLINE vw unpack_low(vw a, vw b) { return (vw)_mm512_unpacklo_epi16((__m512i)a, (__m512i)b); }
INLINE vw unpack_high(vw a, vw b) { return (vw)_mm512_unpackhi_epi16((__m512i)a, (__m512i)b); }

INLINE void swap_squares(vw *a, vw *b) // of two rows of two quads: the second of a, the first of b
{
	const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), right = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	__m512i x = (__m512i)*a, y = (__m512i)*b;
	*a = (vw)_mm512_permutex2var_epi64(x, left, y), *b = (vw)_mm512_permutex2var_epi64(x, right, y);
}

#elif defined VD_ISA_AVX2

INLINE vw plus(vw a, vw b) { return (vw)_mm256_adds_epi16((__m256i)a, (__m256i)b); }
INLINE vw minus(vw a, vw b) { return (vw)_mm256_subs_epi16((__m256i)a, (__m256i)b); }
INLINE vw times(vw a, vw b) { return (vw)_mm256_mulhrs_epi16((__m256i)a, (__m256i)b); }
INLINE vw vw_max(vw a, vw b) { return (vw)_mm256_max_epi16((__m256i)a, (__m256i)b); }
INLINE vw vw_min(vw a, vw b) { return (vw)_mm256_min_epi16((__m256i)a, (__m256i)b); }
INLINE vi square_pairs(vw a) { return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)a); }

INLINE vw double_words(vi a)
{
	return (vw)_mm256_shuffle_epi8((__m256i)a, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13)));
}

INLINE vi add_tap(vw a, vw b, int factor, int high)
{
	__m256i pairs = high ? _mm256_unpackhi_epi16((__m256i)a, (__m256i)b) : _mm256_unpacklo_epi16((__m256i)a, (__m256i)b);
	return (vi)_mm256_madd_epi16(pairs, _mm256_set1_epi16(factor));
}

INLINE vw pack_words(vi low, vi high) { return (vw)_mm256_packs_epi32((__m256i)low, (__m256i)high); }
INLINE vf load_shorts(const int16_t *p) { return to_float((vi)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p))); }

#if SAMPLE_BITS == 8
INLINE vw load_rows(const sample *const *p, ptrdiff_t offset) { return (vw)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p[0] + offset))); }
#else
INLINE vw load_rows(const sample *const *p, ptrdiff_t offset) { return (vw)_mm256_loadu_si256((const __m256i *)(p[0] + offset)); }
#endif
INLINE vw load_row16(const void *p) { return (vw)_mm256_loadu_si256((const __m256i *)p); }
INLINE vf groups16(vf x, int half)
{
	const __m256i low = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2), high = _mm256_setr_epi32(4, 4, 4, 4, 6, 6, 6, 6);
	return (vf)_mm256_permutevar8x32_ps((__m256)x, half ? high : low);
}
INLINE vf sum_frames(vf x) { return x; }

INLINE vf swap_pairs(vf x) { return (vf)_mm256_permute_ps((__m256)x, 0xb1); }
INLINE vf first_of_quad(vf x) { return (vf)_mm256_permute_ps((__m256)x, 0x00); }
INLINE vi join_pairs(vi a, vi b) { return (vi)SHUFFLE((REGISTER)a, (REGISTER)b, 0x44); }
INLINE vf second_pair(vf x) { return (vf)_mm256_permute_ps((__m256)x, 0xaa); }
INLINE vi first_from(vi a, vi b) { return (vi)_mm256_blend_epi32((__m256i)b, (__m256i)a, 0x01); }

INLINE vw unpack_low(vw a, vw b) { return (vw)_mm256_unpacklo_epi16((__m256i)a, (__m256i)b); }
INLINE vw unpack_high(vw a, vw b) { return (vw)_mm256_unpackhi_epi16((__m256i)a, (__m256i)b); }

INLINE void swap_squares(vw *a, vw *b)
{
	__m256i x = (__m256i)*a, y = (__m256i)*b;
	*a = (vw)_mm256_permute2x128_si256(x, y, 0x20), *b = (vw)_mm256_permute2x128_si256(x, y, 0x31);
}

#else // any machine: most have quads

typedef int16_t words_quad __attribute__((vector_size(16)));
typedef int32_t whole_quad __attribute__((vector_size(16)));
typedef struct { words_quad low, high; } words_quads;
typedef struct { whole_quad low, high; } whole_quads;

INLINE words_quads split_words(vw x) { words_quads q; memcpy(&q, &x, sizeof q); return q; }
INLINE vw join_words(words_quad low, words_quad high) { words_quads q = {low, high}; vw x; memcpy(&x, &q, sizeof x); return x; }
INLINE vi join_whole(whole_quad low, whole_quad high) { whole_quads q = {low, high}; vi x; memcpy(&x, &q, sizeof x); return x; }

#ifdef __aarch64__
INLINE words_quad plus_quad(words_quad a, words_quad b) { return (words_quad)vqaddq_s16((int16x8_t)a, (int16x8_t)b); }
INLINE words_quad minus_quad(words_quad a, words_quad b) { return (words_quad)vqsubq_s16((int16x8_t)a, (int16x8_t)b); }
INLINE words_quad times_quad(words_quad a, words_quad b) { return (words_quad)vqrdmulhq_s16((int16x8_t)a, (int16x8_t)b); }
INLINE words_quad pack_quad(whole_quad a, whole_quad b) { return (words_quad)vcombine_s16(vqmovn_s32((int32x4_t)a), vqmovn_s32((int32x4_t)b)); }

INLINE whole_quad multiply_pairs(words_quad a, words_quad b)
{
	int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
	return (whole_quad)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#elif defined __SSE2__
INLINE words_quad plus_quad(words_quad a, words_quad b) { return (words_quad)_mm_adds_epi16((__m128i)a, (__m128i)b); }
INLINE words_quad minus_quad(words_quad a, words_quad b) { return (words_quad)_mm_subs_epi16((__m128i)a, (__m128i)b); }
INLINE words_quad pack_quad(whole_quad a, whole_quad b) { return (words_quad)_mm_packs_epi32((__m128i)a, (__m128i)b); }
INLINE whole_quad multiply_pairs(words_quad a, words_quad b) { return (whole_quad)_mm_madd_epi16((__m128i)a, (__m128i)b); }

INLINE words_quad times_quad(words_quad a, words_quad b)
{
	__m128i high = _mm_mulhi_epi16((__m128i)a, (__m128i)b), low = _mm_srli_epi16(_mm_mullo_epi16((__m128i)a, (__m128i)b), 14);
	return (words_quad)_mm_add_epi16(_mm_add_epi16(high, high), _mm_avg_epu16(low, _mm_setzero_si128()));
}
#else
INLINE int16_t cut_word(int32_t x) { return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x; }

INLINE words_quad plus_quad(words_quad a, words_quad b)
{
	for (int i = 0; i < 8; i++) a[i] = cut_word(a[i] + b[i]);
	return a;
}

INLINE words_quad minus_quad(words_quad a, words_quad b)
{
	for (int i = 0; i < 8; i++) a[i] = cut_word(a[i] - b[i]);
	return a;
}

INLINE words_quad times_quad(words_quad a, words_quad b)
{
	for (int i = 0; i < 8; i++) a[i] = (a[i] * b[i] + (1 << 14)) >> 15;
	return a;
}

INLINE words_quad pack_quad(whole_quad a, whole_quad b)
{
	words_quad out;
	for (int i = 0; i < 4; i++) out[i] = cut_word(a[i]), out[i + 4] = cut_word(b[i]);
	return out;
}

INLINE whole_quad multiply_pairs(words_quad a, words_quad b)
{
	whole_quad out;
	for (int i = 0; i < 4; i++) out[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
	return out;
}
#endif

#define BY_QUADS(f, a, b) \
	words_quads x = split_words(a), y = split_words(b); \
	return join_words(f(x.low, y.low), f(x.high, y.high));

INLINE vw plus(vw a, vw b) { BY_QUADS(plus_quad, a, b) }
INLINE vw minus(vw a, vw b) { BY_QUADS(minus_quad, a, b) }
INLINE vw times(vw a, vw b) { BY_QUADS(times_quad, a, b) }
INLINE vw vw_max(vw a, vw b) { vw more = a > b; return (a & more) | (b & ~more); }
INLINE vw vw_min(vw a, vw b) { vw more = a > b; return (b & more) | (a & ~more); }

INLINE vi pairs_of(vw a, vw b)
{
	words_quads x = split_words(a), y = split_words(b);
	return join_whole(multiply_pairs(x.low, y.low), multiply_pairs(x.high, y.high));
}

INLINE vi square_pairs(vw a) { return pairs_of(a, a); }

INLINE vw unpack_low(vw a, vw b)
{
	const words_quad order = {0, 8, 1, 9, 2, 10, 3, 11};
	words_quads x = split_words(a), y = split_words(b);
	return join_words(__builtin_shuffle(x.low, y.low, order), __builtin_shuffle(x.high, y.high, order));
}

INLINE vw unpack_high(vw a, vw b)
{
	const words_quad order = {4, 12, 5, 13, 6, 14, 7, 15};
	words_quads x = split_words(a), y = split_words(b);
	return join_words(__builtin_shuffle(x.low, y.low, order), __builtin_shuffle(x.high, y.high, order));
}

INLINE vi add_tap(vw a, vw b, int factor, int high)
{
	return pairs_of(high ? unpack_high(a, b) : unpack_low(a, b), splat_vw(factor));
}

INLINE vw pack_words(vi low, vi high)
{
	whole_quads x, y;
	memcpy(&x, &low, sizeof x), memcpy(&y, &high, sizeof y);
	return join_words(pack_quad(x.low, y.low), pack_quad(x.high, y.high));
}

INLINE vf load_shorts(const int16_t *p)
{
	float row[VL];
	for (int i = 0; i < VL; i++) row[i] = p[i];
	return load(row);
}

INLINE vw load_rows(const sample *const *p, ptrdiff_t offset)
{
	int16_t row[16];
	for (int i = 0; i < 16; i++) row[i] = p[0][offset + i];
	return load_vw(row);
}

INLINE vw load_row16(const void *p) { return load_vw(p); }

INLINE vf groups16(vf x, int half)
{
	quads q = split(x);
	quad from = half ? q.high : q.low;
	return join(__builtin_shuffle(from, (quad_places){0, 0, 0, 0}), __builtin_shuffle(from, (quad_places){2, 2, 2, 2}));
}

INLINE vf sum_frames(vf x) { return x; }

INLINE vw double_words(vi a) { return (vw)((a & 0xffff) | a << 16); } // the lower word first

INLINE vf in_quads(vf x, quad_places order)
{
	quads q = split(x);
	return join(__builtin_shuffle(q.low, order), __builtin_shuffle(q.high, order));
}

INLINE vf swap_pairs(vf x) { return in_quads(x, (quad_places){1, 0, 3, 2}); }
INLINE vf first_of_quad(vf x) { return in_quads(x, (quad_places){0, 0, 0, 0}); }
INLINE vf second_pair(vf x) { return in_quads(x, (quad_places){2, 2, 2, 2}); }
INLINE vi first_from(vi a, vi b) { b[0] = a[0]; return b; }

INLINE vi join_pairs(vi a, vi b)
{
	quads x = split((vf)a), y = split((vf)b);
	const quad_places first = {0, 1, 4, 5};
	return (vi)join(__builtin_shuffle(x.low, y.low, first), __builtin_shuffle(x.high, y.high, first));
}

INLINE void swap_squares(vw *a, vw *b)
{
	words_quads x = split_words(*a), y = split_words(*b);
	*a = join_words(x.low, y.low), *b = join_words(x.high, y.high);
}

#endif

INLINE void transpose8_words(vw r[8])
{
	vw a[8], b[8];
	for (int i = 0; i < 4; i++) a[2 * i] = unpack_low(r[i], r[i + 4]), a[2 * i + 1] = unpack_high(r[i], r[i + 4]);
	for (int i = 0; i < 4; i++) b[2 * i] = unpack_low(a[i], a[i + 4]), b[2 * i + 1] = unpack_high(a[i], a[i + 4]);
	for (int i = 0; i < 4; i++) r[2 * i] = unpack_low(b[i], b[i + 4]), r[2 * i + 1] = unpack_high(b[i], b[i + 4]);
}

INLINE void transpose16_words(vw r[16])
{
	transpose8_words(r);
	transpose8_words(r + 8);
	for (int i = 0; i < 8; i++) swap_squares(&r[i], &r[i + 8]);
}

// cos(k pi / 32) * (1 << 15)
static const int16_t factors[] = {0, 32610, 32138, 31357, 30274, 28899, 27246, 25330, 23170, 20788, 18205, 15447, 12540, 9512, 6393, 3212};

INLINE vw factor(int k) { return splat_vw(factors[k]); }

// turn is a rotation by k pi / 32: a c + b s, a s - b c.
INLINE void turn(vw *a, vw *b, int k)
{
	vw x = *a, y = *b, c = factor(k), s = factor(16 - k);
	*a = plus(times(x, c), times(y, s));
	*b = minus(times(x, s), times(y, c));
}

// dct8_words transforms columns as dct8 does, times 2.
INLINE void dct8_words(vw x[8])
{
	vw a0 = plus(x[0], x[7]), a1 = plus(x[1], x[6]), a2 = plus(x[2], x[5]), a3 = plus(x[3], x[4]);
	vw b0 = minus(x[0], x[7]), b1 = minus(x[1], x[6]), b2 = minus(x[2], x[5]), b3 = minus(x[3], x[4]);
	vw e0 = plus(a0, a3), e1 = plus(a1, a2), e2 = minus(a0, a3), e3 = minus(a1, a2);
	turn(&e2, &e3, 4);
	turn(&b0, &b3, 2);
	turn(&b1, &b2, 6);
	vw p = minus(b0, b1), q = plus(b3, b2);
	x[0] = times(plus(e0, e1), factor(8)), x[4] = times(minus(e0, e1), factor(8));
	x[2] = e2, x[6] = e3;
	x[1] = plus(b0, b1), x[7] = minus(b3, b2);
	x[3] = times(plus(p, q), factor(8)), x[5] = times(minus(p, q), factor(8));
}

// dct16_words transforms columns as dct16 does, times the root of 8.
INLINE void dct16_words(vw x[16])
{
	vw a[8], b[8];
	for (int i = 0; i < 8; i++) a[i] = plus(x[i], x[15 - i]), b[i] = minus(x[i], x[15 - i]);
	dct8_words(a);
	turn(&b[0], &b[7], 1);
	turn(&b[1], &b[6], 3);
	turn(&b[2], &b[5], 5);
	turn(&b[3], &b[4], 7);
	vw u0 = plus(b[0], b[3]), u1 = plus(b[1], b[2]), v0 = minus(b[0], b[3]), v1 = minus(b[1], b[2]);
	vw s0 = plus(b[7], b[4]), s1 = plus(b[6], b[5]), t0 = minus(b[7], b[4]), t1 = minus(b[6], b[5]);
	vw p2 = times(minus(u0, u1), factor(8)), s2 = times(plus(t0, t1), factor(8));
	turn(&v0, &v1, 4);
	turn(&s1, &s0, 4); // s1 becomes S1, s0 the negative of S3
	x[1] = plus(u0, u1), x[15] = minus(t0, t1);
	x[3] = plus(v0, s1), x[5] = minus(v0, s1);
	x[7] = plus(p2, s2), x[9] = minus(p2, s2);
	x[11] = minus(v1, s0), x[13] = plus(v1, s0);
	for (int k = 0; k < 8; k++) x[2 * k] = a[k];
}

INLINE vw choose(vw which, vw a, vw b) { return (which & a) | (~which & b); }

// down_words is half_down of whole numbers.
INLINE vw down_words(const vd_pass *p, const vw *r)
{
#if SAMPLE_BITS == 8
	vw sum = 40 * (r[3] + r[4]) - 11 * (r[2] + r[5]) + 4 * (r[1] + r[6]) - (r[0] + r[7]);
	return vw_min(vw_max((sum + 32) >> 6, splat_vw(0)), splat_vw(255));
#else
	// less 1 << 15 all numbers have a sign
	vw sign = splat_vw(INT16_MIN), x[8];
	for (int i = 0; i < 8; i++) x[i] = r[i] ^ sign;
	vi low = add_tap(x[3], x[4], 40, 0) + add_tap(x[2], x[5], -11, 0) + add_tap(x[1], x[6], 4, 0) + add_tap(x[0], x[7], -1, 0);
	vi high = add_tap(x[3], x[4], 40, 1) + add_tap(x[2], x[5], -11, 1) + add_tap(x[1], x[6], 4, 1) + add_tap(x[0], x[7], -1, 1);
	vw v = pack_words((low + 32) >> 6, (high + 32) >> 6);
	return vw_min(v, splat_vw(most_of(p->noisy) - 32768)) ^ sign;
#endif
}

// per_patch_words has a number for each of PAIR patches.
INLINE vw per_patch_words(const int *a)
{
	int16_t all[2 * VL];
	for (int i = 0; i < 2 * VL; i++) all[i] = a[i / 16];
	return load_vw(all);
}
