#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "fast.h"

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
