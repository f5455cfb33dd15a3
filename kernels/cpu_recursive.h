// The recursive edge-aware Gaussian in the form of recursive.go that is driven by differences:
//
//   h+[k] = b^D[k] h+[k-1] + c[k] (f[k] - f[k-1])      forwards, h-[k] the same backwards
//   out[k] = f[k] + Re sum_i (h+[k] + h-[k])
//
// Included after cpu_tile.h, and uses its loads and stores of planes. Every lane is one line:
// columns directly, rows after transposing blocks of 16 x 16, so that both directions are one loop
// (smooth) over a strip of 16 lines. A line is walked twice. The forward walk leaves f + Re h+ in
// memory that fits the level-2 cache, the backward walk adds Re h- and writes. Instructions on the
// multiplier units for a pixel:
//
//      9   the distance D and 1/D: a reciprocal square root and a Newton step
//     34   b^D of two poles: 2^x, and sine and cosine of half the angle, by polynomials
//     14   c = p (b^D - 1) / D, and combining sine, cosine and the power
//     36   the recursions: three channels, two poles, four multiply-adds and two multiplications
//
// That is 93 instructions for VL pixels in each of two walks, over rows and again over columns: 23
// for a pixel and an iteration in AVX-512. b^D is computed in both walks: stored, it would not fit
// the cache, and storing and loading would take as long. With two iterations this is two thirds of
// the time; transposing takes a sixth, and converting from and to planes the rest. Memory is not
// the bottleneck: 12 bytes a pixel and pass. Relative errors: 2e-06 for b^D (its polynomials),
// 1e-07 for D; the 16 bits between passes weigh more. Lines are independent, so any split of the
// work gives the same bits.

// The constants of a pass and of one step, as vectors.
typedef struct { vf power, turn, drive_re, drive_im; } pole;
typedef struct { vf re, im, drive_re, drive_im; } link;

INLINE pole pole_of(const vf_pass *p, int i)
{
	return (pole){splat(p->power[i]), splat(p->turn[i]), splat(p->drive[i][0]), splat(p->drive[i][1])};
}

// Up to the recursions, everything is done for PAIR pixels and both poles at a time, one operation
// for all before the next: a chain of some thirty dependent operations would stall the
// multipliers, since the processor looks ahead no more than one and a half pixels.
enum { PAIR = 2, CHAINS = 2 * PAIR };
#define EACH(i, n) for (int i = 0; i < n; i++)

// 2^x for x of -126 to 0: relative error 8e-08.
INLINE void exp2_small(vf x[CHAINS])
{
	static const float k[] = {0.00132764720f, 0.00967554133f, 0.0555071327f, 0.240221197f, 0.693146967f, 1.00000007f};
	vf n[CHAINS], p[CHAINS];
	EACH(i, CHAINS) n[i] = round_near(x[i]);
	EACH(i, CHAINS) x[i] -= n[i];
	EACH(i, CHAINS) p[i] = splat(k[0]);
#pragma GCC unroll 5
	for (int t = 1; t < 6; t++) EACH(i, CHAINS) p[i] = fmadd(p[i], x[i], splat(k[t]));
	EACH(i, CHAINS) x[i] = scale2(p[i], n[i]);
}

// half_angle returns sqrt(2) times sine and cosine of pi t for t of -1/2 to 1/2, to 8e-07 and
// 9e-06. Then cos 2 pi t is 1 - s^2, and sin 2 pi t is s c.
INLINE void half_angle(const vf t[CHAINS], vf s[CHAINS], vf c[CHAINS])
{
	static const float ks[] = {-0.784374032f, 3.59478808f, -7.30744342f, 4.44286790f};
	static const float kc[] = {-1.72834867f, 5.71523840f, -6.97764206f, 1.41420408f};
	vf t2[CHAINS];
	EACH(i, CHAINS) t2[i] = t[i] * t[i];
	EACH(i, CHAINS) s[i] = splat(ks[0]), c[i] = splat(kc[0]);
#pragma GCC unroll 3
	for (int k = 1; k < 4; k++) {
		EACH(i, CHAINS) s[i] = fmadd(s[i], t2[i], splat(ks[k]));
		EACH(i, CHAINS) c[i] = fmadd(c[i], t2[i], splat(kc[k]));
	}
	EACH(i, CHAINS) s[i] *= t[i];
}

// links returns b^D and c for each pixel and, within it, each pole; distance is D, at most
// pass.most, and inverse 1/D.
INLINE void links(link l[CHAINS], const pole p[2], const vf distance[PAIR], const vf inverse[PAIR])
{
	vf m[CHAINS], t[CHAINS], s[CHAINS], c[CHAINS];
	EACH(i, CHAINS) m[i] = distance[i / 2] * p[i % 2].power;
	EACH(i, CHAINS) t[i] = distance[i / 2] * p[i % 2].turn;
	exp2_small(m);
	EACH(i, CHAINS) t[i] -= round_near(t[i]);
	half_angle(t, s, c);
	EACH(i, CHAINS) t[i] = m[i] * s[i];
	EACH(i, CHAINS) l[i].re = fnmadd(t[i], s[i], m[i]), l[i].im = t[i] * c[i];
	EACH(i, CHAINS) s[i] = (l[i].re - 1) * inverse[i / 2], c[i] = l[i].im * inverse[i / 2];
	EACH(i, CHAINS) l[i].drive_re = s[i] * p[i % 2].drive_re, l[i].drive_im = c[i] * p[i % 2].drive_re;
	EACH(i, CHAINS) {
		l[i].drive_re = fnmadd(c[i], p[i % 2].drive_im, l[i].drive_re);
		l[i].drive_im = fmadd(s[i], p[i % 2].drive_im, l[i].drive_im);
	}
}

// The state of a walk: the last pixel's colour and h of each channel and pole.
typedef struct { vf f[3], re[3][2], im[3][2]; } walk;

INLINE void start_at(walk *w, const uint16_t *f)
{
	EACH(c, 3) {
		w->f[c] = load_u16(f + c * VF_STRIP);
		EACH(i, 2) w->re[c][i] = w->im[c][i] = splat(0);
	}
}

// go_on advances by two pixels, f[0] and f[1], and returns the sum of h at each.
INLINE void go_on(walk *w, const vf_pass *p, const pole pole[2], const uint16_t *const f[PAIR], vf colour[PAIR][3], vf sum[PAIR][3])
{
	vf d[PAIR][3], x[PAIR], inverse[PAIR], distance[PAIR], half[PAIR];
	EACH(k, PAIR) EACH(c, 3) colour[k][c] = load_u16(f[k] + c * VF_STRIP);
	EACH(c, 3) d[0][c] = colour[0][c] - w->f[c], d[1][c] = colour[1][c] - colour[0][c], w->f[c] = colour[1][c];
	EACH(k, PAIR) x[k] = d[k][0] * d[k][0];
	EACH(k, PAIR) x[k] = fmadd(d[k][1], d[k][1], x[k]);
	EACH(k, PAIR) x[k] = fmadd(d[k][2], d[k][2], x[k]);
	EACH(k, PAIR) x[k] = fmadd(x[k], splat(p->slope), splat(1));
	EACH(k, PAIR) inverse[k] = rsqrt(x[k]);
	EACH(k, PAIR) distance[k] = x[k] * inverse[k], half[k] = inverse[k] * 0.5f;
	EACH(k, PAIR) inverse[k] *= fnmadd(distance[k], half[k], splat(1.5f));
	EACH(k, PAIR) distance[k] = vmin(x[k] * inverse[k], splat(p->most));
	link l[CHAINS];
	links(l, pole, distance, inverse);
	EACH(k, PAIR) {
		EACH(c, 3) EACH(i, 2) {
			const link *b = &l[2 * k + i];
			vf re = w->re[c][i], im = w->im[c][i];
			w->re[c][i] = fnmadd(b->im, im, fmadd(b->re, re, b->drive_re * d[k][c]));
			w->im[c][i] = fmadd(b->im, re, fmadd(b->re, im, b->drive_im * d[k][c]));
		}
		EACH(c, 3) sum[k][c] = w->re[c][0] + w->re[c][1];
	}
}

// smooth filters VL lines of n pixels in place. kept has room for 3 n vectors. If the last pair of
// a walk has only one pixel, it is visited twice.
static void smooth(const vf_pass *p, uint16_t *f, int n, float *kept)
{
	enum { STEP = 3 * VF_STRIP };
	const pole pole[2] = {pole_of(p, 0), pole_of(p, 1)};
	walk w;
	vf colour[PAIR][3], sum[PAIR][3];
	start_at(&w, f);
	EACH(c, 3) store(kept + c * VL, w.f[c]);
	for (ptrdiff_t k = 1; k < n; k += PAIR) {
		ptrdiff_t next = k + 1 < n ? k + 1 : k;
		go_on(&w, p, pole, (const uint16_t *[PAIR]){f + k * STEP, f + next * STEP}, colour, sum);
		EACH(c, 3) store(kept + (next * 3 + c) * VL, colour[1][c] + sum[1][c]);
		EACH(c, 3) store(kept + (k * 3 + c) * VL, colour[0][c] + sum[0][c]);
	}
	uint16_t *last = f + (ptrdiff_t)(n - 1) * STEP;
	start_at(&w, last);
	EACH(c, 3) store_u16(last + c * VF_STRIP, load(kept + ((ptrdiff_t)(n - 1) * 3 + c) * VL));
	for (ptrdiff_t k = n - 2; k >= 0; k -= PAIR) {
		ptrdiff_t next = k > 0 ? k - 1 : 0;
		go_on(&w, p, pole, (const uint16_t *[PAIR]){f + k * STEP, f + next * STEP}, colour, sum);
		EACH(c, 3) store_u16(f + next * STEP + c * VF_STRIP, load(kept + (next * 3 + c) * VL) + sum[1][c]);
		EACH(c, 3) store_u16(f + k * STEP + c * VF_STRIP, load(kept + (k * 3 + c) * VL) + sum[0][c]);
	}
}

typedef uint16_t v8 __attribute__((vector_size(16)));

INLINE v8 low(v8 a, v8 b) { return __builtin_shuffle(a, b, (v8){0, 8, 1, 9, 2, 10, 3, 11}); }
INLINE v8 high(v8 a, v8 b) { return __builtin_shuffle(a, b, (v8){4, 12, 5, 13, 6, 14, 7, 15}); }

// transpose8 transposes 8 x 8 numbers by interleaving pairs of rows three times.
INLINE void transpose8(uint16_t *to, const uint16_t *from)
{
	v8 a[8], b[8];
	for (int i = 0; i < 8; i++) memcpy(&a[i], from + i * 3 * VF_STRIP, sizeof a[i]);
	for (int i = 0; i < 4; i++) b[2 * i] = low(a[i], a[i + 4]), b[2 * i + 1] = high(a[i], a[i + 4]);
	for (int i = 0; i < 4; i++) a[2 * i] = low(b[i], b[i + 4]), a[2 * i + 1] = high(b[i], b[i + 4]);
	for (int i = 0; i < 4; i++) b[2 * i] = low(a[i], a[i + 4]), b[2 * i + 1] = high(a[i], a[i + 4]);
	for (int i = 0; i < 8; i++) memcpy(to + i * 3 * VF_STRIP, &b[i], sizeof b[i]);
}

// transpose transposes 16 rows of 16 pixels.
static void transpose(uint16_t *to, const uint16_t *from)
{
	enum { STEP = 3 * VF_STRIP };
	for (int c = 0; c < STEP; c += VF_STRIP)
		for (int i = 0; i < VF_STRIP; i += 8)
			for (int k = 0; k < VF_STRIP; k += 8) transpose8(to + k * STEP + c + i, from + i * STEP + c + k);
}

// In steps between passes, a level of the depth.
INLINE vf steps_of(const vf_job *j) { return splat(VF_STEPS * 255) / most_of(j); }

// load_lanes loads the job's columns x0 <= x < x1, at most 384, of 16 rows from y on into lanes.
// If there are fewer rows, the last one is repeated.
static void load_lanes(const vf_job *j, scratch *s, uint16_t *lanes, int y, int x0, int x1)
{
	_Alignas(64) uint16_t block[3 * VF_STRIP * VF_STRIP];
	s->x0 = x0, s->x1 = x1, s->chroma_row = -1;
	vf steps = steps_of(j);
	int rows = j->height - y < VF_STRIP ? j->height - y : VF_STRIP;
	for (int i = 0; i < rows; i++) load_row(j, s, y + i);
	for (int x = x0; x < x1; x += VF_STRIP) {
		for (int i = 0; i < VF_STRIP; i++) {
			const float *row = ring_row(s, y + (i < rows ? i : rows - 1)) + PAD + x - x0;
			for (int c = 0; c < 3; c++)
				for (int k = 0; k < VF_STRIP; k += VL)
					store_u16(block + (3 * i + c) * VF_STRIP + k, fmadd(load(row + c * ROW + k), steps, splat(VF_OFFSET)));
		}
		transpose(lanes + (ptrdiff_t)x * 3 * VF_STRIP, block);
	}
}

void NAME(vf_rows)(const vf_job *j, const vf_pass *p, void *memory, void *lanes, int y, int from_planes)
{
	scratch *s = memory;
	uint16_t *f = lanes;
	int padded = (j->width + VF_STRIP - 1) / VF_STRIP * VF_STRIP;
	float *sum = (float *)(f + (ptrdiff_t)padded * 3 * VF_STRIP);
	uint16_t *strip = p->between + (ptrdiff_t)y * 3 * VF_STRIP;
	s->slots = VF_STRIP, s->top = y;
	if (from_planes) {
		for (int x = 0; x < j->width; x += VF_TILE) load_lanes(j, s, f, y, x, x + VF_TILE < j->width ? x + VF_TILE : j->width);
	} else {
		for (int x = 0; x < padded; x += VF_STRIP)
			transpose(f + (ptrdiff_t)x * 3 * VF_STRIP, strip + x / VF_STRIP * p->strip);
	}
	for (int i = 0; i < VF_STRIP; i += VL) smooth(p, f + i, j->width, sum);
	for (int x = 0; x < padded; x += VF_STRIP) transpose(strip + x / VF_STRIP * p->strip, f + (ptrdiff_t)x * 3 * VF_STRIP);
}

// old_word returns words as they would be without the filter's changes: 16 bits between passes do
// not hold each level of 16 bits.
INLINE vf old_word(const vf_job *j, vf level, vf steps, vf per_step, vf offset)
{
	if (SAMPLE_BITS == 8) return level;
	uint16_t between[VL];
	store_u16(between, fmadd(level, steps, splat(VF_OFFSET)));
	return to_word(j, fmadd(load_u16(between), per_step, offset));
}

// save_row converts n columns of row y of the strips to changes of the picture's words: levels,
// rounded to nearest, less the old ones.
static void save_row(const vf_job *j, scratch *s, const vf_pass *p, const uint16_t *strip, int y, int n)
{
	load_row(j, s, y);
	const float *word = ring_row(s, y) + PAD;
	float *out = s->out[y & 1][0] + PAD;
	vf steps = steps_of(j), per_step = 1 / steps, offset = TIE_UP - (float)VF_OFFSET / VF_STEPS / 255 * most_of(j);
	for (int x = 0; x < n; x += VL) {
		const uint16_t *from = strip + x / VF_STRIP * p->strip + (ptrdiff_t)y * 3 * VF_STRIP + x % VF_STRIP;
		for (int c = 0; c < 3; c++) {
			vf is = to_word(j, fmadd(load_u16(from + c * VF_STRIP), per_step, offset));
			store(out + c * ROW + x, is - old_word(j, load(word + c * ROW + x), steps, per_step, offset));
		}
	}
}

void NAME(vf_columns)(const vf_job *j, const vf_pass *p, void *memory, void *lanes, int x, int to_planes)
{
	scratch *s = memory;
	uint16_t *strip = p->between + x / VF_STRIP * p->strip;
	int end = x + VF_UNIT < j->width ? x + VF_UNIT : j->width;
	for (int i = 0; i < end - x; i += VL) smooth(p, strip + i / VF_STRIP * p->strip + i % VF_STRIP, j->height, lanes);
	if (!to_planes) return;
	s->x0 = x, s->x1 = end, s->chroma_row = -1;
	s->slots = 2, s->top = 0;
	for (int y = 0; y < j->height; y += 2) {
		int rows = j->height - y < 2 ? 1 : 2;
		for (int k = 0; k < rows; k++) save_row(j, s, p, strip, y + k, end - x);
		store_rows(j, s, y, rows);
	}
}
