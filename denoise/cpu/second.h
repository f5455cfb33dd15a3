// The second pass, in patches of 16x16: see denoise/fusion. A patch is 16 rows of 16 numbers in
// memory: rows of samples, after the transform the frequencies v for one u. Vectors hold a row, or
// the half of one.

enum { HALVES = 16 / VL };

// Weights are the same in groups of 4x4 coefficients, except at the mean and the slopes: row 0 and
// row 1 have weights of their own, then come the rest of rows 0 to 3, and 4 to 7, ...
enum { GROUPS = 6, FIRST_GROUP = 2 };
INLINE int group_of(int row) { return row < 2 ? row : FIRST_GROUP + row / 4; }

enum { SLOTS = VD_NEIGHBOURS / PAIR, WEIGHTS = GROUPS - 1 };

// The changes of PAIR neighbours. Weights are the same for each half of a group of 4 across: first
// the weights of rows 0 to 3, of rows 4 to 7, ..., and at last of the mean, of the slope down, of
// the slope across, and of their group.
typedef struct {
	vw change[16];      // coefficients, from the pilot's
	vf weight[WEIGHTS]; // at first the mean squared changes
	vw words[GROUPS];   // weights of rows 0, 1, the rest of 0 to 3, ..., within the weights of all frames
	vf whole;           // weight of the patch
} second_slot;

typedef struct {
	_Alignas(64) float own[256], pilot[256]; // own: the mean of all frames
	vw change[16];                           // coefficients of the frame itself, from the pilot's
	vf variance[HALVES][GROUPS];             // of the mean, within the noise's
	vf noise;                                // factor of the variance
	int count;                               // slots in use
	int used[SLOTS];
	second_slot slot[SLOTS];
} second_patch;

// Where a patch and its matches are.
typedef struct {
	int x, y;
	const uint16_t *pilot;
	const sample *own, *at[VD_NEIGHBOURS];
	int down[VD_NEIGHBOURS];               // half a pel
	int count;                             // neighbours in reach
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

// rotate is a c + b s, a s - b c.
INLINE void rotate(vf *a, vf *b, float c, float s)
{
	vf x = *a, y = *b, cosine = splat(c), sine = splat(s);
	*a = fmadd(x, cosine, y * sine);
	*b = fnmadd(y, cosine, x * sine);
}

// dct_odd makes the odd frequencies of the differences of both halves, and back. It is a DCT of the
// fourth kind: rotations, a DCT and a DST of 4.
INLINE void dct_odd(vf b[8])
{
	rotate(&b[0], &b[7], S1, S15);
	rotate(&b[1], &b[6], S3, S13);
	rotate(&b[2], &b[5], S5, S11);
	rotate(&b[3], &b[4], S7, S9);
	vf u0 = b[0] + b[3], u1 = b[1] + b[2], v0 = b[0] - b[3], v1 = b[1] - b[2];
	vf s0 = b[7] + b[4], s1 = b[6] + b[5], t0 = b[7] - b[4], t1 = b[6] - b[5];
	vf p = (u0 - u1) * splat(2 * C4), q = (t0 + t1) * splat(2 * C4);
	rotate(&v0, &v1, 2 * C2, 2 * C6);
	rotate(&s1, &s0, 2 * C2, 2 * C6); // s0 becomes the negative of the third sine's
	b[0] = u0 + u1, b[1] = v0 + s1, b[2] = v0 - s1, b[3] = p + q;
	b[4] = p - q, b[5] = v1 - s0, b[6] = v1 + s0, b[7] = t0 - t1;
}

INLINE void dct16(vf x[16])
{
	vf a[8], b[8];
	for (int i = 0; i < 8; i++) a[i] = x[i] + x[15 - i], b[i] = x[i] - x[15 - i];
	dct8(a, HALF_ROOT);
	dct_odd(b);
	for (int k = 0; k < 8; k++) x[2 * k] = a[k], x[2 * k + 1] = b[k];
}

INLINE void idct16(vf x[16])
{
	vf a[8], b[8];
	for (int k = 0; k < 8; k++) a[k] = x[2 * k], b[k] = x[2 * k + 1];
	idct8(a, HALF_ROOT);
	dct_odd(b);
	for (int i = 0; i < 8; i++) x[i] = a[i] + b[i], x[15 - i] = a[i] - b[i];
}

// load_lines loads VL columns of words of a step of level.
INLINE void load_lines(const vd_pass *p, vf x[16], const uint16_t *words, float level)
{
	for (int i = 0; i < 16; i++) x[i] = load_words(words + i * p->noisy.pitch) * level;
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

// forward_words sets the coefficients of words.
static void forward_words(const vd_pass *p, float *out, const uint16_t *words, float level)
{
	vf x[16];
	load_lines(p, x, words, level);
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

// transpose16 transposes a square of 16x16 by squares of 8x8.
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

static void forward_words(const vd_pass *p, float *out, const uint16_t *words, float level)
{
	vf x[16];
	for (int h = 0; h < 16; h += VL) {
		load_lines(p, x, words + h, level);
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

static const float gates[8] = {1, 0.5f, 0.5f}; // of row 0, and of row 1

#define ONE_NOISY 1

// word_bits is how many of the pilot's bits there is room for in whole numbers.
INLINE int word_bits(const vd_pass *p) { return mini(8 + extra_bits(p->noisy) + pilot_bits(p->noisy), 15); }

// in_words converts unsigned numbers to word_bits, times factor.
INLINE vw in_words(const vd_pass *p, vw x, int bits, int factor)
{
	if (SAMPLE_BITS == 8 || word_bits(p) >= bits) return x * splat_vw(factor << (word_bits(p) - bits));
	return (vw)((vw_unsigned)x >> (bits - word_bits(p))) * splat_vw(factor);
}

INLINE void load_pilot_words(const vd_pass *p, vw x[16], const uint16_t *at, int factor)
{
	int bits = 8 + extra_bits(p->noisy) + pilot_bits(p->noisy);
	for (int i = 0; i < 16; i++) x[i] = in_words(p, load_row16(at + i * p->noisy.pitch), bits, factor);
}

// load_second loads the samples of matches in PAIR frames.
INLINE void load_second(const vd_pass *p, vw x[16], const sample *const *at, const int *down, int factor)
{
	int any = 0, bits = 8 + extra_bits(p->noisy);
	for (int k = 0; k < PAIR; k++) any |= down[k];
	if (!any) {
		for (int i = 0; i < 16; i++) x[i] = in_words(p, load_rows(at, i * p->noisy.pitch), bits, factor);
		return;
	}
	vw r[16 + AROUND];
	int flags[PAIR];
	for (int k = 0; k < PAIR; k++) flags[k] = -down[k];
	vw which = per_patch_words(flags);
	for (int i = 0; i < 16 + AROUND; i++) r[i] = load_rows(at, (i - BEFORE) * p->noisy.pitch);
	for (int i = 0; i < 16; i++) x[i] = in_words(p, choose(which, down_words(p, r + i), r[i + BEFORE]), bits, factor);
}

// transform_words sets the coefficients of the samples' differences from the pilot.
INLINE void transform_words(const vd_unit *unit, vw x[16], const vw pilot[16])
{
	for (int i = 0; i < 16; i++) x[i] -= pilot[i];
	if (unit->lessen) for (int i = 0; i < 16; i++) x[i] = times(x[i], splat_vw(unit->lessen));
	dct16_words(x);
	if (unit->reduce) for (int i = 0; i < 16; i++) x[i] = times(x[i], splat_vw(unit->reduce));
	transpose16_words(x);
	dct16_words(x);
}

// change_own sets the changes of the frame itself.
static void change_own(const vd_pass *p, second_patch *b, const second_places *at)
{
	const vd_unit *unit = &p->own_unit;
	const sample *own[PAIR];
	const int none[PAIR] = {0};
	vw pilot[16];
	for (int k = 0; k < PAIR; k++) own[k] = at->own;
	load_pilot_words(p, pilot, at->pilot, unit->enlarge);
	load_second(p, b->change, own, none, unit->enlarge);
	transform_words(unit, b->change, pilot);
}

// change_second sets the changes of neighbours and the inputs of their weights.
static void change_second(const vd_pass *p, const second_patch *b, second_slot *s, const vw pilot[16], const sample *const *at, const int *down)
{
	vw x[16];
	load_second(p, x, at, down, p->near_unit.enlarge);
	transform_words(&p->near_unit, x, pilot);
	vf factor = 1 / (b->noise * (16 * p->white)), total = splat(0);
	vi slopes[2];
	for (int g = 0; g < 4; g++) {
		vi sum = (vi){};
#pragma GCC unroll 4
		for (int i = 4 * g; i < 4 * g + 4; i++) {
			s->change[i] = x[i];
			vw w = times(x[i], load_row16(p->whiten + 16 * i));
			sum += square_pairs(w);
			if (i < 2) slopes[i] = square_pairs(unpack_low(w, splat_vw(0)));
		}
		vf mean = to_float(sum);
		mean = (mean + swap_pairs(mean)) * factor;
		s->weight[g] = mean;
		total += mean;
	}
	s->weight[4] = to_float(join_pairs(slopes[0], slopes[1])) * load_row(gates) * (factor * (16 * p->gate));
	s->whole = sum_rows(total); // each of 16 means is there twice
}

// weigh_second sets the weights of a slot.
INLINE void weigh_second(const vd_pass *p, second_slot *s)
{
	vf c = splat(p->frequency), rest = splat(1 - p->frequency * ONE_NOISY);
	s->weight[4] = vmax(s->weight[4], first_of_quad(s->weight[0]));
	for (int g = 0; g < WEIGHTS; g++) s->weight[g] = s->whole * reciprocal(fmadd(vmax(s->weight[g], splat(ONE_NOISY)), c, rest));
}

// weigh_neighbours sets the changes of all neighbours that count, and their weights.
static void weigh_neighbours(const vd_pass *p, second_patch *b, const second_places *at)
{
	vw pilot[16];
	load_pilot_words(p, pilot, at->pilot, p->near_unit.enlarge);
	static const float but_last[16] = {1, 1, 1, 1, 1, 1, 1, 1};
	int slots = (at->count + PAIR - 1) / PAIR;
	for (int k = 0; k < slots; k++) change_second(p, b, &b->slot[k], pilot, at->at + PAIR * k, at->down + PAIR * k);
	b->count = 0;
	for (int k = 0; k < slots; k++) {
		second_slot *s = &b->slot[k];
		vf excess = vmax(fmadd(s->whole, splat(1 / 32.f), splat(-ONE_NOISY)), splat(0));
		s->whole = exp2_neg(excess * p->fade);
		if (PAIR * (k + 1) > at->count) s->whole *= load(but_last); // half a slot
		if (!any_above(s->whole, LEAST_WEIGHT)) continue;
		weigh_second(p, s);
		b->used[b->count++] = k;
	}
}

// spread sets the numbers of all places from the numbers of groups.
INLINE void spread(vf out[HALVES][GROUPS], const vf of[WEIGHTS])
{
	for (int h = 0; h < HALVES; h++) {
		for (int g = 0; g < 4; g++) out[h][FIRST_GROUP + g] = groups16(of[g], h);
		out[h][0] = out[h][1] = out[h][FIRST_GROUP];
	}
	static const int32_t two[16] = {-1, -1}, one[16] = {-1};
	vi pair = load_whole(two), first = load_whole(one);
	out[0][0] = (vf)((pair & (vi)of[4]) | (~pair & (vi)out[0][0]));
	out[0][1] = (vf)((first & (vi)second_pair(of[4])) | (~first & (vi)out[0][1]));
}

// average_second sets the mean of all frames, and its variance.
static void average_second(const vd_pass *p, second_patch *b)
{
	vf inverse[WEIGHTS], variance[WEIGHTS], part[HALVES][GROUPS];
	for (int g = 0; g < WEIGHTS; g++) {
		vf weight = splat(0), squares = splat(0);
		for (int k = 0; k < b->count; k++) {
			vf w = b->slot[b->used[k]].weight[g];
			weight += w;
			squares = fmadd(w, w, squares);
		}
		inverse[g] = reciprocal(1 + sum_frames(weight));
		variance[g] = (1 + sum_frames(squares)) * inverse[g] * inverse[g];
	}
	spread(b->variance, variance);
	spread(part, inverse);
	for (int k = 0; k < b->count; k++) {
		second_slot *s = &b->slot[b->used[k]];
		vi first[WEIGHTS];
		for (int g = 0; g < WEIGHTS; g++) first[g] = nearest(s->weight[g] * inverse[g] * 32767);
		for (int g = 0; g < 4; g++) s->words[FIRST_GROUP + g] = double_words(first[g]);
		vi watched = (first[4] & 0xffff) | (vi)swap_pairs((vf)first[4]) << 16; // a pair at place 0, and at 2
		s->words[0] = (vw)first_from(watched, (vi)s->words[FIRST_GROUP]);
		s->words[1] = (vw)first_from((vi)second_pair((vf)watched), (vi)s->words[FIRST_GROUP]);
	}
	float own_unit = 1 / p->own_unit.level, unit = 1 / p->near_unit.level;
#pragma GCC unroll 6
	for (int g = 0; g < GROUPS; g++) {
		int from = g < FIRST_GROUP ? g : g == FIRST_GROUP ? FIRST_GROUP : 4 * (g - FIRST_GROUP);
		int to = g < FIRST_GROUP ? g + 1 : 4 * (g - FIRST_GROUP) + 4;
		vw sum[4] = {splat_vw(0), splat_vw(0), splat_vw(0), splat_vw(0)};
		for (int k = 0; k < b->count; k++) {
			const second_slot *s = &b->slot[b->used[k]];
			vw w = s->words[g];
			for (int i = from; i < to; i++) sum[i - from] = plus(sum[i - from], times(s->change[i], w));
		}
		for (int i = from; i < to; i++) {
			int16_t all[2 * VL];
			store_vw(all, sum[i - from]);
			for (int h = 0; h < HALVES; h++) {
				int at = 16 * i + VL * h;
				vf others = load_shorts(all + VL * h);
				if (PAIR > 1) others += load_shorts(all + VL);
				vf own = load_shorts((const int16_t *)&b->change[i] + VL * h) * part[h][g];
				store(b->own + at, fmadd(own, splat(own_unit), fmadd(others, splat(unit), load(b->pilot + at))));
			}
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

static const float past_gates[2][16] = {{1, 0.5f}, {0.5f}};

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
				if (i < FIRST_GROUP) weight[h][i] = e * load(past_gates[i] + VL * h) * p->gate;
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

// shrink_second puts the mean into out, scaled by the pilot's part of the energy and blended with
// the pilot, and returns the noise left.
static float shrink_second(const vd_pass *p, const second_patch *b, float *out)
{
	float rest = (variance_second(b) - p->from) * (1 / (p->to - p->from));
	vf share = splat(p->blend * (rest < 0 ? 0 : rest > 1 ? 1 : rest)), left = splat(0);
	for (int h = 0; h < HALVES; h++) {
		vf part[GROUPS];
		for (int g = 0; g < GROUPS; g++) part[g] = p->share * b->noise * b->variance[h][g];
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			int k = 16 * i + VL * h, g = group_of(i);
			vf pilot = load(b->pilot + k), energy = fmadd(pilot, pilot, splat(LEAST_ENERGY));
			vf noise = load(p->variance + k) * part[g];
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
	b.noise = splat(noise_at(p, b.pilot[0] / 16));
	change_own(p, &b, at);
	weigh_neighbours(p, &b, at);
	average_second(p, &b);
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
	at->own = row_of(p->noisy, y) + at->x, at->count = 0;
	at->pilot = p->pilot + y * p->noisy.pitch + at->x;
	fetch(at->own, p->noisy.pitch * sizeof(sample), 16);
	fetch(at->pilot, p->noisy.pitch * sizeof *at->pilot, 16);
	for (int k = 0; k < p->neighbours; k++) {
		int n = at->count;
		at->at[n] = matching(p, &p->near[k], 16, at->x, y, cell, &at->down[n]);
		if (!at->at[n]) continue;
		fetch_match(at->at[n], p->noisy.pitch, 16, at->down[n]);
		at->count++;
	}
	if (PAIR > 1 && at->count & 1) at->at[at->count] = at->own, at->down[at->count] = 0;
	at->past = -1;
	if (p->pasts == 0 || abs(p->still[cell].x) + abs(p->still[cell].y) > p->past_reach) return;
	at->past = y * p->noisy.pitch + at->x;
	for (int k = 0; k < p->pasts; k++) fetch(p->past[k].at + at->past, p->noisy.pitch * sizeof(uint16_t), 16);
}

static void second_row(const vd_pass *p, vd_sums s, int top, int y)
{
	int columns = places(p->noisy.width, 16, p->stride);
	second_places at[AHEAD];
	for (int i = -AHEAD; i < columns; i++) {
		if (i >= 0) fuse_second(p, s, top, &at[i & (AHEAD - 1)]);
		if (i + AHEAD < columns) find_second(p, &at[i & (AHEAD - 1)], y, i + AHEAD);
	}
}
