#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "fast.h"

typedef float v4 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));

// Of an orthonormal DCT of eight samples: half the cosines of k*pi/16.
#define COS1 0.49039264020161522f
#define COS2 0.46193976625564338f
#define COS3 0.41573480615127262f
#define COS4 0.35355339059327376f
#define COS5 0.27778511650980111f
#define COS6 0.19134171618254489f
#define COS7 0.09754516100806413f

// dct8 folds the samples of four columns into even and odd halves, which need half the products.
// The vectors are two apart.
static inline void dct8(v4 *x)
{
	v4 s0 = x[0] + x[14], s1 = x[2] + x[12], s2 = x[4] + x[10], s3 = x[6] + x[8];
	v4 d0 = x[0] - x[14], d1 = x[2] - x[12], d2 = x[4] - x[10], d3 = x[6] - x[8];
	v4 p = s0 + s3, q = s1 + s2, r = s0 - s3, s = s1 - s2;
	x[0] = (p + q) * COS4;
	x[8] = (p - q) * COS4;
	x[4] = r * COS2 + s * COS6;
	x[12] = r * COS6 - s * COS2;
	x[2] = d0 * COS1 + d1 * COS3 + d2 * COS5 + d3 * COS7;
	x[6] = d0 * COS3 - d1 * COS7 - d2 * COS1 - d3 * COS5;
	x[10] = d0 * COS5 - d1 * COS1 + d2 * COS7 + d3 * COS3;
	x[14] = d0 * COS7 - d1 * COS5 + d2 * COS3 - d3 * COS1;
}

static inline void transpose4(v4 *to, const v4 *from)
{
	v4 a = __builtin_shuffle(from[0], from[2], (i4){0, 4, 1, 5}), b = __builtin_shuffle(from[0], from[2], (i4){2, 6, 3, 7});
	v4 c = __builtin_shuffle(from[4], from[6], (i4){0, 4, 1, 5}), d = __builtin_shuffle(from[4], from[6], (i4){2, 6, 3, 7});
	to[0] = __builtin_shuffle(a, c, (i4){0, 1, 4, 5}), to[2] = __builtin_shuffle(a, c, (i4){2, 3, 6, 7});
	to[4] = __builtin_shuffle(b, d, (i4){0, 1, 4, 5}), to[6] = __builtin_shuffle(b, d, (i4){2, 3, 6, 7});
}

// dct transforms eight rows of two vectors: across, and then down.
static void dct(float out[64], const v4 rows[16])
{
	v4 x[16], turned[16];
	memcpy(x, rows, sizeof x);
	for (int i = 0; i < 2; i++) {
		transpose4(turned, x), transpose4(turned + 8, x + 1);
		transpose4(turned + 1, x + 8), transpose4(turned + 9, x + 9);
		memcpy(x, turned, sizeof x);
		dct8(x), dct8(x + 1);
	}
	memcpy(out, x, sizeof x);
}

int vn_transform(const uint16_t own[64], const uint16_t *other, int unit, int most_clipped, int most_black,
	float block[64], float diff[64])
{
	uint16_t clipped = 0, black = 0;
	for (int i = 0; i < 64; i++) {
		clipped += (uint16_t)(own[i] - unit - 1) >= 253 * unit - 1; // up to 1, or from 254 on
		black += own[i] == 16 * unit;
	}
	if (clipped > most_clipped || black > most_black) return 0;
	v4 samples[16];
	float *in = (float *)samples;
	for (int i = 0; i < 64; i++) in[i] = (float)own[i] * (1.0f / unit);
	dct(block, samples);
	if (!other) return 1;
	for (int i = 0; i < 64; i++) in[i] = (in[i] - (float)other[i] * (1.0f / unit)) * 0.70710678118654752f;
	dct(diff, samples);
	return 1;
}

void vn_halve(uint8_t *out, const uint8_t *a, const uint8_t *b, int n)
{
	for (int i = 0; i < n; i++) { // both samples at once, whichever is first in memory
		uint16_t p, q;
		memcpy(&p, a + 2 * i, 2);
		memcpy(&q, b + 2 * i, 2);
		uint16_t sum = (p & 255) + (p >> 8) + (q & 255) + (q >> 8) + 2;
		out[i] = sum >> 2;
	}
}

void vn_smooth(uint8_t *out, const uint8_t *in, int side)
{
	uint16_t across[(VN_MOST + 2) * VN_MOST];
	for (int y = 0; y < side + 2; y++)
		for (int x = 0; x < side; x++) {
			const uint8_t *at = in + y * (side + 2) + x;
			across[y * side + x] = at[0] + 2 * at[1] + at[2];
		}
	for (int i = 0; i < side * side; i++) out[i] = (across[i] + 2 * across[i + side] + across[i + 2 * side] + 8) >> 4;
}

static int sad(const uint8_t *a, int pitch_a, const uint8_t *b, int pitch_b)
{
#ifdef __SSE2__
	__m128i sum = _mm_setzero_si128();
	for (int i = 0; i < VN_WINDOW; i++) {
		__m128i p = _mm_loadu_si128((const __m128i *)(a + i * pitch_a)), q = _mm_loadu_si128((const __m128i *)(b + i * pitch_b));
		sum = _mm_add_epi64(sum, _mm_sad_epu8(p, q));
	}
	return _mm_cvtsi128_si32(sum) + _mm_extract_epi16(sum, 4); // below 1 << 16 each
#else
	int sum = 0;
	for (int i = 0; i < VN_WINDOW; i++)
		for (int k = 0; k < VN_WINDOW; k++) sum += abs(a[i * pitch_a + k] - b[i * pitch_b + k]);
	return sum;
#endif
}

int vn_try(const uint8_t *cur, int pitch, const uint8_t *ref, int width, int height, int x, int y,
	const vn_option *options, int n, int64_t *cost)
{
	int best = -1;
	for (int i = 0; i < n; i++) {
		int at_x = x + options[i].x, at_y = y + options[i].y;
		if (at_x < 0 || at_y < 0 || at_x > width - VN_WINDOW || at_y > height - VN_WINDOW) continue;
		if (options[i].extra >= *cost) continue;
		int64_t own = options[i].extra + sad(cur, pitch, ref + (int64_t)at_y * width + at_x, width);
		if (own < *cost) best = i, *cost = own;
	}
	return best;
}
