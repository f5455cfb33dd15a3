// The motion search: the same vectors as denoise/motion, bit for bit. Samples are bytes.

enum { SIDE = 16 }; // of the squares that are compared

// A cell's window in the frame, packed. Columns beyond a cut are zeros, in the neighbour's samples
// too by the mask.
typedef struct {
	_Alignas(64) uint8_t samples[SIDE * SIDE];
	uint8_t mask[SIDE];
	int x, y;    // its first sample
	int rows;
	int area;    // samples
	int full;    // samples if it were not cut
} window;

// open_window loads the window of the given side about cell (x, y).
INLINE void open_window(window *w, vd_plane p, int cell, int side, int x, int y)
{
	int left = x * cell - (side - cell) / 2, top = y * cell - (side - cell) / 2;
	int right = mini(left + side, p.width), bottom = mini(top + side, p.height);
	w->x = maxi(left, 0), w->y = maxi(top, 0);
	int columns = right - w->x;
	w->rows = bottom - w->y;
	w->area = columns * w->rows, w->full = side * side;
	if (w->area == SIDE * SIDE) {
		for (int i = 0; i < SIDE; i++) memcpy(w->samples + i * SIDE, bytes_of(p, w->y + i) + w->x, SIDE);
		return;
	}
	for (int i = 0; i < SIDE; i++) w->mask[i] = i < columns ? 0xff : 0;
	for (int k = 0; k < w->rows; k++) {
		const uint8_t *row = bytes_of(p, w->y + k) + w->x;
		for (int i = 0; i < SIDE; i++) w->samples[k * SIDE + i] = row[i] & w->mask[i];
	}
}

enum { BATCH = 4 }; // windows that are compared at a time

// sad_whole sets the differences of a whole window from four others. sad_row is that of a row, in
// the columns of a mask.

#if defined VD_ISA_AVX2 || defined VD_ISA_AVX512

INLINE __m256i two_rows(const uint8_t *p, ptrdiff_t pitch)
{
	__m256i upper = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
	return _mm256_inserti128_si256(upper, _mm_loadu_si128((const __m128i *)(p + pitch)), 1);
}

INLINE void sad_whole(const window *w, const uint8_t *const *b, ptrdiff_t pitch, int *out)
{
	__m256i sum[BATCH];
	for (int k = 0; k < BATCH; k++) sum[k] = _mm256_setzero_si256();
	for (int y = 0; y < SIDE; y += 2) {
		__m256i rows = _mm256_load_si256((const __m256i *)(w->samples + y * SIDE));
		for (int k = 0; k < BATCH; k++)
			sum[k] = _mm256_add_epi32(sum[k], _mm256_sad_epu8(rows, two_rows(b[k] + y * pitch, pitch)));
	}
	// Each has four parts, in the even places.
	__m256i low = _mm256_or_si256(sum[0], _mm256_slli_epi64(sum[1], 32));
	__m256i high = _mm256_or_si256(sum[2], _mm256_slli_epi64(sum[3], 32));
	__m256i all = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
	__m128i four = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
	_mm_storeu_si128((__m128i *)out, four);
}

INLINE int sad_row(const uint8_t *a, const uint8_t *b, const uint8_t *mask)
{
	__m128i q = _mm_and_si128(_mm_loadu_si128((const __m128i *)b), _mm_loadu_si128((const __m128i *)mask));
	__m128i s = _mm_sad_epu8(_mm_load_si128((const __m128i *)a), q);
	return _mm_cvtsi128_si32(s) + _mm_extract_epi32(s, 2);
}

#else

INLINE void sad_whole(const window *w, const uint8_t *const *b, ptrdiff_t pitch, int *out)
{
	const uint8_t *a = w->samples;
	for (int k = 0; k < BATCH; k++) {
		int sum = 0;
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++) sum += abs(a[y * SIDE + x] - b[k][y * pitch + x]);
		out[k] = sum;
	}
}

INLINE int sad_row(const uint8_t *a, const uint8_t *b, const uint8_t *mask)
{
	int sum = 0;
	for (int x = 0; x < SIDE; x++) sum += abs(a[x] - (b[x] & mask[x]));
	return sum;
}

#endif

// sad_cut is the difference of a window that an edge cuts, scaled to a whole one.
static int sad_cut(const window *w, const uint8_t *b, ptrdiff_t pitch)
{
	int64_t sum = 0;
	for (int i = 0; i < w->rows; i++) sum += sad_row(w->samples + i * SIDE, b + i * pitch, w->mask);
	return sum * w->full / w->area;
}

// Where the window is when it is moved. Beyond VD_PAD samples from an edge all are alike, so a
// window need not be further away.
INLINE ptrdiff_t column_of(const window *w, vd_plane p, int dx) { return clampi(w->x + dx, -VD_PAD, p.width); }
INLINE ptrdiff_t line_of(const window *w, vd_plane p, int dy) { return clampi(w->y + dy, -VD_PAD, p.height) * p.pitch; }

// moved is the window's first sample at whole pels (dx, dy) in another plane.
INLINE const uint8_t *moved(const window *w, vd_plane p, int dx, int dy)
{
	return (const uint8_t *)p.at + line_of(w, p, dy) + column_of(w, p, dx);
}

// The best vector so far. Of equal costs the first tried wins.
typedef struct { int x, y, cost; } match;

// Vectors to try, in this order.
typedef struct {
	int count;
	int x[8], y[8], penalty[8];
	const uint8_t *at[8 + BATCH];
} trials;

INLINE void add_trial(trials *t, int x, int y, const uint8_t *at, int penalty)
{
	t->x[t->count] = x, t->y[t->count] = y;
	t->at[t->count] = at;
	t->penalty[t->count++] = penalty;
}

INLINE void try(match *m, const window *w, trials *t, ptrdiff_t pitch)
{
	int cost[8 + BATCH];
	if (w->area == SIDE * SIDE) {
		for (int i = 0; i < t->count; i += BATCH) {
			for (int k = t->count; k < i + BATCH; k++) t->at[k] = t->at[i];
			sad_whole(w, t->at + i, pitch, cost + i);
		}
	} else {
		for (int i = 0; i < t->count; i++) cost[i] = sad_cut(w, t->at[i], pitch);
	}
	int best = -1, least = m->cost;
	for (int i = 0; i < t->count; i++) {
		int c = cost[i] + t->penalty[i], better = c < least;
		least = better ? c : least;
		best = better ? i : best;
	}
	if (best >= 0) *m = (match){t->x[best], t->y[best], least};
	t->count = 0;
}

static const int around[8][2] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};

INLINE const uint8_t *moved_half(const window *w, const vd_plane *half, int x, int y)
{
	return moved(w, half[(x & 1) | (y & 1) << 1], x >> 1, y >> 1);
}

// try_halves tries the eight vectors around the present one, row by row.
static void try_halves(match *m, const window *w, const vd_plane *half, int step, int penalty)
{
	trials t = {.count = 0};
	ptrdiff_t column[3], line[3];
	int across[3], down[3]; // parts of the phase
	for (int i = 0; i < 3; i++) {
		int x = m->x + step * (i - 1), y = m->y + step * (i - 1);
		column[i] = column_of(w, half[0], x >> 1), across[i] = x & 1;
		line[i] = line_of(w, half[0], y >> 1), down[i] = (y & 1) << 1;
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		int dx = around[i][0], dy = around[i][1];
		const uint8_t *plane = half[across[dx + 1] | down[dy + 1]].at;
		add_trial(&t, m->x + step * dx, m->y + step * dy, plane + line[dy + 1] + column[dx + 1], penalty);
	}
	try(m, w, &t, half[0].pitch);
}

// descend moves to the best of the eight vectors around, twice at the most. In the second round
// those next to the first centre have been tried, and would not win now.
static void descend(match *m, const window *w, vd_plane p, int penalty)
{
	trials t = {.count = 0};
	int px = m->x, py = m->y;
	for (int round = 0; round < 2; round++) {
		int from_x = m->x, from_y = m->y;
		ptrdiff_t column[3], line[3];
		for (int i = 0; i < 3; i++) {
			column[i] = column_of(w, p, from_x + i - 1);
			line[i] = line_of(w, p, from_y + i - 1);
		}
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			int dx = around[i][0], dy = around[i][1], x = from_x + dx, y = from_y + dy;
			if (round && abs(x - px) <= 1 && abs(y - py) <= 1) continue;
			add_trial(&t, x, y, (const uint8_t *)p.at + line[dy + 1] + column[dx + 1], penalty);
		}
		try(m, w, &t, p.pitch);
		if (m->x == from_x && m->y == from_y) return;
	}
}

static match search_all(const vd_search *s, const window *w, vd_plane p)
{
	trials t = {.count = 0};
	match best = {0, 0, INT32_MAX};
	add_trial(&t, 0, 0, moved(w, p, 0, 0), 0);
	for (int dy = -VD_REACH; dy <= VD_REACH; dy++) {
		for (int dx = -VD_REACH; dx <= VD_REACH; dx++) {
			add_trial(&t, dx, dy, moved(w, p, dx, dy), s->length[dx * dx + dy * dy]);
			if (t.count == 8) try(&best, w, &t, p.pitch);
		}
	}
	try(&best, w, &t, p.pitch);
	return best;
}

INLINE int cells(int samples, int cell) { return (samples + cell - 1) / cell; }

// inherited is the best of no motion and the vectors of four cells of the coarser level. A vector
// that was tried before would not win.
static match inherited(const vd_search *s, const window *w, int level, int x, int y)
{
	vd_plane p = s->to[level];
	const vd_vector *parents = s->field[level + 1];
	int width = cells(s->from[level + 1].width, s->cell), height = cells(s->from[level + 1].height, s->cell);
	int px = mini(x / 2, width - 1), py = mini(y / 2, height - 1);
	int side_x = clampi(px + 2 * (x & 1) - 1, 0, width - 1);
	int side_y = clampi(py + 2 * (y & 1) - 1, 0, height - 1);
	vd_vector parent = parents[py * width + px];
	vd_vector v[5] = {{0, 0}, parent, parents[py * width + side_x], parents[side_y * width + px],
	                  parents[side_y * width + side_x]};
	match best = {0, 0, INT32_MAX};
	trials t = {.count = 0};
	for (int i = 0; i < 5; i++) {
		int tried = 0;
		for (int k = 0; k < i; k++) tried |= v[k].x == v[i].x && v[k].y == v[i].y;
		if (tried) continue;
		int same = v[i].x == parent.x && v[i].y == parent.y;
		int vx = 2 * v[i].x, vy = 2 * v[i].y;
		add_trial(&t, vx, vy, moved(w, p, vx, vy), same ? 0 : s->penalty);
	}
	try(&best, w, &t, p.pitch);
	return best;
}

// fetch_below starts to fetch what the next row of cells will read below a window, if its vectors
// are like this one's.
INLINE void fetch_below(const window *w, vd_plane p, int dx, int dy, int cell)
{
	enum { LINE = 64 };
	const uint8_t *at = moved(w, p, dx, mini(dy, p.height - SIDE - w->y));
	if (((uintptr_t)at & (LINE - 1)) >= (unsigned)cell) return;
	for (int i = 0; i < cell; i++) __builtin_prefetch(at + (SIDE + i) * p.pitch + SIDE, 0, 2);
}

static void find_row(const vd_search *s, int level, int y)
{
	vd_plane from = s->from[level];
	int width = cells(from.width, s->cell);
	vd_vector *out = s->field[level] + y * width;
	window w;
	for (int x = 0; x < width; x++) {
		match best;
		open_window(&w, from, s->cell, SIDE, x, y);
		if (level == s->levels - 1) {
			best = search_all(s, &w, s->to[level]);
		} else {
			best = inherited(s, &w, level, x, y);
			descend(&best, &w, s->to[level], s->penalty);
		}
		if (level == 0) {
			for (int i = 0; i < 4; i++) fetch_below(&w, s->half[i], best.x, best.y, s->cell);
			best.x *= 2, best.y *= 2;
			try_halves(&best, &w, s->half, 1, s->penalty);
		}
		out[x] = (vd_vector){best.x, best.y};
	}
}

void NAME(vd_find)(const vd_search *s, int level, int y0, int y1)
{
	for (int y = y0; y < y1; y++) find_row(s, level, y);
}

enum { REFINED_MOST = 6 }; // half-pels by which a vector may become shorter: 2 and 1 each way

static void refine_row(const vd_search *s, int y)
{
	int width = cells(s->pilot.width, s->cell);
	vd_vector *field = s->field[0] + y * width;
	window w;
	for (int x = 0; x < width; x++) {
		if (s->reach && abs(field[x].x) + abs(field[x].y) > s->reach + REFINED_MOST) continue;
		open_window(&w, s->pilot, s->cell, SIDE, x, y);
		match best = {0, 0, INT32_MAX};
		trials t = {.count = 0};
		add_trial(&t, field[x].x, field[x].y, moved_half(&w, s->half, field[x].x, field[x].y), 0);
		try(&best, &w, &t, s->half[0].pitch);
		for (int i = 0; i < 4; i++) fetch_below(&w, s->half[i], best.x >> 1, best.y >> 1, s->cell);
		try_halves(&best, &w, s->half, 2, s->refine);
		try_halves(&best, &w, s->half, 1, s->refine);
		field[x] = (vd_vector){best.x, best.y};
	}
}

void NAME(vd_refine)(const vd_search *s, int y0, int y1)
{
	for (int y = y0; y < y1; y++) refine_row(s, y);
}

static int64_t misfit_row(const vd_search *s, int y)
{
	int width = cells(s->from[0].width, s->cell);
	const vd_vector *field = s->field[0] + y * width;
	int64_t sum = 0;
	window w;
	for (int x = 0; x < width; x++) {
		open_window(&w, s->from[0], s->cell, s->cell, x, y);
		match m = {0, 0, INT32_MAX};
		trials t = {.count = 0};
		add_trial(&t, 0, 0, moved(&w, s->to[0], field[x].x >> 1, field[x].y >> 1), 0);
		try(&m, &w, &t, s->to[0].pitch);
		sum += m.cost;
	}
	return sum;
}

int64_t NAME(vd_misfit)(const vd_search *s, int y0, int y1)
{
	int64_t sum = 0;
	for (int y = y0; y < y1; y++) sum += misfit_row(s, y);
	return sum;
}
