// Converts rows of samples to rows of the ring, and results to rows of samples. Included by
// cpu_tile.h.

INLINE float *ring_row(scratch *s, int y)
{
	return s->ring + (size_t)((y - s->top) % s->slots) * PLANES * ROW;
}

// border_index maps a coordinate into 0..n-1.
static int border_index(int i, int n, int border)
{
	if (i >= 0 && i < n) return i;
	if (border == VF_REFLECT && n > 1) {
		int period = 2 * (n - 1);
		i %= period;
		if (i < 0) i += period;
		return i < n ? i : period - i;
	}
	return i < 0 ? 0 : n - 1;
}

// Exact ties of the formulas must not depend on the last bit of a float, so all ties round up.
#define TIE_UP (1.0f / 16384)

INLINE vf to_word(const vf_job *j, vf x) { return vmin(vmax(round_near(x), splat(0)), most_of(j)); }

// The first sample of a row.
INLINE const sample *source(const vf_job *j, int plane, int y) { return (const sample *)(j->src[plane] + y * j->src_pitch[plane]); }
INLINE sample *target(const vf_job *j, int plane, int y) { return (sample *)(j->dst[plane] + y * j->dst_pitch[plane]); }

// stage returns samples (of unit bytes) in place if whole vectors stay within the row of width
// samples, else a copy.
INLINE const void *stage(void *copy, const void *row, int first, int n, int width, size_t unit)
{
	row = (const uint8_t *)row + first * unit;
	if (first + (n + VL - 1) / VL * VL <= width) return row;
	memcpy(copy, row, n * unit);
	return copy;
}

// Results are written in place if they are whole vectors, else through unstage: the bytes beyond
// may be another thread's tile.
INLINE sample *stage_out(sample *copy, sample *to, int n) { return n % VL ? copy : to; }
INLINE void unstage(const sample *copy, sample *to, int n) { if (n % VL) memcpy(to, copy, n * sizeof *to); }

// Rows of a tile are a pitch apart, which the hardware prefetcher does not follow.
INLINE void prefetch(const void *p, int n)
{
	for (int i = 0; i < n; i += 64) __builtin_prefetch((const uint8_t *)p + i);
}

// repeat copies n samples, each step of from, twice each if times is 2.
INLINE void repeat(sample *restrict to, const sample *restrict from, int n, int step, int times)
{
	if (times == 1)
		for (int i = 0; i < n; i++) to[i] = from[step * i];
	else
		for (int i = 0; i < n; i++) to[2 * i] = to[2 * i + 1] = from[step * i];
}

// load_chroma computes the contribution of U and V of chroma row cy to the colours of columns c0
// <= x < c1, c0 even.
static void load_chroma(const vf_job *j, scratch *s, int cy, int c0, int c1)
{
	if (s->chroma_row == cy) return;
	s->chroma_row = cy;
	int first = c0 >> j->sub_x, n = ((c1 + j->sub_x) >> j->sub_x) - first;
	if (j->pairs) {
		const sample *from = source(j, 1, cy) + 2 * first;
		repeat(s->us, from, n, 2, 1 << j->sub_x);
		repeat(s->vs, from + 1, n, 2, 1 << j->sub_x);
	} else {
		const sample *from = source(j, 1, cy) + first, *other = source(j, 2, cy) + first;
		repeat(s->us, from, n, 1, 1 << j->sub_x);
		repeat(s->vs, other, n, 1, 1 << j->sub_x);
		if (cy + AHEAD / 2 < j->chroma_read) {
			prefetch(source(j, 1, cy + AHEAD / 2) + first, n * sizeof *from);
			prefetch(source(j, 2, cy + AHEAD / 2) + first, n * sizeof *from);
		}
	}
	vf r_v = splat(j->color.r_v), g_u = splat(j->color.g_u), g_v = splat(j->color.g_v), b_u = splat(j->color.b_u);
	vf r_0 = splat(j->color.r_0), g_0 = splat(j->color.g_0), b_0 = splat(j->color.b_0);
	for (int i = 0; i < c1 - c0; i += VL) {
		vf u = load_samples(j, s->us + i), v = load_samples(j, s->vs + i);
		store(s->chroma[0] + i, fused(r_v, v, r_0));
		store(s->chroma[1] + i, fused(g_u, u, fused(g_v, v, g_0)));
		store(s->chroma[2] + i, fused(b_u, u, b_0));
	}
}

static void load_rgba(const vf_job *j, scratch *s, float *to, int y, int c0, int c1)
{
	const uint8_t *row = j->src[0] + y * j->src_pitch[0];
	const uint8_t *rgba = stage(s->rgba8, row, c0, c1 - c0, j->width, 4);
	if (y + AHEAD < j->height) prefetch(row + AHEAD * j->src_pitch[0] + 4 * c0, 4 * (c1 - c0));
	float scale = j->scale;
	for (int i = 0; i < c1 - c0; i += VL) {
		vi w;
		memcpy(&w, rgba + 4 * i, sizeof w);
		for (int c = 0; c < 3; c++) store(to + c * ROW + i, to_float((w >> 8 * c) & 255) * scale);
	}
}

// The planes of R, G and B.
static const int gbr[] = {2, 0, 1};

static void load_gbr(const vf_job *j, scratch *s, float *to, int y, int c0, int c1)
{
	float scale = j->scale;
	for (int c = 0; c < 3; c++) {
		const sample *from = stage(s->ys, source(j, gbr[c], y), c0, c1 - c0, j->width, sizeof *from);
		if (y + AHEAD < j->height) prefetch(source(j, gbr[c], y + AHEAD) + c0, (c1 - c0) * sizeof *from);
		for (int i = 0; i < c1 - c0; i += VL) store(to + c * ROW + i, load_samples(j, from + i) * scale);
	}
}

static void load_yuv(const vf_job *j, scratch *s, float *to, int y, int c0, int c1)
{
	int cy = y >> j->sub_y;
	load_chroma(j, s, cy < j->chroma_read ? cy : j->chroma_read - 1, c0, c1);
	const sample *ys = stage(s->ys, source(j, 0, y), c0, c1 - c0, j->width, sizeof *ys);
	if (y + AHEAD < j->height) {
		prefetch(source(j, 0, y + AHEAD) + c0, (c1 - c0) * sizeof *ys);
		prefetch(target(j, 0, y + AHEAD) + c0, (c1 - c0) * sizeof *ys);
	}
	vf gain = splat(j->color.y_gain), scale = splat(j->scale);
	for (int i = 0; i < c1 - c0; i += VL) {
		vf yf = load_samples(j, ys + i);
		for (int c = 0; c < 3; c++) {
			vf colour = vmin(vmax(fused(gain, yf, load(s->chroma[c] + i)), splat(0)), splat(1));
			store(to + c * ROW + i, whole(colour, most_of(j)) * scale);
		}
	}
}

// load_row loads row y, which may lie outside the picture, into the ring.
static void load_row(const vf_job *j, scratch *s, int y)
{
	float *row = ring_row(s, y);
	int r = j->radius, at = border_index(y, j->height, j->border);
	// PAD is more than r columns, to keep vector stores aligned.
	int c0 = s->x0 > PAD ? s->x0 - PAD : 0;
	int c1 = s->x1 + r < j->width ? s->x1 + r : j->width;
	float *to = row + PAD + c0 - s->x0;
	(j->layout == VF_RGBA ? load_rgba : j->layout == VF_GBRP ? load_gbr : load_yuv)(j, s, to, at, c0, c1);
	float *origin = row + PAD - s->x0; // column x of plane c is origin[c * ROW + x]
	for (int c = 0; c < PLANES; c++) {
		for (int x = s->x0 - r; x < 0; x++) origin[c * ROW + x] = origin[c * ROW + border_index(x, j->width, j->border)];
		for (int x = j->width; x < s->x1 + r; x++) origin[c * ROW + x] = origin[c * ROW + border_index(x, j->width, j->border)];
	}
}

// Results to planes: the changes of words, whole levels in s->out, are added to the samples.

// added returns samples plus a change of colour, converted by k.
INLINE vf added(const vf_job *j, const sample *samples, const float *k, vf r, vf g, vf b)
{
	vf x = fmadd(r, splat(k[0]), load_samples(j, samples) + TIE_UP);
	return to_word(j, fmadd(b, splat(k[2]), fmadd(g, splat(k[1]), x)));
}

static void store_luma(const vf_job *j, scratch *s, int y)
{
	const float *change = s->out[y & 1][0] + PAD;
	int n = s->x1 - s->x0;
	const sample *from = stage(s->ys, source(j, 0, y), s->x0, n, j->width, sizeof *from);
	sample *row = target(j, 0, y) + s->x0, *to = stage_out(s->ys, row, n);
	for (int i = 0; i < n; i += VL) {
		const float *c = change + i;
		store_samples(j, to + i, added(j, from + i, j->color.y, load(c), load(c + ROW), load(c + 2 * ROW)));
	}
	unstage(to, row, n);
}

static void store_rgba(const vf_job *j, scratch *s, int y)
{
	const float *change = s->out[y & 1][0] + PAD;
	int n = s->x1 - s->x0;
	memcpy(s->rgba8, j->src[0] + y * j->src_pitch[0] + 4 * (ptrdiff_t)s->x0, 4 * (size_t)n);
	for (int i = 0; i < n; i += VL) {
		vi w;
		memcpy(&w, s->rgba8 + 4 * i, sizeof w);
		// Each sum is within 0 to 255, so there is no carry.
		for (int c = 0; c < 3; c++) w += to_int(load(change + c * ROW + i)) << 8 * c;
		memcpy(s->rgba8 + 4 * i, &w, sizeof w);
	}
	memcpy(j->dst[0] + y * j->dst_pitch[0] + 4 * (ptrdiff_t)s->x0, s->rgba8, 4 * (size_t)n);
}

static void store_gbr(const vf_job *j, scratch *s, int y)
{
	int n = s->x1 - s->x0;
	for (int c = 0; c < 3; c++) {
		const float *change = s->out[y & 1][0] + PAD + c * ROW;
		const sample *from = stage(s->ys, source(j, gbr[c], y), s->x0, n, j->width, sizeof *from);
		sample *row = target(j, gbr[c], y) + s->x0, *to = stage_out(s->ys, row, n);
		for (int i = 0; i < n; i += VL) store_samples(j, to + i, to_word(j, load_samples(j, from + i) + load(change + i)));
		unstage(to, row, n);
	}
}

// The n samples of U or V of chroma row cy that belong to the tile, from c0 on, and their
// destination, staged if necessary.
typedef struct { const sample *from; sample *to, *row; } chroma_part;

static chroma_part chroma_of(const vf_job *j, sample *copy, int plane, int cy, int c0, int n)
{
	chroma_part p;
	if (!j->pairs) {
		int width = (j->width + j->sub_x) >> j->sub_x;
		p.row = target(j, plane, cy) + c0;
		p.from = stage(copy, source(j, plane, cy), c0, n, width, sizeof *copy), p.to = stage_out(copy, p.row, n);
		return p;
	}
	int first = 2 * c0 + plane - 1;
	repeat(copy, source(j, 1, cy) + first, n, 2, 1);
	p.from = p.to = copy, p.row = target(j, 1, cy) + first;
	return p;
}

static void end_chroma(const vf_job *j, chroma_part p, int n)
{
	if (j->pairs)
		for (int i = 0; i < n; i++) p.row[2 * i] = p.to[i];
	else
		unstage(p.to, p.row, n);
}

// store_chroma writes chroma row cy from the changes of words in one row (rows = 1) or two.
static void store_chroma(const vf_job *j, scratch *s, int cy, int first, int rows)
{
	int n = s->x1 - s->x0, cn = (n + j->sub_x) >> j->sub_x, c0 = s->x0 >> j->sub_x;
	float *a = s->out[first][0] + PAD, *b = s->out[first + rows - 1][0] + PAD;
	float parts = 1.0f / (2 << j->sub_x);
	chroma_part u = chroma_of(j, s->us, 1, cy, c0, cn), v = chroma_of(j, s->vs, 2, cy, c0, cn);
	for (int c = 0; c < 3; c++) { // an odd last column also stands in for the missing one
		a[c * ROW + n] = a[c * ROW + n - 1];
		b[c * ROW + n] = b[c * ROW + n - 1];
	}
	for (int i = 0; i < cn; i += VL) {
		vf mean[3];
		for (int c = 0; c < 3; c++) {
			const float *pa = a + c * ROW, *pb = b + c * ROW;
			if (j->sub_x)
				mean[c] = add_pairs(load(pa + 2 * i) + load(pb + 2 * i), load(pa + 2 * i + VL) + load(pb + 2 * i + VL));
			else
				mean[c] = load(pa + i) + load(pb + i);
			mean[c] *= parts;
		}
		store_samples(j, u.to + i, added(j, u.from + i, j->color.u, mean[0], mean[1], mean[2]));
		store_samples(j, v.to + i, added(j, v.from + i, j->color.v, mean[0], mean[1], mean[2]));
	}
	end_chroma(j, u, cn);
	end_chroma(j, v, cn);
}

static void store_rows(const vf_job *j, scratch *s, int y, int rows)
{
	for (int k = 0; k < rows; k++) (j->layout == VF_RGBA ? store_rgba : j->layout == VF_GBRP ? store_gbr : store_luma)(j, s, y + k);
	if (j->layout == VF_RGBA || j->layout == VF_GBRP) return;
	int step = 1 << j->sub_y;
	for (int k = 0; k < rows; k += step) {
		int cy = (y + k) >> j->sub_y;
		if (cy >= j->chroma_write) return;
		store_chroma(j, s, cy, k, rows - k < step ? rows - k : step);
	}
}
