// The second pass, in patches of 16x16: see denoise/fusion. A patch is 16 rows of 16 numbers in
// memory: rows of samples, after the transform the frequencies v for one u. Vectors hold a row, or
// the half of one.

enum { HALVES = 16 / VL };

// Weights are the same in groups of 4x4 coefficients, but for those of the mean and of the slopes:
// row 0 and row 1 have weights of their own, then come the rest of rows 0 to 3, and 4 to 7, ...
enum { GROUPS = 6, FIRST_GROUP = 2 };
INLINE int group_of(int row) { return row < 2 ? row : FIRST_GROUP + row / 4; }

typedef struct {
	_Alignas(64) float own[256], pilot[256]; // own: from the pilot's, at last the mean of all frames
	vf variance[HALVES][GROUPS];             // of the mean, in those of the noise
	vf noise;                                // factor of the variance
	vf whole[VD_NEIGHBOURS];                 // weight of the patch
	int count;                               // neighbours in use
	int used[VD_NEIGHBOURS];
	struct {
		_Alignas(64) float change[256]; // coefficients, from the pilot's
		vf weight[GROUPS][HALVES];      // at first the mean squared changes
	} near[VD_NEIGHBOURS];
} second_patch;

// Where a patch and its matches are.
typedef struct {
	int x, y;
	const uint16_t *pilot;
	const sample *own, *at[VD_NEIGHBOURS]; // at: NULL where out of reach
	int down[VD_NEIGHBOURS];               // half a pel
	ptrdiff_t past;                        // of its first sample in the sums; -1: it does not stand still
} second_places;

// S(k) is cos(k pi / 32) / sqrt(8), of the odd frequencies.
#define S1 0.351850934f
#define S3 0.338329500f
#define S5 0.311806253f
#define S7 0.273300466f
#define S9 0.224291897f
#define S11 0.166663915f
#define S13 0.102631132f
#define S15 0.0346542923f
#define HALF_ROOT 0.707106781f

// Row i has the samples' parts in the frequency 2i + 1.
static const float odd[8][8] = {
	{S1, S3, S5, S7, S9, S11, S13, S15},
	{S3, S9, S15, -S11, -S5, -S1, -S7, -S13},
	{S5, S15, -S7, -S3, -S13, S9, S1, S11},
	{S7, -S11, -S3, S15, S1, S13, -S5, -S9},
	{S9, -S5, -S13, S1, -S15, -S3, S11, S7},
	{S11, -S1, S9, S13, -S3, S7, S15, -S5},
	{S13, -S7, S1, -S5, S11, S15, -S9, S3},
	{S15, -S13, S11, -S9, S7, -S5, S3, -S1},
};

INLINE void dct16(vf x[16])
{
	vf a[8], b[8];
	for (int i = 0; i < 8; i++) a[i] = x[i] + x[15 - i], b[i] = x[i] - x[15 - i];
	dct8(a, HALF_ROOT);
#pragma GCC unroll 8
	for (int k = 0; k < 8; k++) {
		vf sum = b[0] * odd[k][0];
#pragma GCC unroll 8
		for (int i = 1; i < 8; i++) sum = fmadd(b[i], splat(odd[k][i]), sum);
		x[2 * k] = a[k], x[2 * k + 1] = sum;
	}
}

INLINE void idct16(vf x[16])
{
	vf a[8], b[8];
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		vf sum = x[1] * odd[0][i];
#pragma GCC unroll 8
		for (int k = 1; k < 8; k++) sum = fmadd(x[2 * k + 1], splat(odd[k][i]), sum);
		b[i] = sum, a[i] = x[2 * i];
	}
	idct8(a, HALF_ROOT);
	for (int i = 0; i < 8; i++) x[i] = a[i] + b[i], x[15 - i] = a[i] - b[i];
}

// load_lines loads VL columns of samples, of those half a pel down, or of words of a step of level.
INLINE void load_lines(const vd_pass *p, vf x[16], const sample *samples, int down, const uint16_t *words, float level)
{
	ptrdiff_t pitch = p->noisy.pitch;
	if (words) {
		for (int i = 0; i < 16; i++) x[i] = load_words(words + i * pitch) * level;
	} else if (down) {
		vf r[16 + AROUND];
		for (int i = 0; i < 16 + AROUND; i++) r[i] = load_wide(samples + (i - BEFORE) * pitch);
		for (int i = 0; i < 16; i++) x[i] = half_down(p, r + i) * level_of(p);
	} else {
		for (int i = 0; i < 16; i++) x[i] = load_wide(samples + i * pitch) * level_of(p);
	}
}

#if VL == 16 // a square fits into the registers

INLINE void transpose16(vf r[16])
{
	transpose(r);
	transpose(r + 8);
	for (int i = 0; i < 8; i++) { // the lower rows of 8 of both, the upper ones
		__m512 a = (__m512)r[i], b = (__m512)r[i + 8];
		r[i] = (vf)_mm512_shuffle_f32x4(a, b, 0x44);
		r[i + 8] = (vf)_mm512_shuffle_f32x4(a, b, 0xee);
	}
}

// transform sets the coefficients of samples, or of words.
INLINE void transform(const vd_pass *p, float *out, const sample *samples, int down, const uint16_t *words, float level)
{
	vf x[16];
	load_lines(p, x, samples, down, words, level);
	dct16(x);
	transpose16(x);
	dct16(x);
	for (int i = 0; i < 16; i++) store(out + 16 * i, x[i]);
}

static void inverse16(float *m)
{
	vf x[16];
	for (int i = 0; i < 16; i++) x[i] = load(m + 16 * i);
	idct16(x);
	transpose16(x);
	idct16(x);
	for (int i = 0; i < 16; i++) store(m + 16 * i, x[i]);
}

#else

INLINE void load_column(vf x[16], const float *m) { for (int i = 0; i < 16; i++) x[i] = load(m + 16 * i); }
INLINE void store_column(float *m, const vf x[16]) { for (int i = 0; i < 16; i++) store(m + 16 * i, x[i]); }

// transpose16 transposes a square of 16x16 by those of 8x8.
static void transpose16(float *m)
{
	vf r[8], q[8];
	for (int i = 0; i < 16; i += 8) {
		for (int k = 0; k <= i; k += 8) {
			float *a = m + 16 * i + k, *b = m + 16 * k + i;
			for (int j = 0; j < 8; j++) r[j] = load(a + 16 * j), q[j] = load(b + 16 * j);
			transpose(r);
			transpose(q);
			for (int j = 0; j < 8; j++) store(b + 16 * j, r[j]), store(a + 16 * j, q[j]);
		}
	}
}

INLINE void transform(const vd_pass *p, float *out, const sample *samples, int down, const uint16_t *words, float level)
{
	vf x[16];
	for (int h = 0; h < 16; h += VL) {
		load_lines(p, x, samples + h, down, words ? words + h : NULL, level);
		dct16(x);
		store_column(out + h, x);
	}
	transpose16(out);
	for (int h = 0; h < 16; h += VL) {
		load_column(x, out + h);
		dct16(x);
		store_column(out + h, x);
	}
}

static void inverse16(float *m)
{
	vf x[16];
	for (int pass = 0; pass < 2; pass++) {
		if (pass) transpose16(m);
		for (int h = 0; h < 16; h += VL) {
			load_column(x, m + h);
			idct16(x);
			store_column(m + h, x);
		}
	}
}

#endif

static void forward16(const vd_pass *p, float *out, const sample *at) { transform(p, out, at, 0, NULL, 0); }
static void forward_down(const vd_pass *p, float *out, const sample *at) { transform(p, out, at, 1, NULL, 0); }
static void forward_words(const vd_pass *p, float *out, const uint16_t *at, float level) { transform(p, out, p->noisy.at, 0, at, level); }

// sum_all is the sum of the numbers in all halves of a row, in all places.
INLINE vf sum_all(vf s[HALVES])
{
#if VL == 16
	vf x = s[0] + swap_quads(s[0]);
	x += (vf)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0x4e);
	return sum_quads(x);
#else
	return sum_rows(s[0] + s[1]);
#endif
}

#define LEAST_ENERGY 1e-20f // as in denoise/fusion

static const float gates[2][16] = {{1, 0.5f}, {0.5f}};

#define ONE_NOISY 1

// change_second sets the changes of neighbour k.
static void change_second(const vd_pass *p, second_patch *b, const sample *at, int down, int k)
{
	float *change = b->near[k].change;
	vf total[HALVES], factor = 1 / b->noise;
	if (down) forward_down(p, change, at);
	else forward16(p, change, at);
	for (int h = 0; h < HALVES; h++) {
		total[h] = splat(0);
		for (int g = 0; g < 4; g++) {
			vf sum = splat(0);
#pragma GCC unroll 4
			for (int i = 4 * g; i < 4 * g + 4; i++) {
				int at = 16 * i + VL * h;
				vf d = load(change + at) - load(b->pilot + at);
				store(change + at, d);
				vf e = d * d * load(p->inverse + at);
				sum += e;
				if (i < FIRST_GROUP) b->near[k].weight[i][h] = e * factor * load(gates[i] + VL * h) * p->gate;
			}
			sum = sum_quads(sum * factor);
			b->near[k].weight[FIRST_GROUP + g][h] = sum * (1 / 16.f);
			total[h] += sum;
		}
	}
	b->whole[k] = sum_all(total);
}

// weigh_second sets the weights of neighbour k.
INLINE void weigh_second(const vd_pass *p, second_patch *b, int k)
{
	vf c = splat(p->frequency), rest = splat(1 - p->frequency * ONE_NOISY);
	for (int h = 0; h < HALVES; h++) {
		for (int g = 0; g < GROUPS; g++) {
			vf mean = b->near[k].weight[g][h];
			// those of their own are watched beside their group
			if (g < FIRST_GROUP) mean = vmax(mean, b->near[k].weight[FIRST_GROUP][h]);
			mean = vmax(mean, splat(ONE_NOISY));
			b->near[k].weight[g][h] = b->whole[k] * reciprocal(fmadd(mean, c, rest));
		}
	}
}

// weigh_neighbours sets the changes of all neighbours that count, and their weights.
static void weigh_neighbours(const vd_pass *p, second_patch *b, const second_places *at)
{
	int count = 0;
	for (int k = 0; k < p->neighbours; k++)
		if (at->at[k]) change_second(p, b, at->at[k], at->down[k], count++);
	b->count = 0;
	for (int k = 0; k < count; k++) { // each sum of four is there four times
		vf excess = vmax(fmadd(b->whole[k], splat(1 / 1024.f), splat(-ONE_NOISY)), splat(0));
		b->whole[k] = exp2_neg(excess * p->fade);
	}
	for (int k = 0; k < count; k++) {
		if (!any_above(b->whole[k], LEAST_WEIGHT)) continue;
		weigh_second(p, b, k);
		b->used[b->count++] = k;
	}
}

// average_second sets the mean of all frames, and its variance.
static void average_second(second_patch *b)
{
	vf inverse[HALVES][GROUPS];
	for (int h = 0; h < HALVES; h++) {
		vf *v = b->variance[h];
		for (int g = 0; g < GROUPS; g++) {
			vf weight = splat(1), squares = splat(1);
			for (int k = 0; k < b->count; k++) {
				vf w = b->near[b->used[k]].weight[g][h];
				weight += w;
				squares = fmadd(w, w, squares);
			}
			inverse[h][g] = reciprocal(weight);
			v[g] = squares * inverse[h][g] * inverse[h][g];
		}
	}
	for (int h = 0; h < HALVES; h++) {
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			int k = 16 * i + VL * h, g = group_of(i);
			vf sum = load(b->own + k);
			for (int n = 0; n < b->count; n++) {
				int u = b->used[n];
				sum = fmadd(b->near[u].weight[g][h], load(b->near[u].change + k), sum);
			}
			store(b->own + k, fmadd(sum, inverse[h][g], load(b->pilot + k)));
		}
	}
}

// variance_second is the variance in the mean over the frequencies.
static float variance_second(const second_patch *b)
{
	vf total[HALVES];
	for (int h = 0; h < HALVES; h++) {
		const vf *v = b->variance[h];
		total[h] = v[0] + v[1] + 2 * v[2] + 4 * (v[3] + v[4] + v[5]);
	}
	return sum_all(total)[0] * (1 / 256.f);
}

// extend_second takes a sum of frames into the mean so far. The DC, which changes as the light
// does, is judged by itself.
static void extend_second(const vd_pass *p, second_patch *b, const vd_past *past, ptrdiff_t place)
{
	static const float but_dc[16] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const float dc_less[16] = {16 / 15.f, 16 / 15.f, 16 / 15.f, 16 / 15.f, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	_Alignas(64) float change[256];
	vf total[HALVES], weight[HALVES][GROUPS], count = splat(past->count), own = splat(1 / past->count);
	forward_words(p, change, past->at + place, past->level);
	for (int h = 0; h < HALVES; h++) {
		vf factor[GROUPS];
		for (int g = 0; g < GROUPS; g++) factor[g] = reciprocal(b->noise * (own + b->variance[h][g]));
		total[h] = splat(0);
		for (int g = 0; g < 4; g++) {
			vf sum = splat(0);
#pragma GCC unroll 4
			for (int i = 4 * g; i < 4 * g + 4; i++) {
				int at = 16 * i + VL * h;
				vf d = load(change + at) - load(b->own + at);
				store(change + at, d);
				vf e = d * d * load(p->inverse + at) * factor[group_of(i)];
				if (i < FIRST_GROUP) weight[h][i] = e * load(gates[i] + VL * h) * p->gate;
				if (i == 0 && h == 0) e *= load(but_dc);
				sum += e;
			}
			sum = sum_quads(sum) * (1 / 16.f);
			total[h] += sum;
			weight[h][FIRST_GROUP + g] = g == 0 && h == 0 ? sum * load(dc_less) : sum;
		}
	}
	// each mean of 16 is there four times
	vf excess = vmax(fmadd(sum_all(total), splat(4.f / 255), splat(-ONE_NOISY)), splat(0));
	vf whole = exp2_neg(excess * p->fade);
	if (!any_above(whole, LEAST_WEIGHT)) return;
	vf c = splat(p->frequency), rest = splat(1 - p->frequency * ONE_NOISY);
	for (int h = 0; h < HALVES; h++) {
		vf *v = b->variance[h];
		for (int g = 0; g < GROUPS; g++) {
			vf mean = weight[h][g];
			if (g < FIRST_GROUP) mean = vmax(mean, weight[h][FIRST_GROUP]);
			vf w = whole * reciprocal(fmadd(vmax(mean, splat(ONE_NOISY)), c, rest));
			vf have = reciprocal(v[g]), more = count * w, all = reciprocal(have + more);
			weight[h][g] = more * all;
			v[g] = fmadd(more, w, have) * all * all;
		}
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			float *mean = b->own + 16 * i + VL * h;
			store(mean, fmadd(weight[h][group_of(i)], load(change + 16 * i + VL * h), load(mean)));
		}
	}
}

// shrink_second puts the mean into out, scaled by what part of the energy is the pilot's and
// blended with the pilot, and returns the noise left.
static float shrink_second(const vd_pass *p, const second_patch *b, float *out)
{
	float part = (variance_second(b) - p->from) * (1 / (p->to - p->from));
	vf share = splat(p->blend * (part < 0 ? 0 : part > 1 ? 1 : part)), left = splat(0);
	for (int h = 0; h < HALVES; h++) {
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			int k = 16 * i + VL * h, g = group_of(i);
			vf pilot = load(b->pilot + k), energy = fmadd(pilot, pilot, splat(LEAST_ENERGY));
			vf noise = p->share * load(p->variance + k) * b->noise * b->variance[h][g];
			vf gain = fnmadd(noise, reciprocal(energy + noise), splat(1));
			vf own = load(b->own + k) * gain;
			store(out + k, fmadd(share, pilot - own, own));
			left = fmadd(gain * gain, b->variance[h][g], left);
		}
	}
	left = sum_rows(left);
	return VL == 16 ? left[0] + left[VL - 1] : left[0];
}

static void add_second(const vd_pass *p, vd_sums s, int x, int y, float *mean, float left)
{
	mean[0] -= 16 * MIDDLE;
	inverse16(mean);
	vf weight = splat(p->unit / (left < LEAST_LEFT ? LEAST_LEFT : left));
	vf most = splat(p->limit), least = -most;
	for (int i = 0; i < 16; i++) {
		int32_t *weights = s.weights + (y + i) * s.pitch + x, *values = s.values + (y + i) * s.pitch + x;
		for (int h = 0; h < 16; h += VL) {
			vi g = nearest(weight * load(p->window + 16 * i + h));
			vi v = nearest(to_float(g) * vmin(vmax(load(mean + 16 * i + h), least), most));
			for (int k = 0; k < PAIR; k++) {
				add_row(weights + h + 8 * k, g, k);
				add_row(values + h + 8 * k, v, k);
			}
		}
	}
}

static void fuse_second(const vd_pass *p, vd_sums s, int top, const second_places *at)
{
	second_patch b;
	_Alignas(64) float mean[256];
	forward_words(p, b.pilot, at->pilot, pilot_of(p));
	forward16(p, b.own, at->own);
	for (int k = 0; k < 256; k += VL) store(b.own + k, load(b.own + k) - load(b.pilot + k));
	b.noise = splat(noise_at(p, b.pilot[0] / 16));
	weigh_neighbours(p, &b, at);
	average_second(&b);
	if (at->past >= 0 && variance_second(&b) <= p->past_most)
		for (int k = 0; k < p->pasts; k++) extend_second(p, &b, &p->past[k], at->past);
	float left = shrink_second(p, &b, mean);
	add_second(p, s, at->x, at->y - top, mean, left);
}

// find_second finds patch i of a row and its matches, and starts to fetch their samples.
static void find_second(const vd_pass *p, second_places *at, int y, int i)
{
	at->x = place(i, p->noisy.width, 16, p->stride), at->y = y;
	int cell = cell_of(p, 16, at->x, y);
	at->own = row_of(p->noisy, y) + at->x;
	at->pilot = p->pilot + y * p->noisy.pitch + at->x;
	ptrdiff_t pitch = p->noisy.pitch * sizeof(sample);
	fetch(at->own, pitch, 16);
	fetch(at->pilot, p->noisy.pitch * sizeof *at->pilot, 16);
	for (int k = 0; k < p->neighbours; k++) {
		at->at[k] = matching(p, &p->near[k], 16, at->x, y, cell, &at->down[k]);
		if (at->at[k]) fetch_match(at->at[k], p->noisy.pitch, 16, at->down[k]);
	}
	at->past = -1;
	if (p->pasts == 0 || abs(p->still[cell].x) + abs(p->still[cell].y) > p->past_reach) return;
	at->past = y * p->noisy.pitch + at->x;
	for (int k = 0; k < p->pasts; k++) fetch(p->past[k].at + at->past, p->noisy.pitch * sizeof(uint16_t), 16);
}

static void second_row(const vd_pass *p, vd_sums s, int top, int y)
{
	int columns = places(p->noisy.width, 16, p->stride);
	second_places at[2]; // of this patch, and of the next one
	find_second(p, &at[0], y, 0);
	for (int i = 0; i < columns; i++) {
		if (i + 1 < columns) find_second(p, &at[(i + 1) & 1], y, i + 1);
		fuse_second(p, s, top, &at[i & 1]);
	}
}
