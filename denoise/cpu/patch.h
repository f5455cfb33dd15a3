// The patches of both passes: their places, the places of their matches, and the transforms.

INLINE int places(int size, int n, int stride) { return (size - n + stride - 1) / stride + 1; }
INLINE int place(int i, int size, int n, int stride) { return mini(i * stride, size - n); }

// scaled divides by 1 << shift, rounding halves away from zero.
INLINE int scaled(int a, int shift)
{
	int half = 1 << shift >> 1, sign = a >> 31;
	return (((a ^ sign) - sign + half) >> shift ^ sign) - sign;
}

// cell_of is the cell whose vector the patch of side n at (x, y) has.
INLINE int cell_of(const vd_pass *p, int n, int x, int y)
{
	int cx = mini((x + n / 2) << p->shift_x >> p->cell_shift, p->cells_x - 1);
	int cy = mini((y + n / 2) << p->shift_y >> p->cell_shift, p->cells_y - 1);
	return cy * p->cells_x + cx;
}

// matching returns the first sample of the patch that the vector of the patch at (x, y) leads to,
// or NULL if the neighbour is out of reach. The patch may be half a pel further down.
INLINE const sample *matching(const vd_pass *p, const vd_neighbour *near, int n, int x, int y, int cell, int *down)
{
	vd_vector v = near->field[cell];
	if (near->reach && abs(v.x) + abs(v.y) > near->reach) return NULL;
	int vx = scaled(v.x, p->shift_x), vy = scaled(v.y, p->shift_y);
	const sample *plane = near->between[vx & 1].at;
	x = clampi(x + (vx >> 1), 0, p->noisy.width - n);
	y = clampi(y + (vy >> 1), 0, p->noisy.height - n);
	*down = vy & 1;
	return plane + y * p->noisy.pitch + x;
}

// A sample half a pel down is the sum of BEFORE samples above it, of itself, and of those below:
// whole planes of them would take a third of all memory.
enum { BEFORE = 3, AROUND = 7 };

// half_down is interpolate of rows r[0] to r[AROUND]. All numbers are whole, or 64ths, and exact.
INLINE vf half_down(const vd_pass *p, const vf *r)
{
	vf sum = 40 * (r[3] + r[4]) - 11 * (r[2] + r[5]) + 4 * (r[1] + r[6]) - (r[0] + r[7]);
	vf v = vmin(vmax(fmadd(sum, splat(1 / 64.f), splat(0.5f)), splat(0)), splat(most_of(p->noisy)));
	return to_float(to_whole(v));
}

INLINE vf load_pilot(const vd_pass *p, const uint16_t *at) { return load_words(at) * pilot_of(p); }

enum { AHEAD = 4 }; // patches of a row whose samples are being fetched: a power of two

// fetch starts to fetch the rows of a patch, pitch bytes apart. The processor follows a few rows by
// itself, not the 56 of seven frames.
INLINE void fetch(const void *at, ptrdiff_t pitch, int n)
{
	for (int i = 0; i < n; i++) __builtin_prefetch((const char *)at + i * pitch);
}

// fetch_match is fetch of a match, which may be half a pel down.
INLINE void fetch_match(const sample *at, ptrdiff_t pitch, int n, int down)
{
	fetch(at, pitch * sizeof *at, n);
	if (!down) return;
	fetch(at - BEFORE * pitch, pitch * sizeof *at, BEFORE);
	fetch(at + n * pitch, pitch * sizeof *at, AROUND - BEFORE);
}

// The noise of samples that are cut off at white is less; see denoise/fusion.
#define WHITE 255
#define CLIPPED_LEAST 0.34f
#define CLIPPED_FROM 0.4f
#define CLIPPED_TO 2.0f

// noise_at is the factor of the variance in a patch of a given mean.
INLINE float noise_at(const vd_pass *p, float mean)
{
	float factor = p->curve[clampi((int)mean, 0, 255)];
	if (p->clip) {
		float open = ((WHITE - mean) / p->sigma - CLIPPED_FROM) / (CLIPPED_TO - CLIPPED_FROM);
		open = open < 0 ? 0 : open > 1 ? 1 : open;
		factor *= CLIPPED_LEAST + (1 - CLIPPED_LEAST) * open;
	}
	return factor;
}

// Neighbours that count less than this are left out: together they are less than 1e-5 of a mean.
#define LEAST_WEIGHT 1e-6f
#define LEAST_LEFT 0.1f
#define MIDDLE 128

// The parts of the DCT: C(k) of 8 is cos(k pi / 16) / 2.
#define C1 0.490392640f
#define C2 0.461939766f
#define C3 0.415734806f
#define C4 0.353553391f
#define C5 0.277785117f
#define C6 0.191341716f
#define C7 0.0975451610f

// dct8 transforms the columns of x, times scale: even frequencies from the sums of both halves,
// odd ones from the differences.
INLINE void dct8(vf x[8], float scale)
{
	vf a0 = x[0] + x[7], a1 = x[1] + x[6], a2 = x[2] + x[5], a3 = x[3] + x[4];
	vf b0 = x[0] - x[7], b1 = x[1] - x[6], b2 = x[2] - x[5], b3 = x[3] - x[4];
	vf c1 = splat(scale * C1), c2 = splat(scale * C2), c3 = splat(scale * C3), c4 = splat(scale * C4);
	vf c5 = splat(scale * C5), c6 = splat(scale * C6), c7 = splat(scale * C7);
	vf e0 = a0 + a3, e1 = a1 + a2, e2 = a0 - a3, e3 = a1 - a2;
	x[0] = (e0 + e1) * c4;
	x[4] = (e0 - e1) * c4;
	x[2] = fmadd(e2, c2, e3 * c6);
	x[6] = fnmadd(e3, c2, e2 * c6);
	x[1] = fmadd(b0, c1, fmadd(b1, c3, fmadd(b2, c5, b3 * c7)));
	x[3] = fnmadd(b3, c5, fnmadd(b2, c1, fnmadd(b1, c7, b0 * c3)));
	x[5] = fmadd(b3, c3, fmadd(b2, c7, fnmadd(b1, c1, b0 * c5)));
	x[7] = fnmadd(b3, c1, fmadd(b2, c3, fnmadd(b1, c5, b0 * c7)));
}

INLINE void idct8(vf x[8], float scale)
{
	vf c1 = splat(scale * C1), c2 = splat(scale * C2), c3 = splat(scale * C3), c4 = splat(scale * C4);
	vf c5 = splat(scale * C5), c6 = splat(scale * C6), c7 = splat(scale * C7);
	vf e0 = (x[0] + x[4]) * c4, e1 = (x[0] - x[4]) * c4;
	vf e2 = fmadd(x[2], c2, x[6] * c6), e3 = fnmadd(x[6], c2, x[2] * c6);
	vf a0 = e0 + e2, a3 = e0 - e2, a1 = e1 + e3, a2 = e1 - e3;
	vf b0 = fmadd(x[1], c1, fmadd(x[3], c3, fmadd(x[5], c5, x[7] * c7)));
	vf b1 = fnmadd(x[7], c5, fnmadd(x[5], c1, fnmadd(x[3], c7, x[1] * c3)));
	vf b2 = fmadd(x[7], c3, fmadd(x[5], c7, fnmadd(x[3], c1, x[1] * c5)));
	vf b3 = fnmadd(x[7], c1, fmadd(x[5], c3, fnmadd(x[3], c5, x[1] * c7)));
	x[0] = a0 + b0, x[7] = a0 - b0, x[1] = a1 + b1, x[6] = a1 - b1;
	x[2] = a2 + b2, x[5] = a2 - b2, x[3] = a3 + b3, x[4] = a3 - b3;
}

// The same transforms without a scale of each coefficient, which is part of the tables: see
// vd_set_scales. Of the factors, ratios remain, so that a step is a single multiply-add.
#define TAN1 0.198912367f // of k pi / 16
#define TAN2 0.414213562f
#define TAN3 0.668178638f
#define RATIO 1.17958066f // C1 / C3

INLINE void dct8_scaled(vf x[8])
{
	vf a0 = x[0] + x[7], a1 = x[1] + x[6], a2 = x[2] + x[5], a3 = x[3] + x[4];
	vf b0 = x[0] - x[7], b1 = x[1] - x[6], b2 = x[2] - x[5], b3 = x[3] - x[4];
	vf tan1 = splat(TAN1), tan2 = splat(TAN2), tan3 = splat(TAN3), ratio = splat(RATIO);
	vf e0 = a0 + a3, e1 = a1 + a2, e2 = a0 - a3, e3 = a1 - a2;
	vf u0 = fnmadd(b3, tan3, b0), u3 = fmadd(b0, tan3, b3), u1 = fnmadd(b2, tan1, b1), u2 = fmadd(b1, tan1, b2);
	vf v0 = fmadd(u2, ratio, u0), v3 = fmadd(u1, ratio, u3);
	x[0] = e0 + e1, x[4] = e0 - e1;
	x[2] = fmadd(e3, tan2, e2), x[6] = fmadd(e2, tan2, -e3);
	x[1] = v0 + v3, x[7] = v0 - v3;
	x[3] = fnmadd(u2, ratio, u0), x[5] = fnmadd(u1, ratio, u3);
}

INLINE void idct8_scaled(vf x[8])
{
	vf tan1 = splat(TAN1), tan2 = splat(TAN2), tan3 = splat(TAN3), ratio = splat(RATIO);
	vf e0 = x[0] + x[4], e1 = x[0] - x[4], e2 = fmadd(x[6], tan2, x[2]), e3 = fmadd(x[2], tan2, -x[6]);
	vf a0 = e0 + e2, a3 = e0 - e2, a1 = e1 + e3, a2 = e1 - e3;
	vf v0 = x[1] + x[7], v3 = x[1] - x[7];
	vf u0 = v0 + x[3], u2 = v0 - x[3], u3 = v3 + x[5], u1 = v3 - x[5];
	vf b0 = fmadd(u3, tan3, u0), b3 = fnmadd(u0, tan3, u3), b1 = fmadd(u2, tan1, u1), b2 = fnmadd(u1, tan1, u2);
	x[0] = a0 + b0, x[7] = a0 - b0, x[3] = a3 + b3, x[4] = a3 - b3;
	x[1] = fmadd(b1, ratio, a1), x[6] = fnmadd(b1, ratio, a1);
	x[2] = fmadd(b2, ratio, a2), x[5] = fnmadd(b2, ratio, a2);
}
