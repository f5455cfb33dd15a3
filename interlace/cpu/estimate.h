// The first estimate of a field's missing rows with interlace.Net, bit-exact. Sums have the order
// of the reference, without fused multiplications and additions.

enum { CHUNK = 192, AT_ONCE = 2, GROUP = AT_ONCE * VL, UNITS = CHUNK + GROUP, EDGE = VI_REACH + 1 };

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

// A row in 8-bit levels, from EDGE columns before a chunk. Samples beyond the padding belong to the
// next row and are not used.
typedef float levels[UNITS + GROUP];

INLINE void load_levels(float *restrict out, vi_plane p, int y, int x, int n, float scale)
{
	const sample *row = row_of(p, y) + x - EDGE;
	for (int i = 0; i < n + 2 * EDGE; i += VL) store(out + i, floats(row + i) * scale);
}

// Vectors are computed AT_ONCE, to share the loads of weights. Loops over weights stay loops:
// compilers would otherwise hoist the weights, and keep them in memory.
#define EACH(v) _Pragma("GCC unroll 4") for (int v = 0; v < AT_ONCE; v++)

// compare computes the units of a gap from column -1 of the chunk.
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

// Six missing rows need a row, and three need the units of a gap. Both are kept in ring buffers.
typedef struct {
	levels row[8];
	float unit[4][VI_PAIRS][UNITS];
} chunk;

// filters holds the sums that read the samples around missing ones.
typedef struct { vf flat[VI_FLAT][AT_ONCE], filtered[VI_GATES][AT_ONCE]; } filters;

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

// estimate_row computes a chunk of the missing row below the field's row `above`.
INLINE void estimate_row(sample *restrict out, const vi_net *net, const chunk *c, int above, int n, float step, float most)
{
	const float *row[6]; // from column -3 of the chunk
	for (int i = 0; i < 6; i++) row[i] = c->row[(above - 2 + i) & 7] + EDGE - VI_REACH;
	for (int k = 0; k < n; k += GROUP) {
		filters f = {};
#pragma GCC unroll 2
		for (int i = 0; i < VI_FLAT; i++) EACH(v) f.flat[i][v] = splat(net->flat_bias[i]);
		add(&f, net, 0, VI_WIDTH, row[2] + k, row[3] + k + VI_WIDTH - 1);
		add(&f, net, VI_WIDTH, VI_WIDTH, row[1] + k, row[4] + k + VI_WIDTH - 1);
		add(&f, net, 2 * VI_WIDTH, 3, row[0] + k + VI_REACH - 1, row[5] + k + VI_REACH + 1);
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
			vf middle = load(row[2] + k + v * VL + VI_REACH) + load(row[3] + k + v * VL + VI_REACH);
			vf weights = splat(net->mean), total = 0.5f * middle * net->mean;
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
			for (; gaps <= above + 1; gaps++) compare(c.unit[gaps & 3], net, c.row[gaps & 7], c.row[(gaps + 1) & 7], n);
			sample made[UNITS];
			estimate_row(made, net, &c, above, n, step, most);
			memcpy(out, made, n * sizeof *out);
		}
	}
}
