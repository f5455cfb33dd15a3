// The motion search: the same vectors as denoise/motion, bit for bit. Samples are bytes.

enum { SIDE = 16 }; // of the squares that are compared

INLINE int cells(int samples, int cell) { return (samples + cell - 1) / cell; }

// A cell's window in a frame. An edge of the frame may cut it.
typedef struct {
	const uint8_t *at; // its first sample
	ptrdiff_t pitch;
	int x, y;          // and the place of that
	int columns, rows;
	int full, cut;     // samples if it were not cut; whether it has fewer than SIDE columns or rows
} window;

// open_window moves the window to cell (x, y), with the given side.
INLINE void open_window(window *w, const vd_plane *p, int cell, int side, int x, int y)
{
	int left = x * cell - (side - cell) / 2, top = y * cell - (side - cell) / 2;
	w->x = maxi(left, 0), w->y = maxi(top, 0);
	w->columns = mini(left + side, p->width) - w->x, w->rows = mini(top + side, p->height) - w->y;
	w->full = side * side, w->cut = w->columns * w->rows != SIDE * SIDE;
	w->at = (const uint8_t *)p->at + w->y * p->pitch + w->x, w->pitch = p->pitch;
}

// of_full scales the difference of a cut window to a whole one. It keeps the order.
INLINE int of_full(const window *w, int sum)
{
	int area = w->columns * w->rows;
	return area == w->full ? sum : sum * w->full / area;
}

static const int around[8][2] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};

// Windows of cells side by side overlap, or touch. Cells of equal vectors are compared together: a
// run covers WIDE columns, of which each 8 are summed up by themselves.
enum { WIDE = 32, PARTS = WIDE / 8 };

// For each instruction set:
//
//   differ       the differences of rows of samples from those at another place, by parts or, where
//                LONGEST is 1, in the first. Columns from the given one on do not count.
//   least        the least of the differences of a window from eight places, plus 1 << 16 times its
//                index in around; of equal ones the first. From the upper left place in its plane
//                (corner), the left one (side) and the upper one (above) the opposite ones are step
//                samples away.
//   least_parts  the same for windows that begin with each of the first parts of a run
//   LONGEST      windows that least_parts takes

#if defined VD_ISA_AVX2 || defined VD_ISA_AVX512

enum { LONGEST = PARTS - 1 };

static const uint8_t ones[2 * WIDE] = {
#define EIGHT 255, 255, 255, 255, 255, 255, 255, 255
	EIGHT, EIGHT, EIGHT, EIGHT,
#undef EIGHT
};

INLINE __m128i load_16(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }
INLINE __m256i load_32(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }

INLINE __m256i two(__m128i low, __m128i high)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

INLINE void differ(uint64_t sum[PARTS], const uint8_t *a, ptrdiff_t a_pitch, const uint8_t *b, ptrdiff_t b_pitch,
                   int columns, int rows)
{
	__m256i all = _mm256_setzero_si256(), mask = load_32(ones + WIDE - columns);
#pragma GCC unroll 4
	for (int y = 0; y < rows; y++) {
		__m256i p = load_32(a + y * a_pitch), q = load_32(b + y * b_pitch);
		if (columns < WIDE) p = _mm256_and_si256(p, mask), q = _mm256_and_si256(q, mask);
		all = _mm256_add_epi64(all, _mm256_sad_epu8(p, q));
	}
	_mm256_storeu_si256((__m256i *)sum, all);
}

INLINE uint32_t least(const window *w, const uint8_t *corner, const uint8_t *side, const uint8_t *above,
                      ptrdiff_t pitch, int step, int cut)
{
	__m256i sum[4] = {}, mask = _mm256_broadcastsi128_si256(load_16(ones + WIDE - w->columns)), beside[3];
	__m128i column[3];
	int rows = cut ? w->rows : SIDE;
	for (int i = 0; i < step; i++) {
		const uint8_t *p = corner + i * pitch;
		beside[i] = two(load_16(p), load_16(p + step)), column[i] = load_16(above + i * pitch);
	}
#pragma GCC unroll 4
	for (int y = 0; y < rows; y++) {
		__m256i a = _mm256_broadcastsi128_si256(load_16(w->at + y * w->pitch));
		const uint8_t *p = corner + (y + step) * pitch, *q = side + y * pitch;
		beside[step] = two(load_16(p), load_16(p + step));
		column[step] = load_16(above + (y + step) * pitch);
		__m256i to[4] = {
			beside[0], step == 2 ? beside[1] : two(load_16(q), load_16(q + step)), beside[step],
			two(column[0], column[step]),
		};
		if (cut) a = _mm256_and_si256(a, mask);
		for (int i = 0; i < 4; i++) {
			if (cut) to[i] = _mm256_and_si256(to[i], mask);
			sum[i] = _mm256_add_epi16(sum[i], _mm256_sad_epu8(a, to[i]));
		}
		for (int i = 0; i < step; i++) beside[i] = beside[i + 1], column[i] = column[i + 1];
	}
	// Each sum is in two parts of 64 bits on the left, and two on the right.
	__m256i low = _mm256_or_si256(sum[0], _mm256_slli_epi64(sum[1], 16));
	__m256i high = _mm256_or_si256(_mm256_slli_epi64(sum[2], 32), _mm256_slli_epi64(sum[3], 48));
	__m256i all = _mm256_or_si256(low, high);
	all = _mm256_add_epi16(all, _mm256_shuffle_epi32(all, 0x4e));
	__m128i eight = _mm_unpacklo_epi64(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
	eight = _mm_shuffle_epi8(eight, _mm_setr_epi8(0, 1, 6, 7, 8, 9, 2, 3, 10, 11, 4, 5, 14, 15, 12, 13));
	return _mm_cvtsi128_si32(_mm_minpos_epu16(eight));
}

INLINE __m256i four(const __m256i *sum)
{
	__m256i low = _mm256_or_si256(sum[0], _mm256_slli_epi64(sum[1], 16));
	__m256i high = _mm256_or_si256(_mm256_slli_epi64(sum[2], 32), _mm256_slli_epi64(sum[3], 48));
	__m256i all = _mm256_or_si256(low, high);
	return _mm256_add_epi16(all, _mm256_permute4x64_epi64(all, 0x39));
}

INLINE void least_parts(uint32_t *found, const window *w, const uint8_t *corner, const uint8_t *side,
                        const uint8_t *above, ptrdiff_t pitch, int step)
{
	__m256i sum[8] = {};
#pragma GCC unroll 2
	for (int y = 0; y < SIDE; y++) {
		__m256i a = load_32(w->at + y * w->pitch);
		const uint8_t *p = corner + y * pitch, *q = p + step * pitch, *l = side + y * pitch;
		const uint8_t *u = above + y * pitch, *d = u + step * pitch;
		const uint8_t *to[8] = {p, u, p + step, l, l + step, q, d, q + step};
		for (int i = 0; i < 8; i++) sum[i] = _mm256_add_epi16(sum[i], _mm256_sad_epu8(a, load_32(to[i])));
	}
	__m256i low = four(sum), high = four(sum + 4);
	__m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
	found[0] = _mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_castsi256_si128(even)));
	found[1] = _mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_castsi256_si128(odd)));
	found[2] = _mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_extracti128_si256(even, 1)));
}

#else

enum { LONGEST = 1 };

INLINE int difference(const uint8_t *a, ptrdiff_t a_pitch, const uint8_t *b, ptrdiff_t b_pitch, int columns, int rows)
{
	int sum = 0;
	for (int y = 0; y < rows; y++)
		for (int x = 0; x < columns; x++) sum += abs(a[y * a_pitch + x] - b[y * b_pitch + x]);
	return sum;
}

INLINE void differ(uint64_t sum[PARTS], const uint8_t *a, ptrdiff_t a_pitch, const uint8_t *b, ptrdiff_t b_pitch,
                   int columns, int rows)
{
	sum[0] = difference(a, a_pitch, b, b_pitch, columns, rows), sum[1] = sum[2] = sum[3] = 0;
}

INLINE uint32_t least(const window *w, const uint8_t *corner, const uint8_t *side, const uint8_t *above,
                      ptrdiff_t pitch, int step, int cut)
{
	uint32_t best = UINT32_MAX;
	for (int i = 0; i < 8; i++) {
		int dx = around[i][0], dy = around[i][1];
		const uint8_t *at = (!dy ? side : !dx ? above : corner) + (dx > 0) * step + (dy > 0) * step * pitch;
		uint32_t cost = cut ? difference(w->at, w->pitch, at, pitch, w->columns, w->rows)
		                    : difference(w->at, w->pitch, at, pitch, SIDE, SIDE);
		if (cost < (best & 0xffff)) best = cost | i << 16;
	}
	return best;
}

INLINE void least_parts(uint32_t *found, const window *w, const uint8_t *corner, const uint8_t *side,
                        const uint8_t *above, ptrdiff_t pitch, int step)
{
	found[0] = least(w, corner, side, above, pitch, step, 0);
}

#endif

// A cell's best vector so far, in half-pels, and its cost. Of equal costs the first tried wins.
typedef struct {
	window window;
	int x, y, cost;
} match;

// A batch of cells side by side. Each step is done for all of them before the next, so that the
// processor need not wait for the result of one before it goes on.
enum { BATCH = 24 };

typedef struct {
	match cell[BATCH];
	int count;
	int parts, longest; // from one window to the next; cells of a run, at the most
} batch;

// open_batch makes a batch of cells from (x, y) on, without vectors.
INLINE void open_batch(batch *b, const vd_plane *p, int cell, int x, int y)
{
	b->count = mini(BATCH, cells(p->width, cell) - x);
	b->parts = cell / 8, b->longest = cell < 8 ? 1 : (LONGEST - 1) / b->parts + 1;
	for (int i = 0; i < b->count; i++) {
		match *m = &b->cell[i];
		open_window(&m->window, p, cell, SIDE, x + i, y);
		m->x = 0, m->y = 0, m->cost = INT32_MAX;
	}
}

// improve takes a vector, (x, y) further, if it costs less. It does not branch: that would be
// guessed wrong every other time.
INLINE int improve(match *m, int x, int y, int cost)
{
	int better = -(cost < m->cost);
	m->x += better & x, m->y += better & y, m->cost += better & (cost - m->cost);
	return -better;
}

// moved is the window's first sample at a vector in half-pels in another plane. Beyond VD_PAD
// samples from an edge all are alike, so a window need not be further away.
INLINE const uint8_t *moved(const window *w, const vd_plane *half, int x, int y)
{
	const vd_plane *p = &half[(x & 1) | (y & 1) << 1];
	int column = clampi(w->x + (x >> 1), -VD_PAD, p->width), row = clampi(w->y + (y >> 1), -VD_PAD, p->height);
	return (const uint8_t *)p->at + row * p->pitch + column;
}

static NOINLINE int difference_cut(const window *w, const uint8_t *at, ptrdiff_t pitch)
{
	uint64_t sum[PARTS];
	differ(sum, w->at, w->pitch, at, pitch, w->columns, w->rows);
	return of_full(w, sum[0] + sum[1]);
}

// A vector to try for a cell.
typedef struct { int cell, x, y, penalty; } trial;

static NOINLINE void try_all(batch *b, const trial *list, int count, const vd_plane *half)
{
	for (int i = 0, n; i < count; i += n) {
		const trial *t = &list[i];
		match *m = &b->cell[t->cell];
		const window *w = &m->window;
		const uint8_t *at = moved(w, half, t->x, t->y);
		n = 1;
		if (w->cut) {
			int cost = difference_cut(w, at, half->pitch) + t->penalty;
			improve(m, t->x - m->x, t->y - m->y, cost);
			continue;
		}
		int most = w->x + (t->x >> 1) < -VD_PAD ? 1 : mini(b->longest, count - i);
		while (n < most && t[n].cell == t->cell + n && t[n].x == t->x && t[n].y == t->y && !m[n].window.cut) n++;
		uint64_t sum[PARTS];
		differ(sum, w->at, w->pitch, at, half->pitch, 8 * (LONGEST + 1), SIDE);
		for (int k = 0; k < n; k++) {
			const uint64_t *s = sum + k * b->parts;
			improve(&m[k], t->x - m[k].x, t->y - m[k].y, (int)(s[0] + s[1]) + t[k].penalty);
		}
	}
}

INLINE int improve_around(match *m, uint32_t found, int step, int penalty)
{
	const int *to = around[found >> 16];
	return improve(m, step * to[0], step * to[1], of_full(&m->window, found & 0xffff) + penalty);
}

// The eight places around a cell's vector, as for least.
typedef struct {
	const uint8_t *corner, *side, *above;
	int apart; // one is further away than the padding
} eight;

INLINE eight around_of(const match *m, const vd_plane *half, int step)
{
	const window *w = &m->window;
	int left = w->x + ((m->x - step) >> 1), right = w->x + ((m->x + step) >> 1);
	int top = w->y + ((m->y - step) >> 1), bottom = w->y + ((m->y + step) >> 1);
	int phase = (m->x & 1) | (m->y & 1) << 1, between = step == 1;
	ptrdiff_t pitch = half->pitch;
	return (eight){
		(const uint8_t *)half[phase ^ 3 * between].at + top * pitch + left,
		(const uint8_t *)half[phase ^ between].at + (w->y + (m->y >> 1)) * pitch + left,
		(const uint8_t *)half[phase ^ 2 * between].at + top * pitch + w->x + (m->x >> 1),
		left < -VD_PAD || right > half->width || top < -VD_PAD || bottom > half->height,
	};
}

// try_rest is for a window that is cut or leaves the padding.
static NOINLINE int try_rest(batch *b, int cell, const vd_plane *half, int step, int penalty)
{
	match *m = &b->cell[cell];
	const window *w = &m->window;
	eight p = around_of(m, half, step);
	if (!p.apart) {
		uint32_t found = step == 2 ? least(w, p.corner, p.side, p.above, half->pitch, 2, 1)
		                           : least(w, p.corner, p.side, p.above, half->pitch, 1, 1);
		return improve_around(m, found, step, penalty);
	}
	int x = m->x, y = m->y;
	trial list[8];
	for (int i = 0; i < 8; i++) list[i] = (trial){cell, x + step * around[i][0], y + step * around[i][1], penalty};
	try_all(b, list, 8, half);
	return m->x != x || m->y != y;
}

// try_around tries the eight vectors around the vector of each cell in a list, row by row. It
// leaves in the list the cells that have moved, and returns their number.
INLINE int try_around(batch *b, int *list, int count, const vd_plane *half, int step, int penalty)
{
	int left = 0;
	for (int i = 0, n; i < count; i += n) {
		int cell = list[i];
		match *m = &b->cell[cell];
		n = 1;
		if (m->cost <= penalty) continue; // no vector costs less
		eight p = around_of(m, half, step);
		if (m->window.cut || p.apart) {
			list[left] = cell, left += try_rest(b, cell, half, step, penalty);
			continue;
		}
		int most = mini(b->longest, count - i);
		while (n < most && list[i + n] == cell + n && m[n].x == m->x && m[n].y == m->y && !m[n].window.cut) n++;
		uint32_t found[PARTS] = {0};
		if (n > 1) least_parts(found, &m->window, p.corner, p.side, p.above, half->pitch, step);
		else found[0] = least(&m->window, p.corner, p.side, p.above, half->pitch, step, 0);
		for (int k = 0; k < n; k++) {
			list[left] = cell + k, left += improve_around(&m[k], found[k * b->parts], step, penalty);
		}
	}
	return left;
}

INLINE int list_all(const batch *b, int *list)
{
	for (int i = 0; i < BATCH; i++) list[i] = i;
	return b->count;
}

static NOINLINE void try_pels(batch *b, const vd_plane *half, int penalty, int rounds)
{
	int list[BATCH], count = list_all(b, list);
	for (int i = 0; i < rounds; i++) count = try_around(b, list, count, half, 2, penalty);
}

static NOINLINE void try_halves(batch *b, const vd_plane *half, int penalty)
{
	int list[BATCH];
	try_around(b, list, list_all(b, list), half, 1, penalty);
}

// search_all sets the best of all vectors in reach.
static void search_all(const vd_search *s, batch *b, const vd_plane *to)
{
	trial list[BATCH];
	for (int i = 0; i < b->count; i++) list[i] = (trial){i, 0, 0, 0};
	try_all(b, list, b->count, to);
	for (int dy = -VD_REACH; dy <= VD_REACH; dy++) {
		for (int dx = -VD_REACH; dx <= VD_REACH; dx++) {
			for (int i = 0; i < b->count; i++) list[i] = (trial){i, 2 * dx, 2 * dy, s->length[dx * dx + dy * dy]};
			try_all(b, list, b->count, to);
		}
	}
}

// found_near sets the vectors that were found for the cell around a cell of half the side, and for
// those beside, above or below, and at the corner.
INLINE void found_near(vd_vector *v, const vd_search *s, int level, int x, int y)
{
	int width = cells(s->from[level].width, VD_CELL), height = cells(s->from[level].height, VD_CELL);
	int px = mini(x / 2, width - 1), side_x = clampi(px + 2 * (x & 1) - 1, 0, width - 1);
	int py = mini(y / 2, height - 1), side_y = clampi(py + 2 * (y & 1) - 1, 0, height - 1);
	const vd_vector *row = s->found[level] + py * width, *side = s->found[level] + side_y * width;
	v[0] = row[px], v[1] = row[side_x], v[2] = side[px], v[3] = side[side_x];
}

enum { STARTS = 5 }; // vectors that a cell may start from, at the most

// The n vectors that each cell of a batch may start from. The expected one has no penalty.
typedef struct {
	vd_vector of[BATCH][STARTS];
	int n, expected;
} starts;

// try_starts tries them, times unit, but for those that were tried before.
static NOINLINE void try_starts(batch *b, const starts *v, const vd_plane *half, int unit, int penalty)
{
	trial list[BATCH * STARTS];
	int count = 0;
	for (int k = 0; k < v->n; k++) {
		for (int i = 0; i < b->count; i++) {
			uint32_t bits[STARTS];
			memcpy(bits, v->of[i], sizeof bits);
			int tried = b->cell[i].cost == 0; // no vector costs less
			for (int j = 0; j < k; j++) tried |= bits[j] == bits[k];
			int free = bits[k] == bits[v->expected];
			list[count] = (trial){i, unit * v->of[i][k].x, unit * v->of[i][k].y, free ? 0 : penalty};
			count += !tried;
		}
	}
	try_all(b, list, count, half);
}

// inherit sets the best of no motion and the nearest vectors of the coarser level.
static void inherit(const vd_search *s, batch *b, int level, int x0, int y)
{
	starts v = {.n = STARTS, .expected = 1};
	for (int i = 0; i < b->count; i++) found_near(&v.of[i][1], s, level + 1, x0 + i, y);
	try_starts(b, &v, &s->to[level], 4, s->penalty);
}

// fetch_below prefetches the samples of the next row of cells, if its vectors are like those of
// this row.
INLINE void fetch_below(const batch *b, const vd_plane *half, int cell)
{
	enum { LINE = 64 };
	for (int i = 0; i < b->count; i += LINE / cell) {
		const match *m = &b->cell[i];
		const window *w = &m->window;
		int y = mini(m->y & ~1, 2 * (half->height - SIDE - w->y));
		for (int j = 0; j < cell; j++) __builtin_prefetch(w->at + (SIDE + j) * w->pitch + SIDE, 0, 2);
		for (int k = 0; k < 4; k++) {
			const uint8_t *at = moved(w, &half[k], m->x & ~1, y) + SIDE * half->pitch + SIDE;
			for (int j = 0; j < cell; j++) __builtin_prefetch(at + j * half->pitch, 0, 2);
		}
	}
}

static void find_row(const vd_search *s, int level, int y)
{
	const vd_plane *from = &s->from[level], *to = &s->to[level];
	int width = cells(from->width, VD_CELL), whole = level > 0;
	vd_vector *out = s->found[level] + y * width;
	batch b;
	for (int x = 0; x < width; x += BATCH) {
		open_batch(&b, from, VD_CELL, x, y);
		if (level == s->levels - 1) {
			search_all(s, &b, to);
		} else {
			inherit(s, &b, level, x, y);
			try_pels(&b, to, s->penalty, 2);
		}
		if (level == 0) {
			fetch_below(&b, s->half, VD_CELL);
			try_halves(&b, s->half, s->penalty);
		}
		for (int i = 0; i < b.count; i++) out[x + i] = (vd_vector){b.cell[i].x >> whole, b.cell[i].y >> whole};
	}
}

void NAME(vd_find)(const vd_search *s, int level, int y0, int y1)
{
	for (int y = y0; y < y1; y++) find_row(s, level, y);
}

enum { REFINED_MOST = 2 }; // half-pels by which a vector may become shorter: 1 each way

static void refine_row(const vd_search *s, int y)
{
	int width = cells(s->pilot.width, VD_REFINED_CELL);
	vd_vector *out = s->refined + y * width;
	batch b;
	for (int x = 0; x < width; x += BATCH) {
		open_batch(&b, &s->pilot, VD_REFINED_CELL, x, y);
		starts v = {.n = s->found[0] ? 3 : 1};
		for (int i = 0; i < b.count; i++) {
			if (s->found[0]) {
				found_near(v.of[i], s, 0, x + i, y);
				continue;
			}
			vd_vector given = v.of[i][0] = out[x + i];
			int far = s->reach && abs(given.x) + abs(given.y) > s->reach + REFINED_MOST;
			if (far) b.cell[i].x = given.x, b.cell[i].y = given.y, b.cell[i].cost = 0;
		}
		try_starts(&b, &v, s->half, 1, s->refine);
		fetch_below(&b, s->half, VD_REFINED_CELL);
		try_halves(&b, s->half, s->refine);
		for (int i = 0; i < b.count; i++) out[x + i] = (vd_vector){b.cell[i].x, b.cell[i].y};
	}
}

void NAME(vd_refine)(const vd_search *s, int y0, int y1)
{
	for (int y = y0; y < y1; y++) refine_row(s, y);
}

static int64_t misfit_row(const vd_search *s, int y)
{
	int width = cells(s->from[0].width, VD_CELL);
	const vd_vector *field = s->found[0] + y * width;
	int64_t sum = 0;
	for (int x = 0, n; x < width; x += n) {
		window w;
		open_window(&w, &s->from[0], VD_CELL, VD_CELL, x, y);
		int dx = field[x].x >> 1, dy = field[x].y >> 1, whole = w.columns * w.rows == w.full && w.x + dx >= -VD_PAD;
		int most = whole ? mini(WIDE / VD_CELL, s->from[0].width / VD_CELL - x) : 1;
		for (n = 1; n < most && field[x + n].x >> 1 == dx && field[x + n].y >> 1 == dy;) n++;
		uint64_t part[PARTS];
		differ(part, w.at, w.pitch, moved(&w, s->to, 2 * dx, 2 * dy), s->to[0].pitch, w.columns + (n - 1) * VD_CELL, w.rows);
		sum += of_full(&w, part[0] + part[1] + part[2] + part[3]);
	}
	return sum;
}

int64_t NAME(vd_misfit)(const vd_search *s, int y0, int y1)
{
	int64_t sum = 0;
	for (int y = y0; y < y1; y++) sum += misfit_row(s, y);
	return sum;
}
