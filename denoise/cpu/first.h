// The first pass, in patches of 8x8: see denoise/fusion. Where a vector holds two patches, all is
// done for both at once. They are half a plane apart, since adding to overlapping sums at once
// would stall. A patch is 8 vectors: rows of samples, then the frequencies v for one u each.
//
// The work on a patch goes through all neighbours several times. A neighbour is one long chain of
// operations, and the processor looks ahead only so far: it must find others to fill the gaps with.
//
// The unit of each coefficient is the deviation of its noise.

typedef struct {
	vf minus_own[8];
	vf unit[8]; // from dct8_scaled's result
	int count;  // neighbours in use
	int used[VD_NEIGHBOURS];
	vf whole[VD_NEIGHBOURS]; // weight of the patch
	struct {
		vf change[8]; // of coefficients, from the frame's own
		_Alignas(64) float squared[8][16]; // changes, from BESIDE on; where VL is 8, zeros beside them
		vf weight[8];
	} near[VD_NEIGHBOURS];
} first_patch;

enum { BESIDE = VL == 8 ? 4 : 0 };

// clear_beside sets the zeros, which no patch changes.
static void clear_beside(first_patch *b, int neighbours)
{
	for (int k = 0; k < neighbours; k++) memset(b->near[k].squared, 0, sizeof b->near[k].squared);
}

// Where patches and their matches are.
typedef struct {
	int x[PAIR], y, count; // count: patches
	const sample *own[PAIR];
	const sample *at[VD_NEIGHBOURS][PAIR];
	int down[VD_NEIGHBOURS][PAIR]; // half a pel
	float reach[VD_NEIGHBOURS][PAIR]; // 0 for a neighbour that is out of reach, or 1
} first_places;

// load_down loads patches, some of them half a pel down.
static void load_down(const vd_pass *p, vf t[8], const sample *const *at, const int *down)
{
	vf r[8 + AROUND];
	float share[PAIR];
	for (int i = 0; i < 8 + AROUND; i++) r[i] = load_samples(at, (i - BEFORE) * p->noisy.pitch);
	for (int k = 0; k < PAIR; k++) share[k] = down[k];
	vf which = per_patch(share); // 1 or 0
	for (int i = 0; i < 8; i++) t[i] = fmadd(half_down(p, r + i) - r[i + BEFORE], which, r[i + BEFORE]);
}

INLINE void forward(const vd_pass *p, vf t[8], const sample *const *at, const int *down)
{
	int any = 0;
	for (int k = 0; k < PAIR; k++) any |= down[k];
	if (any) load_down(p, t, at, down);
	else for (int i = 0; i < 8; i++) t[i] = load_samples(at, i * p->noisy.pitch);
	dct8_scaled(t);
	transpose(t);
	dct8_scaled(t);
}

// pool sums the 3x3 about each place. x holds sums of three across.
INLINE void pool(vf x[8])
{
	vf both = x[0] + x[1];
	x[0] = both;
#pragma GCC unroll 8
	for (int i = 1; i < 7; i++) {
		vf next = x[i] + x[i + 1];
		x[i] = both + x[i + 1], both = next;
	}
	x[7] = both;
}

// How many of the 3x3 about a place exist: in a corner, at an edge, inside.
static const float around_corner[8] = {4, 6, 6, 6, 6, 6, 6, 4};
static const float around_inside[8] = {6, 9, 9, 9, 9, 9, 9, 6};
static const float inverse_corner[8] = {1 / 4.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 4.f};
static const float inverse_inside[8] = {1 / 6.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 6.f};
// The same without the DC.
static const float count_first[8] = {3, 5, 6, 6, 6, 6, 6, 4}, count_second[8] = {5, 8, 9, 9, 9, 9, 9, 6};
static const float gate_first[8] = {1, 0.5f}, gate_second[8] = {0.5f};

#define TWO_NOISY 2
#define LEAST_WHOLE 1e-12f // instead of 0, by which it would divide

// change_first sets the changes of neighbour k.
INLINE void change_first(const vd_pass *p, first_patch *b, const first_places *at, int k)
{
	vf t[8], total = splat(0);
	forward(p, t, at->at[k], at->down[k]);
	for (int i = 0; i < 8; i++) {
		vf d = fmadd(t[i], b->unit[i], b->minus_own[i]), e = d * d;
		b->near[k].change[i] = d;
		store(b->near[k].squared[i] + BESIDE, e);
		total += e;
	}
	b->whole[k] = total;
}

// weigh_first sets the weights of neighbour k: whole / (1 + c (mean - TWO_NOISY)). The mean of the
// squared changes around is TWO_NOISY at the least.
INLINE void weigh_first(const vd_pass *p, first_patch *b, int k)
{
	vf e[8], *weight = b->near[k].weight, most = reciprocal(vmax(b->whole[k], splat(LEAST_WHOLE)));
	float (*squared)[16] = b->near[k].squared;
	vf gate0 = load(squared[0] + BESIDE) * load_row(gate_first) * p->gate;
	vf gate1 = load(squared[1] + BESIDE) * load_row(gate_second) * p->gate;
	for (int i = 0; i < 8; i++) e[i] = sum_beside(squared[i] + BESIDE);
	pool(e);
	vf c = p->frequency * most, rest = (1 - p->frequency * TWO_NOISY) * most;
	vf corner = load_row(inverse_corner) * c, inside = load_row(inverse_inside) * c;
	for (int i = 0; i < 8; i++) {
		vf inverse = vmax(fmadd(e[i], i == 0 || i == 7 ? corner : inside, rest), most);
		if (i == 0) inverse = vmax(inverse, fmadd(gate0, c, rest));
		if (i == 1) inverse = vmax(inverse, fmadd(gate1, c, rest));
		weight[i] = reciprocal(inverse);
	}
}

// weigh_all sets the changes of all neighbours that count, and their weights.
INLINE void weigh_all(const vd_pass *p, first_patch *b, const first_places *at)
{
	for (int k = 0; k < p->neighbours; k++) change_first(p, b, at, k);
	for (int k = 0; k < p->neighbours; k++) {
		vf excess = vmax(fmadd(sum_rows(b->whole[k]), splat(1 / 64.f), splat(-TWO_NOISY)), splat(0));
		b->whole[k] = exp2_neg(excess * p->fade) * per_patch(at->reach[k]);
	}
	b->count = 0;
	for (int k = 0; k < p->neighbours; k++) {
		if (!any_above(b->whole[k], LEAST_WEIGHT)) continue;
		weigh_first(p, b, k);
		b->used[b->count++] = k;
	}
}

#define ENERGY_BOUND 9

// shrink makes of the mean its coefficients without noise, and returns the noise left in them.
INLINE vf shrink(const vd_pass *p, vf mean[8], const vf variance[8], vf e[8])
{
	for (int k = 0; k < PAIR; k++) e[0][8 * k] = 0; // the DC is independent of the noise
	vf rich = splat(0);
	for (int i = 0; i < 8; i++) rich += vmin(e[i], splat(ENERGY_BOUND));
	rich = vmax(sum_rows(rich) * (1 / 63.f), splat(1));
	vf threshold = vmax(fnmadd(splat(p->fall), log2_of(rich), splat(p->threshold)), splat(p->least));
	threshold *= threshold;
	for (int i = 0; i < 8; i++) e[i] = sum_around(e[i]);
	pool(e);
	vf corner = load_row(around_corner), inside = load_row(around_inside);
	vf left = splat(0);
	for (int i = 0; i < 8; i++) {
		vf count = i == 0 ? load_row(count_first) : i == 1 ? load_row(count_second) : i == 7 ? corner : inside;
		vf gain = vmax(fnmadd(threshold * count, reciprocal(vmax(e[i], splat(1e-30f))), splat(1)), splat(p->least_gain));
		for (int k = 0; i == 0 && k < PAIR; k++) gain[8 * k] = 1;
		mean[i] *= gain;
		left = fmadd(gain * gain, variance[i], left);
	}
	return sum_rows(left);
}

// average_first puts the shrunk mean of all frames into mean.
INLINE vf average_first(const vd_pass *p, const first_patch *b, vf mean[8])
{
	vf variance[8], e[8];
#pragma GCC unroll 2
	for (int from = 0; from < 8; from += 4) { // sums of four fit into the registers
		vf sum[4], weight[4], squares[4];
		for (int i = 0; i < 4; i++) sum[i] = splat(0), weight[i] = splat(1), squares[i] = splat(1);
		for (int k = 0; k < b->count; k++) {
			int n = b->used[k];
#pragma GCC unroll 4
			for (int i = 0; i < 4; i++) {
				vf w = b->near[n].weight[from + i];
				sum[i] = fmadd(w, b->near[n].change[from + i], sum[i]);
				weight[i] += w;
				squares[i] = fmadd(w, w, squares[i]);
			}
		}
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++) {
			int at = from + i;
			vf inverse = reciprocal(weight[i]);
			mean[at] = fmadd(sum[i], inverse, -b->minus_own[at]);
			variance[at] = squares[i] * inverse * inverse;
			e[at] = mean[at] * mean[at] * reciprocal(variance[at]);
		}
	}
	return shrink(p, mean, variance, e);
}

// add_first transforms the result back, where the noise has a deviation, and adds it to the sums.
INLINE void add_first(const vd_pass *p, vd_sums s, int top, const first_places *at, vf mean[8], vf deviation, vf left)
{
	for (int i = 0; i < 8; i++) mean[i] *= load_row(p->back + 8 * i) * deviation;
	for (int k = 0; k < PAIR; k++) mean[0][8 * k] -= MIDDLE;
	idct8_scaled(mean);
	transpose(mean);
	idct8_scaled(mean);
	vf weight = p->unit / vmax(left, splat(LEAST_LEFT));
	vf most = splat(p->limit), least = -most;
	for (int i = 0; i < 8; i++) {
		vi g = nearest(weight * load_row(p->window + 8 * i));
		vi v = nearest(to_float(g) * vmin(vmax(mean[i], least), most));
		ptrdiff_t row = (at->y - top + i) * s.pitch;
		for (int k = 0; k < at->count; k++) {
			add_row(s.weights + row + at->x[k], g, k);
			add_row(s.values + row + at->x[k], v, k);
		}
	}
}

static void fuse_first(const vd_pass *p, vd_sums s, int top, const first_places *at, first_patch *b)
{
	vf own[8];
	float noise[PAIR], inverse[PAIR];
	const int here[PAIR] = {0};
	forward(p, own, at->own, here);
	for (int i = 0; i < PAIR; i++) {
		noise[i] = sqrtf(noise_at(p, own[0][8 * i] * level_of(p) / 64));
		inverse[i] = 1 / noise[i];
	}
	vf factor = per_patch(inverse);
	for (int i = 0; i < 8; i++) {
		b->unit[i] = load_row(p->unit_of + 8 * i) * factor;
		b->minus_own[i] = -own[i] * b->unit[i];
	}
	weigh_all(p, b, at);
	vf mean[8];
	vf left = average_first(p, b, mean);
	add_first(p, s, top, at, mean, per_patch(noise), left);
}

// find_first finds patches i and, of a pair, i + half of a row and their matches, and starts to
// fetch their samples.
static void find_first(const vd_pass *p, first_places *at, int y, int i, int half, int columns)
{
	at->y = y, at->count = PAIR == 1 || i + half >= columns ? 1 : PAIR;
	for (int j = 0; j < PAIR; j++) {
		int x = place(i + j * half, p->noisy.width, 8, p->stride);
		int cell = cell_of(p, 8, x, y);
		at->x[j] = x;
		at->own[j] = row_of(p->noisy, y) + x;
		fetch(at->own[j], p->noisy.pitch * sizeof(sample), 8);
		for (int k = 0; k < p->neighbours; k++) {
			int down = 0;
			const sample *found = matching(p, &p->near[k], 8, x, y, cell, &down);
			at->reach[k][j] = found != NULL;
			at->at[k][j] = found ? found : at->own[j], at->down[k][j] = down;
			fetch_match(at->at[k][j], p->noisy.pitch, 8, down);
		}
	}
}

static void first_row(const vd_pass *p, vd_sums s, int top, int y)
{
	int columns = places(p->noisy.width, 8, p->stride), half = (columns + PAIR - 1) / PAIR;
	first_patch b;
	clear_beside(&b, p->neighbours);
	first_places at[AHEAD];
	for (int i = -AHEAD; i < half; i++) {
		if (i >= 0) fuse_first(p, s, top, &at[i & (AHEAD - 1)], &b);
		if (i + AHEAD < half) find_first(p, &at[i & (AHEAD - 1)], y, i + AHEAD, half, columns);
	}
}
