// The first estimate of a field's missing rows with interlace.Net, bit-exact. Sums have the order
// of the reference, without fused multiplications and additions.

enum { CHUNK = 64, UNITS = CHUNK + VL, EDGE = VI_REACH + 1 };

typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));
typedef sample vs __attribute__((vector_size(VL * sizeof(sample))));

INLINE vf load(const float *p) { vf v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf splat(float x) { return x - (vf){}; }
INLINE vf where_so(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }
INLINE vf magnitude(vf v) { return (vf)((vi)v & 0x7fffffff); }

// A row in 8-bit levels, from EDGE columns before a chunk. Samples beyond the padding belong to the
// next row and are not used.
typedef float levels[CHUNK + 2 * VL];

INLINE void load_levels(float *restrict out, vi_plane p, int y, int x, float scale)
{
	const sample *row = row_of(p, y) + x - EDGE;
	for (int i = 0; i < CHUNK + 2 * VL; i += VL) {
		vs v;
		memcpy(&v, row + i, sizeof v);
		store(out + i, __builtin_convertvector(__builtin_convertvector(v, vi), vf) * scale);
	}
}

// compare computes the units of a gap from column -1 of the chunk.
INLINE void compare(float (*restrict unit)[UNITS], const vi_net *net, const float *up, const float *down)
{
	for (int k = 0; k < UNITS; k += VL) {
		vf difference[VI_WIDTH];
#pragma GCC unroll 7
		for (int j = 0; j < VI_WIDTH; j++) difference[j] = load(up + k + j) - load(down + k + VI_WIDTH - 1 - j);
#pragma GCC unroll 4
		for (int i = 0; i < VI_PAIRS; i++) {
			vf sum = {};
#pragma GCC unroll 7
			for (int j = 0; j < VI_WIDTH; j++) sum += net->pair[i][j] * difference[j];
			store(unit[i] + k, magnitude(sum));
		}
	}
}

// Six missing rows need a row, and three need the units of a gap. Both are kept in ring buffers.
typedef struct {
	levels row[8];
	float unit[4][VI_PAIRS][UNITS];
} chunk;

// estimate_row computes a chunk of the missing row below the field's row `above`.
INLINE void estimate_row(sample *restrict out, const vi_net *net, const chunk *c, int above, float step, float most)
{
	const float *row[6]; // from column -3 of the chunk
	for (int i = 0; i < 6; i++) row[i] = c->row[(above - 2 + i) & 7] + EDGE - VI_REACH;
	for (int k = 0; k < CHUNK; k += VL) {
		vf sums[VI_SUMS], units[VI_FLAT + VI_PAIRS];
#pragma GCC unroll 7
		for (int j = 0; j < VI_WIDTH; j++) {
			sums[j] = load(row[2] + k + j) + load(row[3] + k + VI_WIDTH - 1 - j);
			sums[VI_WIDTH + j] = load(row[1] + k + j) + load(row[4] + k + VI_WIDTH - 1 - j);
		}
#pragma GCC unroll 3
		for (int j = 0; j < 3; j++) sums[2 * VI_WIDTH + j] = load(row[0] + k + VI_REACH + j - 1) + load(row[5] + k + VI_REACH + 1 - j);
#pragma GCC unroll 2
		for (int i = 0; i < VI_FLAT; i++) {
			vf sum = splat(net->flat_bias[i]);
#pragma GCC unroll 17
			for (int j = 0; j < VI_SUMS; j++) sum += net->flat[i][j] * sums[j];
			units[i] = magnitude(sum);
		}
#pragma GCC unroll 4
		for (int i = 0; i < VI_PAIRS; i++) {
			const float *up = c->unit[(above - 1) & 3][i] + k, *here = c->unit[above & 3][i] + k, *down = c->unit[(above + 1) & 3][i] + k;
			vf sum = net->centre[i][0] * load(here + 1);
			sum += net->centre[i][1] * (load(here) + load(here + 2));
#pragma GCC unroll 3
			for (int j = 0; j < 3; j++) sum += net->outer[i][j] * (load(up + j) + load(down + 2 - j));
			units[VI_FLAT + i] = sum;
		}
		vf weights = splat(net->mean), total = 0.5f * sums[VI_REACH] * net->mean;
#pragma GCC unroll 3
		for (int i = 0; i < VI_GATES; i++) {
			vf gate = splat(net->gate_bias[i]), filtered = {};
#pragma GCC unroll 6
			for (int j = 0; j < VI_FLAT + VI_PAIRS; j++) gate += net->gate[i][j] * units[j];
			gate = where_so(gate > 0, gate, (vf){});
#pragma GCC unroll 17
			for (int j = 0; j < VI_SUMS; j++) filtered += net->filter[i][j] * sums[j];
			weights += gate;
			total += gate * filtered;
		}
		vf v = (total / weights + net->bias) * step + 0.5f;
		v = where_so(v > 0, v, (vf){});
		v = where_so(v < most, v, splat(most));
		vs s = __builtin_convertvector(__builtin_convertvector(v, vi), vs);
		memcpy(out + k, &s, sizeof s);
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
			for (; rows <= above + 3; rows++) load_levels(c.row[rows & 7], lines, rows, x, scale);
			for (; gaps <= above + 1; gaps++) compare(c.unit[gaps & 3], net, c.row[gaps & 7], c.row[(gaps + 1) & 7]);
			sample made[CHUNK];
			estimate_row(made, net, &c, above, step, most);
			memcpy(out, made, n * sizeof *out);
		}
	}
}
