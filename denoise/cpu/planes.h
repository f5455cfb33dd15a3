// The planes that the search and the passes read, a row at a time: loops simple enough for the
// compiler to vectorise. Samples beyond the edges of `from` must be set.

// vd_smooth makes samples of 8 bits.
void NAME(vd_smooth)(vd_plane to, vd_plane from, int coarse, int y0, int y1)
{
	int centre = coarse ? 2 : 6, shift = (coarse ? 4 : 6) + extra_bits(from);
	for (int y = y0; y < y1; y++) {
		const sample *a = row_of(from, y - 1), *b = row_of(from, y), *c = row_of(from, y + 1);
		uint8_t *restrict out = bytes_of(to, y);
		for (int x = 0; x < to.width; x++) {
			wide left = a[x - 1] + centre * b[x - 1] + c[x - 1];
			wide here = a[x] + centre * b[x] + c[x];
			wide right = a[x + 1] + centre * b[x + 1] + c[x + 1];
			wide sum = left + centre * here + right + (1 << (shift - 1));
			out[x] = SAMPLE_BITS == 8 ? sum >> shift : mini(sum >> shift, 255);
		}
	}
}

#if SAMPLE_BITS == 8
void NAME(vd_halve)(vd_plane to, vd_plane from, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		const sample *a = row_of(from, 2 * y), *b = row_of(from, 2 * y + 1);
		sample *restrict out = row_of(to, y);
		for (int x = 0; x < to.width; x++) {
			out[x] = (a[2 * x] + a[2 * x + 1] + b[2 * x] + b[2 * x + 1] + 2) >> 2;
		}
	}
}
#endif

// interpolate_few sets samples half way between p[x] and p[x + step]; interpolate does any number.
INLINE void interpolate_few(sample *restrict out, const sample *p, ptrdiff_t step, int width, int most)
{
	for (int x = 0; x < width; x++) {
		wide sum = 40 * (p[x] + p[x + step]) - 11 * (p[x - step] + p[x + 2 * step]) +
		          4 * (p[x - 2 * step] + p[x + 3 * step]) - (p[x - 3 * step] + p[x + 4 * step]);
		sum = (wide)(sum + 32) >> 6;
		sum = sum < 0 ? 0 : sum;
		out[x] = sum > most ? most : sum;
	}
}

#if SAMPLE_BITS == 8 && (defined VD_ISA_AVX2 || defined VD_ISA_AVX512)

// add_two adds the products of two weights and the samples at p and q.
INLINE void add_two(__m256i sum[2], const uint8_t *p, const uint8_t *q, int weight, int weight2)
{
	__m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)q);
	__m256i weights = _mm256_set1_epi16((weight & 255) | weight2 * 256);
	sum[0] = _mm256_add_epi16(sum[0], _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights));
	sum[1] = _mm256_add_epi16(sum[1], _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights));
}

INLINE void interpolate_32(uint8_t *out, const uint8_t *p, ptrdiff_t step)
{
	__m256i half = _mm256_set1_epi16(32), sum[2] = {half, half};
	add_two(sum, p - 3 * step, p - 2 * step, -1, 4);
	add_two(sum, p - step, p, -11, 40);
	add_two(sum, p + step, p + 2 * step, 40, -11);
	add_two(sum, p + 3 * step, p + 4 * step, 4, -1);
	__m256i made = _mm256_packus_epi16(_mm256_srai_epi16(sum[0], 6), _mm256_srai_epi16(sum[1], 6));
	_mm256_storeu_si256((__m256i *)out, made);
}

INLINE void interpolate(sample *restrict out, const sample *p, ptrdiff_t step, int width, int most)
{
	enum { AT_ONCE = 32 };
	int last = width - AT_ONCE;
	if (last < 0) {
		interpolate_few(out, p, step, width, most);
		return;
	}
	for (int x = 0; x < last; x += AT_ONCE) interpolate_32(out + x, p + x, step);
	interpolate_32(out + last, p + last, step);
}

#else
#define interpolate interpolate_few
#endif

void NAME(vd_right)(vd_plane to, vd_plane from, int y0, int y1)
{
	for (int y = y0; y < y1; y++) interpolate(row_of(to, y), row_of(from, y), 1, to.width, most_of(from));
}

void NAME(vd_down)(vd_plane to, vd_plane from, int y0, int y1)
{
	for (int y = y0; y < y1; y++) interpolate(row_of(to, y), row_of(from, y), from.pitch, to.width, most_of(from));
}

void NAME(vd_sum)(uint16_t *to, vd_plane from, int fresh, int y0, int y1)
{
	int shift = maxi(extra_bits(from) - VD_SUM_BITS, 0), half = 1 << shift >> 1, most = (256 << VD_SUM_BITS) - 1;
	for (int y = y0; y < y1; y++) {
		const sample *row = row_of(from, y);
		uint16_t *restrict out = to + y * from.pitch;
		for (int x = 0; x < from.width; x++) {
			int v = SAMPLE_BITS == 8 ? row[x] : mini((row[x] + half) >> shift, most);
			out[x] = fresh ? v : out[x] + v;
		}
	}
}
