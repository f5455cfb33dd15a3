// The recursive edge-aware Gaussian in the form of recursive.go that has the differences drive it:
//
//   h+[k] = b^D[k] h+[k-1] + c[k] (f[k] - f[k-1])      forwards, h-[k] the same backwards
//   out[k] = f[k] + Re sum_i (h+[k] + h-[k])
//
// Included behind cpu_tile.h, once for each instruction set, whose loads and stores of planes it shares. Every lane is one line: columns
// as they lie, rows after blocks of 16 x 16 have been transposed, so that both directions are one loop (smooth) over a strip of 16 lines.
// A line is walked twice. Forwards leaves f + Re h+ in memory that fits the level-2 cache, backwards adds Re h- and writes. A step is
//
//   12 instructions       the distance D and 1/D, a reciprocal square root and one of Newton's steps
//   2 x 23                b^D: 2^x by a polynomial, sine and cosine by polynomials of half the angle
//   2 x 7                 c = p (b^D - 1) / D
//   3 x 2 x 4 + 12        the recursions of three channels, four multiply-adds each, driven by two multiplications
//
// about 110 for VL pixels, walked twice, and the same for columns: some 30 for a pixel and an iteration in AVX-512. b^D is worked out in
// both walks: kept, it would take as many stores and loads as it has instructions per multiplier, and not fit the cache. Errors: b^D to
// 2e-06 of itself (its polynomials), D to 1e-07; the 16 bits between passes weigh more. Lines do not depend on each other, so any split
// of the work gives the same bits.

// A pass's constants in vectors, and one step's.
typedef struct { vf power, turn, drive_re, drive_im; } pole;
typedef struct { vf re, im, drive_re, drive_im; } link;

INLINE pole pole_of(const vf_pass *p, int i)
{
	return (pole){splat(p->power[i]), splat(p->turn[i]), splat(p->drive[i][0]), splat(p->drive[i][1])};
}

// 2^x for x of -126 to 0: relative error 8e-08.
INLINE vf exp2_small(vf x)
{
	vf n = round_near(x), f = x - n;
	vf p = fmadd(splat(0.00132764720f), f, splat(0.00967554133f));
	p = fmadd(p, f, splat(0.0555071327f));
	p = fmadd(p, f, splat(0.240221197f));
	p = fmadd(p, f, splat(0.693146967f));
	p = fmadd(p, f, splat(1.00000007f));
	return scale2(p, n);
}

// link_of returns b^D and c; distance is D, not more than pass.most, and inverse 1/D.
INLINE link link_of(const pole *p, vf distance, vf inverse)
{
	vf m = exp2_small(distance * p->power);
	vf t = distance * p->turn;
	t -= round_near(t);
	vf t2 = t * t;
	// sqrt(2) times sine and cosine of pi t, half the angle: then cos 2 pi t is 1 - s^2, sin 2 pi t is s c. Errors 8e-07 and 9e-06.
	vf s = fmadd(splat(-0.784374032f), t2, splat(3.59478808f));
	s = fmadd(s, t2, splat(-7.30744342f));
	s = fmadd(s, t2, splat(4.44286790f)) * t;
	vf c = fmadd(splat(-1.72834867f), t2, splat(5.71523840f));
	c = fmadd(c, t2, splat(-6.97764206f));
	c = fmadd(c, t2, splat(1.41420408f));
	vf ms = m * s;
	link l;
	l.re = fnmadd(ms, s, m);
	l.im = ms * c;
	vf re = (l.re - 1) * inverse, im = l.im * inverse;
	l.drive_re = fnmadd(im, p->drive_im, re * p->drive_re);
	l.drive_im = fmadd(re, p->drive_im, im * p->drive_re);
	return l;
}

// What a walk carries from pixel to pixel: the last one's colour and h of each channel and pole.
typedef struct { vf f[3], re[3][2], im[3][2]; } walk;

INLINE void start_at(walk *w, const uint16_t *f)
{
	for (int c = 0; c < 3; c++) {
		w->f[c] = load_u16(f + c * VF_STRIP);
		for (int i = 0; i < 2; i++) w->re[c][i] = w->im[c][i] = splat(0);
	}
}

// step goes to the next pixel, f.
INLINE void step(walk *w, const vf_pass *p, const pole pole[2], const uint16_t *f)
{
	vf d[3], x = splat(1);
	for (int c = 0; c < 3; c++) {
		vf now = load_u16(f + c * VF_STRIP);
		d[c] = now - w->f[c];
		w->f[c] = now;
	}
	vf sum = fmadd(d[2], d[2], fmadd(d[1], d[1], d[0] * d[0]));
	x = fmadd(sum, splat(p->slope), x);
	vf inverse = rsqrt(x);
	inverse *= fnmadd(x * inverse, inverse * 0.5f, splat(1.5f));
	vf distance = vmin(x * inverse, splat(p->most));
	for (int i = 0; i < 2; i++) {
		link l = link_of(&pole[i], distance, inverse);
		for (int c = 0; c < 3; c++) {
			vf re = fnmadd(l.im, w->im[c][i], fmadd(l.re, w->re[c][i], l.drive_re * d[c]));
			w->im[c][i] = fmadd(l.im, w->re[c][i], fmadd(l.re, w->im[c][i], l.drive_im * d[c]));
			w->re[c][i] = re;
		}
	}
}

// smooth filters VL lines of n pixels in place. sum has room for 3 n vectors.
static void smooth(const vf_pass *p, uint16_t *f, int n, float *sum)
{
	enum { STEP = 3 * VF_STRIP };
	const pole pole[2] = {pole_of(p, 0), pole_of(p, 1)};
	walk w;
	start_at(&w, f);
	for (int c = 0; c < 3; c++) store(sum + c * VL, w.f[c]);
	for (int k = 1; k < n; k++) {
		step(&w, p, pole, f + (ptrdiff_t)k * STEP);
		for (int c = 0; c < 3; c++) store(sum + ((ptrdiff_t)k * 3 + c) * VL, w.f[c] + (w.re[c][0] + w.re[c][1]));
	}
	uint16_t *to = f + (ptrdiff_t)(n - 1) * STEP;
	start_at(&w, to);
	for (int c = 0; c < 3; c++) store_u16(to + c * VF_STRIP, load(sum + ((ptrdiff_t)(n - 1) * 3 + c) * VL));
	for (int k = n - 2; k >= 0; k--) {
		to = f + (ptrdiff_t)k * STEP;
		step(&w, p, pole, to);
		for (int c = 0; c < 3; c++)
			store_u16(to + c * VF_STRIP, load(sum + ((ptrdiff_t)k * 3 + c) * VL) + (w.re[c][0] + w.re[c][1]));
	}
}

typedef uint16_t v8 __attribute__((vector_size(16)));

INLINE v8 low(v8 a, v8 b) { return __builtin_shuffle(a, b, (v8){0, 8, 1, 9, 2, 10, 3, 11}); }
INLINE v8 high(v8 a, v8 b) { return __builtin_shuffle(a, b, (v8){4, 12, 5, 13, 6, 14, 7, 15}); }

// transpose8 mirrors 8 x 8 numbers at their diagonal: three rounds of dealing two rows into one.
INLINE void transpose8(uint16_t *to, const uint16_t *from)
{
	v8 a[8], b[8];
	for (int i = 0; i < 8; i++) memcpy(&a[i], from + i * 3 * VF_STRIP, sizeof a[i]);
	for (int i = 0; i < 4; i++) b[2 * i] = low(a[i], a[i + 4]), b[2 * i + 1] = high(a[i], a[i + 4]);
	for (int i = 0; i < 4; i++) a[2 * i] = low(b[i], b[i + 4]), a[2 * i + 1] = high(b[i], b[i + 4]);
	for (int i = 0; i < 4; i++) b[2 * i] = low(a[i], a[i + 4]), b[2 * i + 1] = high(a[i], a[i + 4]);
	for (int i = 0; i < 8; i++) memcpy(to + i * 3 * VF_STRIP, &b[i], sizeof b[i]);
}

// transpose mirrors 16 rows of 16 pixels at their diagonal.
static void transpose(uint16_t *to, const uint16_t *from)
{
	enum { STEP = 3 * VF_STRIP };
	for (int c = 0; c < STEP; c += VF_STRIP)
		for (int i = 0; i < VF_STRIP; i += 8)
			for (int k = 0; k < VF_STRIP; k += 8) transpose8(to + k * STEP + c + i, from + i * STEP + c + k);
}

// load_lanes brings the job's columns x0 <= x < x1, 384 at most, of 16 rows from y on into lanes. Where there are not as many rows the last
// one is repeated.
static void load_lanes(const vf_job *j, scratch *s, uint16_t *lanes, int y, int x0, int x1)
{
	_Alignas(64) uint16_t block[3 * VF_STRIP * VF_STRIP];
	s->x0 = x0, s->x1 = x1, s->chroma_row = -1;
	int rows = j->height - y < VF_STRIP ? j->height - y : VF_STRIP;
	for (int i = 0; i < rows; i++) load_row(j, s, y + i);
	for (int x = x0; x < x1; x += VF_STRIP) {
		for (int i = 0; i < VF_STRIP; i++) {
			const float *row = ring_row(s, y + (i < rows ? i : rows - 1)) + PAD + x - x0;
			for (int c = 0; c < 3; c++)
				for (int k = 0; k < VF_STRIP; k += VL)
					store_u16(block + (3 * i + c) * VF_STRIP + k, fmadd(load(row + c * ROW + k), splat(VF_STEPS), splat(VF_OFFSET)));
		}
		transpose(lanes + (ptrdiff_t)x * 3 * VF_STRIP, block);
	}
}

void ROWS(const vf_job *j, const vf_pass *p, void *memory, void *lanes, int y, int from_planes)
{
	scratch *s = memory;
	uint16_t *f = lanes;
	int padded = (j->width + VF_STRIP - 1) / VF_STRIP * VF_STRIP;
	float *sum = (float *)(f + (ptrdiff_t)padded * 3 * VF_STRIP);
	uint16_t *strip = p->between + (ptrdiff_t)y * 3 * VF_STRIP;
	s->planes = 3, s->slots = VF_STRIP, s->top = y;
	if (from_planes) {
		for (int x = 0; x < j->width; x += MAX_TILE) load_lanes(j, s, f, y, x, x + MAX_TILE < j->width ? x + MAX_TILE : j->width);
	} else {
		for (int x = 0; x < padded; x += VF_STRIP)
			transpose(f + (ptrdiff_t)x * 3 * VF_STRIP, strip + x / VF_STRIP * p->strip);
	}
	for (int i = 0; i < VF_STRIP; i += VL) smooth(p, f + i, j->width, sum);
	for (int x = 0; x < padded; x += VF_STRIP) transpose(strip + x / VF_STRIP * p->strip, f + (ptrdiff_t)x * 3 * VF_STRIP);
}

// save_row makes words of n columns of row y of the strips: levels, rounded to nearest.
static void save_row(scratch *s, const vf_pass *p, const uint16_t *strip, int y, int n)
{
	float *out = s->out[y & 1][0] + PAD;
	for (int x = 0; x < n; x += VL) {
		const uint16_t *from = strip + x / VF_STRIP * p->strip + (ptrdiff_t)y * 3 * VF_STRIP + x % VF_STRIP;
		for (int c = 0; c < 3; c++) {
			vf level = fmadd(load_u16(from + c * VF_STRIP), splat(1.0f / VF_STEPS), splat(TIE_UP - (float)VF_OFFSET / VF_STEPS));
			store(out + c * ROW + x, to_word(level));
		}
	}
}

void COLUMNS(const vf_job *j, const vf_pass *p, void *memory, void *lanes, int x, int to_planes)
{
	scratch *s = memory;
	uint16_t *strip = p->between + x / VF_STRIP * p->strip;
	int end = x + VF_UNIT < j->width ? x + VF_UNIT : j->width;
	for (int i = 0; i < end - x; i += VL) smooth(p, strip + i / VF_STRIP * p->strip + i % VF_STRIP, j->height, lanes);
	if (!to_planes) return;
	s->x0 = x, s->x1 = end;
	for (int y = 0; y < j->height; y += 2) {
		int rows = j->height - y < 2 ? 1 : 2;
		for (int k = 0; k < rows; k++) save_row(s, p, strip, y + k, end - x);
		store_rows(j, s, y, rows);
	}
}
