// A pass of interlace.blender, bit-exact. A block is 8 columns of two missing rows.

enum { ACROSS = 8, BESIDE = 2, COMPARED = ACROSS + 2 * BESIDE, STILL_MEAN = 86, STILL_MOST = 8, BINS = 4 };

typedef float vf8 __attribute__((vector_size(32)));
typedef int32_t vi8 __attribute__((vector_size(32)));

INLINE vf8 chosen(vi8 mask, vf8 a, vf8 b) { return (vf8)(((vi8)a & mask) | ((vi8)b & ~mask)); }

// eight loads 8 adjacent samples. put_eight stores 8 integers within the range of a sample.

#ifdef __AVX2__

INLINE vi8 eight(const sample *p)
{
	if (SAMPLE_BITS == 8) return (vi8)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
	return (vi8)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}

INLINE void put_eight(sample *p, vi8 v)
{
	__m128i words = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
	if (SAMPLE_BITS == 8) _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
	else _mm_storeu_si128((__m128i *)p, words);
}

#else

typedef sample vs8 __attribute__((vector_size(ACROSS * sizeof(sample))));

INLINE vi8 eight(const sample *p)
{
	vs8 v;
	memcpy(&v, p, sizeof v);
	return __builtin_convertvector(v, vi8);
}

INLINE void put_eight(sample *p, vi8 v)
{
	vs8 s = __builtin_convertvector(v, vs8);
	memcpy(p, &s, sizeof s);
}

#endif

// All planes of a component have the same pitch.

// apart returns the sum of absolute differences over every second row from row `from` on, including
// the columns beside the block. It raises *most to the largest difference. most may be NULL.

#if defined __AVX2__ && SAMPLE_BITS == 8

INLINE int apart(const sample *a, const sample *b, ptrdiff_t pitch, int from, int rows, int *most)
{
	const __m128i columns = _mm_setr_epi32(-1, -1, -1, 0);
	__m128i sum = _mm_setzero_si128(), largest = sum;
	for (int i = 0; i < rows; i++) {
		const sample *p = a + (from + 2 * i) * pitch - BESIDE, *q = b + (from + 2 * i) * pitch - BESIDE;
		__m128i u = _mm_and_si128(_mm_loadu_si128((const __m128i *)p), columns);
		__m128i v = _mm_and_si128(_mm_loadu_si128((const __m128i *)q), columns);
		sum = _mm_add_epi64(sum, _mm_sad_epu8(u, v));
		if (most) largest = _mm_max_epu8(largest, _mm_or_si128(_mm_subs_epu8(u, v), _mm_subs_epu8(v, u)));
	}
	if (most) {
		largest = _mm_max_epu8(largest, _mm_srli_si128(largest, 8));
		largest = _mm_max_epu8(largest, _mm_srli_si128(largest, 4));
		uint32_t four = _mm_cvtsi128_si32(largest);
		for (int i = 0; i < 4; i++, four >>= 8)
			if ((int)(four & 255) > *most) *most = four & 255;
	}
	return _mm_cvtsi128_si32(sum) + _mm_extract_epi32(sum, 2);
}

INLINE int apart_eight(const sample *p, const sample *q)
{
	return _mm_cvtsi128_si32(_mm_sad_epu8(_mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)q)));
}

#else

INLINE int apart_eight(const sample *p, const sample *q)
{
	int sum = 0;
	for (int i = 0; i < ACROSS; i++) sum += p[i] < q[i] ? q[i] - p[i] : p[i] - q[i];
	return sum;
}

INLINE int apart(const sample *a, const sample *b, ptrdiff_t pitch, int from, int rows, int *most)
{
	int sum = 0, largest = most ? *most : 0;
	for (int i = 0; i < rows; i++) {
		const sample *p = a + (from + 2 * i) * pitch - BESIDE, *q = b + (from + 2 * i) * pitch - BESIDE;
		for (int x = 0; x < COMPARED; x++) {
			int d = p[x] - q[x];
			d = d < 0 ? -d : d;
			sum += d;
			largest = d > largest ? d : largest;
		}
	}
	if (most) *most = largest;
	return sum;
}

#endif

INLINE int own_apart(const sample *a, const sample *b, ptrdiff_t pitch, int *most) { return apart(a, b, pitch, -1, 3, most); }
INLINE int missing_apart(const sample *a, const sample *b, ptrdiff_t pitch, int *most) { return apart(a, b, pitch, 0, 2, most); }

// halved divides by 1 << shift, where shift is 0 or 1. It rounds halves away from zero.
INLINE int halved(int v, int shift) { return !shift ? v : v < 0 ? -((1 - v) >> 1) : (v + 1) >> 1; }

// bin quantises the mean of n differences. Samples have 8 + extra bits.
INLINE int bin(int sum, int n, int extra)
{
	return (sum >= (3 * n / 2) << extra) + (sum >= (4 * n) << extra) + (sum >= (10 * n) << extra);
}

typedef struct {
	const sample *to[VI_NEIGHBOURS]; // the block in each neighbour
	int kind[VI_NEIGHBOURS]; // rows there: 0 the neighbour's own, 2 missing, 1 in between
	int d[VI_NEIGHBOURS], between;
} moved;

// move locates the block in the neighbours. Clamped positions lie in the padding, where samples
// repeat, so clamping does not change the result.
INLINE void move(moved *m, const vi_pass *p, const sample *here, const vi_vector *v, int x, int y)
{
	int width = p->now.width, height = p->now.height;
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		const vi_neighbour *n = &p->to[i];
		int to_x = clampi(x + (v[i].x >> 1), -ACROSS - BESIDE, width + BESIDE);
		int to_y = clampi(y + (v[i].y >> 1), -5, height + 2);
		m->to[i] = row_of(n->half[(v[i].x & 1) | (v[i].y & 1) << 1], to_y) + to_x;
		int row = (2 * y + v[i].y - 2 * n->parity) & 3;
		m->kind[i] = row & 1 ? 1 : row;
		m->d[i] = own_apart(here, m->to[i], p->now.pitch, NULL);
	}
	m->between = p->to[0].there && p->to[1].there ? missing_apart(m->to[0], m->to[1], p->now.pitch, NULL) : 2 * m->d[0] / 3;
}

INLINE void store_eight(const vi_pass *p, int x, int y, vf8 v)
{
	float most = (1 << p->out.depth) - 1;
	v = chosen(v > 0, v, (vf8){});
	vi8 whole = __builtin_convertvector(chosen(v < most, v, most - (vf8){}), vi8);
	int n = p->out.width - x < ACROSS ? p->out.width - x : ACROSS;
	sample *out = row_of(p->out, y) + x, row[ACROSS];
	put_eight(n == ACROSS ? out : row, whole);
	if (n < ACROSS) memcpy(out, row, n * sizeof *row);
}

// mix returns the weighted sums for a row of a block, at e in the estimate and to in neighbours.
INLINE vf8 mix(const float *w, const sample *e, const sample *const *to, ptrdiff_t pitch)
{
	vi8 base = eight(e - pitch) + eight(e + pitch);
	vf8 sum = __builtin_convertvector(base, vf8);
	sum += w[0] * __builtin_convertvector(eight(e - 3 * pitch) + eight(e + 3 * pitch) - base, vf8);
#pragma GCC unroll 4
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		const sample *q = to[i];
		sum += w[1 + 3 * i] * __builtin_convertvector(2 * eight(q) - base, vf8);
		sum += w[2 + 3 * i] * __builtin_convertvector(eight(q - pitch) + eight(q + pitch) - base, vf8);
		sum += w[3 + 3 * i] * __builtin_convertvector(eight(q - 2 * pitch) + eight(q + 2 * pitch) - base, vf8);
	}
	sum += w[13] * __builtin_convertvector(2 * eight(e) - base, vf8);
	return sum * 0.5f + 0.5f;
}

// blend_block computes the missing rows y and y + 2 of a block.
INLINE void blend_block(const vi_pass *p, int x, int y)
{
	int extra = p->now.depth - 8, z = 0, largest = 0, known = 0;
	ptrdiff_t pitch = p->now.pitch;
	const sample *here = row_of(p->now, y) + x, *same[VI_NEIGHBOURS];
	for (int i = 0; i < VI_NEIGHBOURS; i++) same[i] = row_of(p->to[i].half[0], y) + x;
	if (p->to[0].there && p->to[1].there) {
		known = 1;
		z = 3 * missing_apart(same[0], same[1], pitch, &largest);
	}
	for (int i = 2; i < VI_NEIGHBOURS; i++) {
		if (!p->to[i].there) continue;
		int d = 2 * own_apart(here, same[i], pitch, &largest);
		known = 1, z = d > z ? d : z;
	}
	if (known && z <= STILL_MEAN << extra && largest <= STILL_MOST << extra) {
		for (int j = 0; j <= 2 && y + j < p->out.height; j += 2) {
			vi8 sum = eight(same[0] + j * pitch) + eight(same[1] + j * pitch);
			store_eight(p, x, y + j, __builtin_convertvector((sum + 1) >> 1, vf8));
		}
		return;
	}
	int cell_x = ((x + ACROSS / 2) << p->shift_x) / 8, cell_y = ((y + 1) << p->shift_y) / 8;
	int cell = (cell_y < p->cells_y ? cell_y : p->cells_y - 1) * p->cells_x + (cell_x < p->cells_x ? cell_x : p->cells_x - 1);
	vi_vector v[VI_NEIGHBOURS];
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		vi_vector f = p->to[i].field[cell];
		v[i] = (vi_vector){halved(f.x, p->shift_x), halved(f.y, p->shift_y)};
	}
	moved m;
	move(&m, p, here, v, x, y);
	int further = m.d[2] < m.d[3] ? m.d[2] : m.d[3];
	if (known && z <= (3 * m.between > 2 * further ? 3 * m.between : 2 * further)) {
		memset(v, 0, sizeof v);
		move(&m, p, here, v, x, y);
		further = m.d[2] < m.d[3] ? m.d[2] : m.d[3];
	}
	int swap = m.d[1] < m.d[0], swap2 = m.d[3] < m.d[2];
	const int order[VI_NEIGHBOURS] = {swap, !swap, 2 + swap2, 3 - swap2}; // of each two, the better match first
	int contrast = 0;
	for (int j = -1; j <= 1; j += 2) contrast += apart_eight(here + j * pitch, here + (j + 2) * pitch);
	int far = m.kind[2] < m.kind[3] ? m.kind[2] : m.kind[3];
	int class = (m.kind[order[0]] * 3 + m.kind[order[1]]) * 3 + far;
	class = (class * BINS + bin(m.between, 2 * COMPARED, extra)) * BINS + bin(contrast, 4 * ACROSS, extra);
	class = (class * BINS + bin(m.d[order[0]], 3 * COMPARED, extra)) * BINS + bin(further, 3 * COMPARED, extra);
	const float *w = p->learned->codes[p->learned->code_of[class]];
	const sample *to[VI_NEIGHBOURS];
	for (int i = 0; i < VI_NEIGHBOURS; i++) to[i] = m.to[order[i]];
	store_eight(p, x, y, mix(w, here, to, pitch));
	if (y + 2 >= p->out.height) return;
	for (int i = 0; i < VI_NEIGHBOURS; i++) to[i] += 2 * pitch;
	store_eight(p, x, y + 2, mix(w, here + 2 * pitch, to, pitch));
}

void NAME(vi_blend)(const vi_pass *p, int y0, int y1)
{
	for (int y = y0 + p->parity; y < y1; y += 2) memcpy(row_of(p->out, y), row_of(p->now, y), p->out.width * sizeof(sample));
	for (int y = y0 + 1 - p->parity; y < y1; y += 4)
		for (int x = 0; x < p->out.width; x += ACROSS) blend_block(p, x, y);
}
