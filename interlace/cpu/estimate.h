// The first estimate of a field's missing rows with interlace.Net, bit-exact. Sums have the order
// of the reference, without fused multiplications and additions.

enum { CHUNK = 192, AT_ONCE = 2, GROUP = AT_ONCE * VL, UNITS = CHUNK + GROUP, EDGE = VI_REACH + 2 };

typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));

INLINE vf load(const float *p) { vf v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf splat(float x) { return x - (vf){}; }
INLINE vf magnitude(vf v) { return (vf)((vi)v & 0x7fffffff); }
INLINE vf where_so(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }

// floats loads adjacent samples. put_floats stores floats within the range of a sample, cut off.

#if VL == 16

INLINE vf floats(const sample *p)
{
	if (SAMPLE_BITS == 8) return (vf)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
	return (vf)_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}

INLINE void put_floats(sample *p, vf v)
{
	__m512i whole = _mm512_cvttps_epi32((__m512)v);
	if (SAMPLE_BITS == 8) _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(whole));
	else _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(whole));
}

#elif defined __AVX2__

INLINE vf floats(const sample *p) { return __builtin_convertvector(eight(p), vf); }
INLINE void put_floats(sample *p, vf v) { put_eight(p, __builtin_convertvector(v, vi)); }

#else

typedef sample vs __attribute__((vector_size(VL * sizeof(sample))));

INLINE vf floats(const sample *p)
{
	vs v;
	memcpy(&v, p, sizeof v);
	return __builtin_convertvector(__builtin_convertvector(v, vi), vf);
}

INLINE void put_floats(sample *p, vf v)
{
	vs s = __builtin_convertvector(__builtin_convertvector(v, vi), vs);
	memcpy(p, &s, sizeof s);
}

#endif

// Vectors are computed AT_ONCE, to share the loads of weights. Loops over weights stay loops:
// compilers would otherwise hoist the weights, and keep them in memory.
#define EACH(v) _Pragma("GCC unroll 4") for (int v = 0; v < AT_ONCE; v++)

// filters holds the sums that read the samples around missing ones, and the sum of the two samples
// nearest to each.
typedef struct { vf flat[VI_FLAT][AT_ONCE], filtered[VI_GATES][AT_ONCE], middle[AT_ONCE]; } filters;

// For each kind of samples:
//
//   levels       a row in 8-bit levels, from EDGE columns before a chunk. Samples beyond the padding
//                belong to the next row and are not used.
//   load_levels  sets n columns of a chunk and those beside them
//   compare      computes the units of a gap from column -1 of the chunk
//   filter       computes the filters for GROUP samples, of the six rows around them

#if defined __AVX2__ && SAMPLE_BITS == 8

// The sums of the reference are exact, so integers give the same result: see TestExactNet.

#if VL == 16
typedef __m512i vw;
#define WORDS(f) _mm512_##f
INLINE vw words_of(const uint8_t *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p)); }
INLINE vw load_words(const int16_t *p) { return _mm512_loadu_si512(p); }
INLINE void store_words(int16_t *p, vw v) { _mm512_storeu_si512(p, v); }
#else
typedef __m256i vw;
#define WORDS(f) _mm256_##f
INLINE vw words_of(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }
INLINE vw load_words(const int16_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE void store_words(int16_t *p, vw v) { _mm256_storeu_si256((__m256i *)p, v); }
#endif

typedef int16_t level;
typedef level levels[UNITS + GROUP];

INLINE void load_levels(int16_t *restrict out, vi_plane p, int y, int x, int n, float scale)
{
	(void)scale;
	const uint8_t *row = row_of(p, y) + x - EDGE;
	for (int i = 0; i < n + 2 * EDGE; i += GROUP) store_words(out + i, words_of(row + i));
}

// A weighted sum for GROUP samples. Each vector of 16 bytes of low and high belongs to 4 samples:
// those of low to the first 4 of 8, those of high to the others.
typedef struct { vw low, high; } whole;

// weigh adds the products of two weights and two words each.
INLINE void weigh_words(whole *sum, const int16_t *weights, vw low, vw high)
{
	int32_t both;
	memcpy(&both, weights, sizeof both);
	vw w = WORDS(set1_epi32)(both);
	sum->low = WORDS(add_epi32)(sum->low, WORDS(madd_epi16)(low, w));
	sum->high = WORDS(add_epi32)(sum->high, WORDS(madd_epi16)(high, w));
}

// in_order returns a sum as floats, in the order of the samples.
INLINE void in_order(vf out[AT_ONCE], whole sum)
{
#if VL == 16
	vw first = _mm512_permutex2var_epi64(sum.low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), sum.high);
	vw second = _mm512_permutex2var_epi64(sum.low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), sum.high);
#else
	vw first = _mm256_permute2x128_si256(sum.low, sum.high, 0x20);
	vw second = _mm256_permute2x128_si256(sum.low, sum.high, 0x31);
#endif
	const float unit = 1.0f / (1 << VI_NET_BITS);
	out[0] = (vf)WORDS(cvtepi32_ps)(first) * unit, out[1] = (vf)WORDS(cvtepi32_ps)(second) * unit;
}

INLINE void compare(float (*restrict unit)[UNITS], const vi_net *net, const int16_t *up, const int16_t *down, int n)
{
	for (int k = 0; k < n + 2; k += GROUP) {
		whole sum[VI_PAIRS] = {};
#pragma GCC unroll 1
		for (int j = 0; j < VI_EVEN; j += 2) {
			const int16_t *p = up + k + j, *q = down + k + VI_WIDTH - 1 - j;
			vw a = WORDS(sub_epi16)(load_words(p), load_words(q));
			vw b = WORDS(sub_epi16)(load_words(p + 1), load_words(q - 1));
			vw low = WORDS(unpacklo_epi16)(a, b), high = WORDS(unpackhi_epi16)(a, b);
#pragma GCC unroll 4
			for (int i = 0; i < VI_PAIRS; i++) weigh_words(&sum[i], net->whole.pair[i] + j, low, high);
		}
#pragma GCC unroll 4
		for (int i = 0; i < VI_PAIRS; i++) {
			vf made[AT_ONCE];
			in_order(made, sum[i]);
			EACH(v) store(unit[i] + k + v * VL, magnitude(made[v]));
		}
	}
}

typedef struct { whole flat[VI_FLAT], filtered[VI_GATES]; } whole_filters;

// add adds an even number of sums of opposite samples of two rows, from sum `first` of the net on.
INLINE void add(whole_filters *f, const vi_whole_net *net, int first, int n, const int16_t *up, const int16_t *down)
{
#pragma GCC unroll 1
	for (int j = 0; j < n; j += 2) {
		vw a = WORDS(add_epi16)(load_words(up + j), load_words(down - j));
		vw b = WORDS(add_epi16)(load_words(up + j + 1), load_words(down - j - 1));
		vw low = WORDS(unpacklo_epi16)(a, b), high = WORDS(unpackhi_epi16)(a, b);
#pragma GCC unroll 2
		for (int i = 0; i < VI_FLAT; i++) weigh_words(&f->flat[i], net->flat[i] + first + j, low, high);
#pragma GCC unroll 3
		for (int i = 0; i < VI_GATES; i++) weigh_words(&f->filtered[i], net->filter[i] + first + j, low, high);
	}
}

INLINE filters filter(const vi_net *net, const int16_t *const row[6], int k)
{
	whole_filters f = {};
#pragma GCC unroll 2
	for (int i = 0; i < VI_FLAT; i++) f.flat[i].low = f.flat[i].high = WORDS(set1_epi32)(net->whole.flat_bias[i]);
	add(&f, &net->whole, 0, VI_EVEN, row[2] + k, row[3] + k + VI_WIDTH - 1);
	add(&f, &net->whole, VI_EVEN, VI_EVEN, row[1] + k, row[4] + k + VI_WIDTH - 1);
	add(&f, &net->whole, 2 * VI_EVEN, 4, row[0] + k + VI_REACH - 1, row[5] + k + VI_REACH + 1);
	filters out;
#pragma GCC unroll 2
	for (int i = 0; i < VI_FLAT; i++) in_order(out.flat[i], f.flat[i]);
#pragma GCC unroll 3
	for (int i = 0; i < VI_GATES; i++) in_order(out.filtered[i], f.filtered[i]);
	vw middle = WORDS(add_epi16)(load_words(row[2] + k + VI_REACH), load_words(row[3] + k + VI_REACH));
#if VL == 16
	out.middle[0] = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(middle)));
	out.middle[1] = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(middle, 1)));
#else
	out.middle[0] = (vf)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(middle)));
	out.middle[1] = (vf)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(middle, 1)));
#endif
	return out;
}

#else

typedef float level;
typedef level levels[UNITS + GROUP];

INLINE void load_levels(float *restrict out, vi_plane p, int y, int x, int n, float scale)
{
	const sample *row = row_of(p, y) + x - EDGE;
	for (int i = 0; i < n + 2 * EDGE; i += VL) store(out + i, floats(row + i) * scale);
}

INLINE void compare(float (*restrict unit)[UNITS], const vi_net *net, const float *up, const float *down, int n)
{
	for (int k = 0; k < n + 2; k += GROUP) {
		vf sum[VI_PAIRS][AT_ONCE] = {};
#pragma GCC unroll 1
		for (int j = 0; j < VI_WIDTH; j++) {
			vf d[AT_ONCE];
			EACH(v) d[v] = load(up + k + v * VL + j) - load(down + k + v * VL + VI_WIDTH - 1 - j);
#pragma GCC unroll 4
			for (int i = 0; i < VI_PAIRS; i++) EACH(v) sum[i][v] += net->pair[i][j] * d[v];
		}
#pragma GCC unroll 4
		for (int i = 0; i < VI_PAIRS; i++) EACH(v) store(unit[i] + k + v * VL, magnitude(sum[i][v]));
	}
}

// add adds n sums of opposite samples of two rows, from sum `first` of the net on.
INLINE void add(filters *f, const vi_net *net, int first, int n, const float *up, const float *down)
{
#pragma GCC unroll 1
	for (int j = 0; j < n; j++) {
		vf sum[AT_ONCE];
		EACH(v) sum[v] = load(up + v * VL + j) + load(down + v * VL - j);
#pragma GCC unroll 2
		for (int i = 0; i < VI_FLAT; i++) EACH(v) f->flat[i][v] += net->flat[i][first + j] * sum[v];
#pragma GCC unroll 3
		for (int i = 0; i < VI_GATES; i++) EACH(v) f->filtered[i][v] += net->filter[i][first + j] * sum[v];
	}
}

INLINE filters filter(const vi_net *net, const float *const row[6], int k)
{
	filters f = {};
#pragma GCC unroll 2
	for (int i = 0; i < VI_FLAT; i++) EACH(v) f.flat[i][v] = splat(net->flat_bias[i]);
	add(&f, net, 0, VI_WIDTH, row[2] + k, row[3] + k + VI_WIDTH - 1);
	add(&f, net, VI_WIDTH, VI_WIDTH, row[1] + k, row[4] + k + VI_WIDTH - 1);
	add(&f, net, 2 * VI_WIDTH, 3, row[0] + k + VI_REACH - 1, row[5] + k + VI_REACH + 1);
	EACH(v) f.middle[v] = load(row[2] + k + v * VL + VI_REACH) + load(row[3] + k + v * VL + VI_REACH);
	return f;
}

#endif

// Six missing rows need a row, and three need the units of a gap. Both are kept in ring buffers.
typedef struct {
	levels row[8];
	float unit[4][VI_PAIRS][UNITS];
} chunk;

// estimate_row computes a chunk of the missing row below the field's row `above`.
INLINE void estimate_row(sample *restrict out, const vi_net *net, const chunk *c, int above, int n, float step, float most)
{
	const level *row[6]; // from column -3 of the chunk
	for (int i = 0; i < 6; i++) row[i] = c->row[(above - 2 + i) & 7] + EDGE - VI_REACH;
	for (int k = 0; k < n; k += GROUP) {
		filters f = filter(net, row, k);
		vf gate[VI_GATES][AT_ONCE];
#pragma GCC unroll 3
		for (int i = 0; i < VI_GATES; i++) EACH(v) {
			gate[i][v] = splat(net->gate_bias[i]);
			for (int j = 0; j < VI_FLAT; j++) gate[i][v] += net->gate[i][j] * magnitude(f.flat[j][v]);
		}
#pragma GCC unroll 1
		for (int i = 0; i < VI_PAIRS; i++) {
			const float *up = c->unit[(above - 1) & 3][i] + k, *here = c->unit[above & 3][i] + k, *down = c->unit[(above + 1) & 3][i] + k;
			vf sum[AT_ONCE];
			EACH(v) sum[v] = net->centre[i][0] * load(here + v * VL + 1);
			EACH(v) sum[v] += net->centre[i][1] * (load(here + v * VL) + load(here + v * VL + 2));
#pragma GCC unroll 3
			for (int j = 0; j < 3; j++) EACH(v) sum[v] += net->outer[i][j] * (load(up + v * VL + j) + load(down + v * VL + 2 - j));
#pragma GCC unroll 3
			for (int g = 0; g < VI_GATES; g++) EACH(v) gate[g][v] += net->gate[g][VI_FLAT + i] * sum[v];
		}
		EACH(v) {
			vf weights = splat(net->mean), total = 0.5f * f.middle[v] * net->mean;
#pragma GCC unroll 3
			for (int i = 0; i < VI_GATES; i++) {
				vf open = where_so(gate[i][v] > 0, gate[i][v], (vf){});
				weights += open;
				total += open * f.filtered[i][v];
			}
			vf made = (total / weights + net->bias) * step + 0.5f;
			made = where_so(made > 0, made, (vf){});
			put_floats(out + k + v * VL, where_so(made < most, made, splat(most)));
		}
	}
}

void NAME(vi_estimate)(vi_plane to, vi_plane lines, int parity, const vi_net *net, int y0, int y1)
{
	float step = 1 << (to.depth - 8), scale = 1 / step, most = (1 << to.depth) - 1;
	for (int x = 0; x < to.width; x += CHUNK) {
		int n = to.width - x < CHUNK ? to.width - x : CHUNK;
		chunk c;
		int rows = -VI_PAD, gaps = -VI_PAD; // the next row to load and gap to compare
		for (int y = y0; y < y1; y++) {
			sample *out = row_of(to, y) + x;
			if ((y & 1) == parity) {
				memcpy(out, row_of(lines, y / 2) + x, n * sizeof *out);
				continue;
			}
			int above = y / 2 - parity;
			if (rows < above - 2) rows = above - 2, gaps = above - 1;
			for (; rows <= above + 3; rows++) load_levels(c.row[rows & 7], lines, rows, x, n, scale);
			for (; gaps <= above + 1; gaps++) compare(c.unit[gaps & 3], net, c.row[gaps & 7] + EDGE - VI_REACH - 1, c.row[(gaps + 1) & 7] + EDGE - VI_REACH - 1, n);
			sample made[UNITS];
			estimate_row(made, net, &c, above, n, step, most);
			memcpy(out, made, n * sizeof *out);
		}
	}
}
