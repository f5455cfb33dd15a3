// A pass of interlace.blender, bit-exact. A block is 8 columns of two missing rows.

enum { ACROSS = 8, BESIDE = 2, COMPARED = ACROSS + 2 * BESIDE, STILL_MEAN = 86, STILL_MOST = 8, BINS = 256 };

typedef float vf8 __attribute__((vector_size(32)));
typedef int32_t vi8 __attribute__((vector_size(32)));
typedef int32_t vi4 __attribute__((vector_size(16)));

INLINE vf8 chosen(vi8 mask, vf8 a, vf8 b) { return (vf8)(((vi8)a & mask) | ((vi8)b & ~mask)); }

// All planes of a component have the same pitch.
//
// eight loads 8 adjacent samples. put_eight stores 8 integers within the range of a sample.
//
// apart adds absolute differences over every second row from row `from` on, including the columns
// beside the block. It returns parts of the sum, and raises the numbers in *most to the differences
// in their places. most may be NULL. totals adds the parts of four sums.

#ifdef __AVX2__

INLINE vi8 eight(const sample *p)
{
	if (SAMPLE_BITS == 8) return (vi8)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
	return (vi8)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}

INLINE void put_eight(sample *p, vi8 v)
{
	__m128i words = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
	if (SAMPLE_BITS == 8) _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
	else _mm_storeu_si128((__m128i *)p, words);
}

#if SAMPLE_BITS == 8

// compared loads the compared columns of two rows. A second row of NULL is empty.
INLINE __m256i compared(const sample *p, const sample *q)
{
	const __m256i columns = _mm256_setr_epi32(-1, -1, -1, 0, -1, -1, -1, 0);
	__m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p - BESIDE)));
	v = _mm256_inserti128_si256(v, q ? _mm_loadu_si128((const __m128i *)(q - BESIDE)) : _mm_setzero_si128(), 1);
	return _mm256_and_si256(v, columns);
}

INLINE __m256i sums(__m256i u, __m256i v) { return _mm256_sad_epu8(u, v); }
#define LANES(f) _mm256_##f##_epu8
enum { LOADED = 2 }; // rows per vector

#else

INLINE __m256i compared(const sample *p, const sample *q)
{
	(void)q;
	const __m256i columns = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
	return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(p - BESIDE)), columns);
}

#define LANES(f) _mm256_##f##_epu16
enum { LOADED = 1 };

INLINE __m256i sums(__m256i u, __m256i v)
{
	__m256i d = _mm256_or_si256(_mm256_subs_epu16(u, v), _mm256_subs_epu16(v, u));
	return _mm256_add_epi32(_mm256_srli_epi32(d, 16), _mm256_and_si256(d, _mm256_set1_epi32(0xffff)));
}

#endif

typedef struct { __m256i each; } differences_most;

INLINE int exceeds(differences_most most, int limit)
{
	__m256i limits = SAMPLE_BITS == 8 ? _mm256_set1_epi8(limit) : _mm256_set1_epi16(limit);
	__m256i above = LANES(subs)(most.each, limits);
	return !_mm256_testz_si256(above, above);
}

INLINE vi4 apart(const sample *a, const sample *b, ptrdiff_t pitch, int from, int rows, differences_most *most)
{
	__m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 3
	for (int i = 0; i < rows; i += LOADED) {
		const sample *p = a + (from + 2 * i) * pitch, *q = b + (from + 2 * i) * pitch;
		__m256i u = compared(p, i + 1 < rows ? p + 2 * pitch : NULL), v = compared(q, i + 1 < rows ? q + 2 * pitch : NULL);
		sum = _mm256_add_epi32(sum, sums(u, v));
		if (most) most->each = LANES(max)(most->each, _mm256_or_si256(LANES(subs)(u, v), LANES(subs)(v, u)));
	}
	return (vi4)_mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
}

INLINE vi4 totals(vi4 a, vi4 b, vi4 c, vi4 d)
{
	return (vi4)_mm_hadd_epi32(_mm_hadd_epi32((__m128i)a, (__m128i)b), _mm_hadd_epi32((__m128i)c, (__m128i)d));
}

// apart_eight adds the absolute differences of 8 adjacent samples, in parts.
INLINE vi4 apart_eight(const sample *p, const sample *q)
{
	if (SAMPLE_BITS == 8) return (vi4)_mm_sad_epu8(_mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)q));
	__m256i d = _mm256_abs_epi32((__m256i)(eight(p) - eight(q)));
	return (vi4)_mm_add_epi32(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1));
}

#undef LANES

#else

typedef sample vs8 __attribute__((vector_size(ACROSS * sizeof(sample))));

INLINE vi8 eight(const sample *p)
{
	vs8 v;
	memcpy(&v, p, sizeof v);
	return __builtin_convertvector(v, vi8);
}

INLINE void put_eight(sample *p, vi8 v)
{
	vs8 s = __builtin_convertvector(v, vs8);
	memcpy(p, &s, sizeof s);
}

typedef struct { int all; } differences_most;

INLINE int exceeds(differences_most most, int limit) { return most.all > limit; }

INLINE vi4 apart(const sample *a, const sample *b, ptrdiff_t pitch, int from, int rows, differences_most *most)
{
	int sum = 0, largest = 0;
	for (int i = 0; i < rows; i++) {
		const sample *p = a + (from + 2 * i) * pitch - BESIDE, *q = b + (from + 2 * i) * pitch - BESIDE;
		for (int x = 0; x < COMPARED; x++) {
			int d = p[x] - q[x];
			d = d < 0 ? -d : d;
			sum += d;
			largest = d > largest ? d : largest;
		}
	}
	if (most && largest > most->all) most->all = largest;
	return (vi4){sum};
}

INLINE vi4 apart_eight(const sample *p, const sample *q)
{
	int sum = 0;
	for (int i = 0; i < ACROSS; i++) sum += p[i] < q[i] ? q[i] - p[i] : p[i] - q[i];
	return (vi4){sum};
}

INLINE vi4 totals(vi4 a, vi4 b, vi4 c, vi4 d) { return (vi4){a[0], b[0], c[0], d[0]}; }

#endif

enum { OWN = -1, OWN_ROWS = 3, MISSING = 0, MISSING_ROWS = 2 }; // rows of a block to compare

INLINE vi4 at_least(vi4 v, vi4 least) { return (v & (v > least)) | (least & ~(v > least)); }
INLINE vi4 at_most(vi4 v, vi4 most) { return (v & (v < most)) | (most & ~(v < most)); }

// halved divides by 2. It rounds halves away from zero.
INLINE vi4 halved(vi4 v) { return ((((v ^ v >> 31) - (v >> 31) + 1) >> 1) ^ v >> 31) - (v >> 31); }

// bins quantises four means of n differences, and joins them into a number. Samples have 8 + extra
// bits.
INLINE int bins(vi4 sum, vi4 n, int extra)
{
	vi4 bin = (sum >= 3 * n / 2 << extra) + (sum >= 4 * n << extra) + (sum >= 10 * n << extra); // negative
	bin <<= (vi4){6, 4, 2, 0};
	return -(bin[0] + bin[1] + bin[2] + bin[3]);
}

// kinds classifies rows by their distances to the first row of a neighbour: 0 if they are its own,
// 2 if they are missing, 1 if they are in between.
INLINE vi4 kinds(vi4 row) { return (row & 1) | (row & ~(row << 1) & 2); }

// located is a block in the neighbours.
typedef struct {
	const sample *to[VI_NEIGHBOURS];
	vi4 kind;
	int moves; // a vector is not 0
} located;

// locate finds the block at x and y along its vectors. Clamped positions lie in the padding, where
// samples repeat, so clamping does not change the result.
INLINE void locate(located *to, const vi_pass *p, vi4 parity, int x, int y)
{
	int cell_x = (x + ACROSS / 2) << p->shift_x >> p->cell_shift, cell_y = (y + 1) << p->shift_y >> p->cell_shift;
	int cell = (cell_y < p->cells_y ? cell_y : p->cells_y - 1) * p->cells_x + (cell_x < p->cells_x ? cell_x : p->cells_x - 1);
	const vi4 none = {};
	vi4 vx = none, vy = none;
	int moves = 0;
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		int32_t both;
		memcpy(&both, &p->to[i].field[cell], sizeof both);
		vx[i] = both, moves |= both;
	}
	vy = vx >> 16, vx = vx << 16 >> 16; // x is in the lower half
	if (p->shift_x) vx = halved(vx);
	if (p->shift_y) vy = halved(vy);
	vi4 to_x = at_most(at_least(x + (vx >> 1), none - ACROSS - BESIDE), none + p->now.width + BESIDE);
	vi4 to_y = at_most(at_least(y + (vy >> 1), none - 5), none + p->now.height + 2), phase = (vx & 1) | (vy & 1) << 1;
	vi4 at = to_y * (int)p->now.pitch + to_x;
	for (int i = 0; i < VI_NEIGHBOURS; i++) to->to[i] = (const sample *)p->to[i].half[phase[i]].at + at[i];
	to->kind = kinds(2 * y + vy - 2 * parity);
	to->moves = moves != 0;
}

INLINE void put(const vi_pass *p, int x, int y, vi8 v)
{
	int n = p->out.width - x < ACROSS ? p->out.width - x : ACROSS;
	sample *out = row_of(p->out, y) + x, row[ACROSS];
	put_eight(n == ACROSS ? out : row, v);
	if (n < ACROSS) memcpy(out, row, n * sizeof *row);
}

#if defined __AVX2__ && SAMPLE_BITS == 8

// The floats of the reference are exact, so integers give the same result: see TestExact.

// words loads 8 samples each of a row and of the second row below.
INLINE __m256i words(const sample *p, ptrdiff_t pitch)
{
	__m128 first = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)p));
	return _mm256_cvtepu8_epi16(_mm_castps_si128(_mm_loadh_pi(first, (const __m64 *)(p + 2 * pitch))));
}

typedef struct { __m256i left, right; } both_sums; // of 4 columns in two rows

INLINE void weigh(both_sums *s, const int16_t *w, __m256i a, __m256i b)
{
	int32_t both;
	memcpy(&both, w, sizeof both);
	__m256i weights = _mm256_set1_epi32(both);
	s->left = _mm256_add_epi32(s->left, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights));
	s->right = _mm256_add_epi32(s->right, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights));
}

// mix stores the weighted sums for a block, at e in the estimate and at to in the neighbours.
INLINE void mix(const vi_pass *p, int code, const sample *e, const sample *const *to, int x, int y)
{
	ptrdiff_t pitch = p->now.pitch;
	const int16_t *w = p->learned->whole[code];
	const __m256i half = _mm256_set1_epi32(1 << VI_WEIGHT_BITS);
	both_sums s = {half, half};
	__m256i first = words(e - pitch, pitch), last = words(e + pitch, pitch);
	weigh(&s, w, _mm256_add_epi16(first, last), _mm256_add_epi16(words(e - 3 * pitch, pitch), words(e + 3 * pitch, pitch)));
	__m256i v[3 * VI_NEIGHBOURS];
#pragma GCC unroll 4
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		const sample *q = to[i];
		__m256i middle = words(q, pitch);
		v[3 * i] = _mm256_add_epi16(middle, middle);
		v[3 * i + 1] = _mm256_add_epi16(words(q - pitch, pitch), words(q + pitch, pitch));
		v[3 * i + 2] = _mm256_add_epi16(words(q - 2 * pitch, pitch), words(q + 2 * pitch, pitch));
	}
#pragma GCC unroll 6
	for (int i = 0; i < 3 * VI_NEIGHBOURS; i += 2) weigh(&s, w + 2 + i, v[i], v[i + 1]);
	__m256i middle = words(e, pitch);
	weigh(&s, w + 2 + 3 * VI_NEIGHBOURS, middle, middle);
	enum { DOWN = VI_WEIGHT_BITS + 1 };
	__m256i made = _mm256_packs_epi32(_mm256_srai_epi32(s.left, DOWN), _mm256_srai_epi32(s.right, DOWN));
	made = _mm256_packus_epi16(made, made);
	uint64_t row[2] = {_mm256_extract_epi64(made, 0), _mm256_extract_epi64(made, 2)};
	int n = p->out.width - x;
	for (int j = 0; j < 2 && y + 2 * j < p->out.height; j++) {
		sample *out = row_of(p->out, y + 2 * j) + x;
		if (n >= ACROSS) memcpy(out, &row[j], ACROSS);
		else memcpy(out, &row[j], n);
	}
}

#else

INLINE vi8 rounded(const vi_pass *p, vf8 v)
{
	float most = (1 << p->out.depth) - 1;
	v = v * 0.5f + 0.5f;
	v = chosen(v > 0, v, (vf8){});
	return __builtin_convertvector(chosen(v < most, v, most - (vf8){}), vi8);
}

INLINE void mix(const vi_pass *p, int code, const sample *e, const sample *const *to, int x, int y)
{
	ptrdiff_t pitch = p->now.pitch;
	const float *w = p->learned->codes[code];
#define ROW(j) eight(e + (j) * pitch)
	vi8 shared = ROW(1), base = ROW(-1) + shared, base2 = shared + ROW(3);
	vf8 sum = __builtin_convertvector(base, vf8), sum2 = __builtin_convertvector(base2, vf8);
#define ADD(w, a, b) do { \
	sum += (w) * __builtin_convertvector((a) - base, vf8); \
	sum2 += (w) * __builtin_convertvector((b) - base2, vf8); \
} while (0)
	ADD(w[0], ROW(-3) + ROW(3), ROW(-1) + ROW(5));
#undef ROW
#pragma GCC unroll 4
	for (int i = 0; i < VI_NEIGHBOURS; i++) {
		vi8 row[7];
#pragma GCC unroll 7
		for (int j = 0; j < 7; j++) row[j] = eight(to[i] + (j - 2) * pitch);
		ADD(w[1 + 3 * i], 2 * row[2], 2 * row[4]);
		ADD(w[2 + 3 * i], row[1] + row[3], row[3] + row[5]);
		ADD(w[3 + 3 * i], row[0] + row[4], row[2] + row[6]);
	}
	ADD(w[13], 2 * eight(e), 2 * eight(e + 2 * pitch));
#undef ADD
	put(p, x, y, rounded(p, sum));
	if (y + 2 < p->out.height) put(p, x, y + 2, rounded(p, sum2));
}

#endif

// differences holds the differences of a block from the neighbours.
typedef struct {
	vi4 d;
	int between; // difference between the two nearest
} differences;

INLINE int both_there(const vi_pass *p) { return p->to[0].there && p->to[1].there; }

INLINE differences differ(const vi_pass *p, const sample *here, const sample *const *to)
{
	ptrdiff_t pitch = p->now.pitch;
	vi4 own[VI_NEIGHBOURS];
	for (int i = 0; i < VI_NEIGHBOURS; i++) own[i] = apart(here, to[i], pitch, OWN, OWN_ROWS, NULL);
	vi4 d = totals(own[0], own[1], own[2], own[3]);
	if (!both_there(p)) return (differences){d, 2 * d[0] / 3};
	vi4 between = apart(to[0], to[1], pitch, MISSING, MISSING_ROWS, NULL);
	return (differences){d, totals(between, (vi4){}, (vi4){}, (vi4){})[0]};
}

// standing holds the differences of a block without motion. between and far are 0 where a neighbour
// is missing.
typedef struct {
	vi4 between, far[2];
	differences_most most;
} standing;

INLINE standing stand(const vi_pass *p, const sample *here, const sample *const *to)
{
	ptrdiff_t pitch = p->now.pitch;
	standing s = {};
	if (both_there(p)) s.between = apart(to[0], to[1], pitch, MISSING, MISSING_ROWS, &s.most);
	for (int i = 0; i < 2; i++)
		if (p->to[2 + i].there) s.far[i] = apart(here, to[2 + i], pitch, OWN, OWN_ROWS, &s.most);
	return s;
}

// differ_standing is differ without motion.
INLINE differences differ_standing(const vi_pass *p, const sample *here, const sample *const *to, const standing *s)
{
	ptrdiff_t pitch = p->now.pitch;
	vi4 own[VI_NEIGHBOURS] = {{}, {}, s->far[0], s->far[1]};
	for (int i = 0; i < VI_NEIGHBOURS; i++)
		if (i < 2 || !p->to[i].there) own[i] = apart(here, to[i], pitch, OWN, OWN_ROWS, NULL);
	vi4 d = totals(own[0], own[1], own[2], own[3]);
	return (differences){d, both_there(p) ? totals(s->between, (vi4){}, (vi4){}, (vi4){})[0] : 2 * d[0] / 3};
}

INLINE int contrast(const sample *here, ptrdiff_t pitch)
{
	vi4 sum = apart_eight(here - pitch, here + pitch) + apart_eight(here + pitch, here + 3 * pitch);
	return totals(sum, (vi4){}, (vi4){}, (vi4){})[0];
}

// blend_block computes the missing rows y and y + 2 of a block, which is in the neighbours at `at`.
INLINE void blend_block(const vi_pass *p, const located *at, vi4 parity, int x, int y)
{
	int extra = p->now.depth - 8;
	ptrdiff_t pitch = p->now.pitch, offset = y * pitch + x;
	const sample *here = (const sample *)p->now.at + offset;
	located same = {.kind = kinds(2 * y - 2 * parity)};
	for (int i = 0; i < VI_NEIGHBOURS; i++) same.to[i] = (const sample *)p->to[i].half[0].at + offset;
	standing still = stand(p, here, same.to);
	int known = both_there(p) || p->to[2].there || p->to[3].there;
	vi4 total = totals(still.between, still.far[0], still.far[1], (vi4){}) * (vi4){3, 2, 2};
	int z = total[0];
	for (int i = 1; i < 3; i++) z = total[i] > z ? total[i] : z;
	if (known && z <= STILL_MEAN << extra && !exceeds(still.most, STILL_MOST << extra)) {
		for (int j = 0; j <= 2 && y + j < p->out.height; j += 2)
			put(p, x, y + j, (eight(same.to[0] + j * pitch) + eight(same.to[1] + j * pitch) + 1) >> 1);
		return;
	}
	differences m;
	int stands = !at->moves;
	if (!stands) {
		m = differ(p, here, at->to);
		int further = m.d[2] < m.d[3] ? m.d[2] : m.d[3];
		stands = known && z <= (3 * m.between > 2 * further ? 3 * m.between : 2 * further);
	}
	if (stands) at = &same, m = differ_standing(p, here, same.to, &still);
	int further = m.d[2] < m.d[3] ? m.d[2] : m.d[3];
	int swap = m.d[1] < m.d[0], swap2 = m.d[3] < m.d[2];
	const int order[VI_NEIGHBOURS] = {swap, !swap, 2 + swap2, 3 - swap2}; // of each two, the better match first
	int far = at->kind[2] < at->kind[3] ? at->kind[2] : at->kind[3];
	int class = ((at->kind[order[0]] * 3 + at->kind[order[1]]) * 3 + far) * BINS;
	class += bins((vi4){m.between, contrast(here, pitch), m.d[swap], further},
		(vi4){2 * COMPARED, 4 * ACROSS, 3 * COMPARED, 3 * COMPARED}, extra);
	const sample *to[VI_NEIGHBOURS];
	for (int i = 0; i < VI_NEIGHBOURS; i++) to[i] = at->to[order[i]];
	mix(p, p->learned->code_of[class], here, to, x, y);
}

// fetch loads rows of a block into the cache.
INLINE void fetch(const located *at, ptrdiff_t pitch, int from)
{
	for (int i = 0; i < VI_NEIGHBOURS; i++)
		for (int j = from; j <= 4; j++) __builtin_prefetch(at->to[i] + j * pitch);
}

// fetch_line loads a cache line at x of each row that blocks without motion read. The processor
// cannot follow all of these rows by itself.
INLINE void fetch_line(const vi_pass *p, int x, int y)
{
	for (int j = 0; j < 4; j++) {
		__builtin_prefetch(row_of(p->now, y + 2 + j) + x);
		for (int i = 0; i < VI_NEIGHBOURS; i++) __builtin_prefetch(row_of(p->to[i].half[0], y + j) + x);
	}
}

// vi_blend locates blocks AHEAD of their turn, to fetch their samples in time. Earlier blocks have
// fetched the rows above.
enum { AHEAD = 16, LINE = 64 / sizeof(sample) };

void NAME(vi_blend)(const vi_pass *p, int y0, int y1)
{
	vi4 parity;
	for (int i = 0; i < VI_NEIGHBOURS; i++) parity[i] = p->to[i].parity;
	for (int y = y0 + p->parity; y < y1; y += 2) memcpy(row_of(p->out, y), row_of(p->now, y), p->out.width * sizeof(sample));
	for (int y = y0 + 1 - p->parity; y < y1; y += 4) {
		located ring[2 * AHEAD];
		int blocks = (p->out.width + ACROSS - 1) / ACROSS;
		for (int i = 0; i < blocks + AHEAD; i++) {
			if (i < blocks) {
				located *next = &ring[i % (2 * AHEAD)];
				locate(next, p, parity, i * ACROSS, y);
				fetch(next, p->now.pitch, y < y0 + 4 ? -2 : 1);
				if (i * ACROSS % LINE == 0) fetch_line(p, i * ACROSS + LINE, y);
			}
			if (i >= AHEAD) blend_block(p, &ring[(i - AHEAD) % (2 * AHEAD)], parity, (i - AHEAD) * ACROSS, y);
		}
	}
}
