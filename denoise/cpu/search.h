// The motion search: the same vectors as denoise/motion, bit for bit.

enum { SIDE = 16 }; // of the squares that are compared

// A cell's window in the frame, packed. Columns beyond a cut are zeros, in the neighbour's samples
// too by the mask.
typedef struct {
	_Alignas(64) sample samples[SIDE * SIDE];
	sample mask[SIDE];
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
		for (int i = 0; i < SIDE; i++) memcpy(w->samples + i * SIDE, row_of(p, w->y + i) + w->x, SIDE * sizeof(sample));
		return;
	}
	for (int i = 0; i < SIDE; i++) w->mask[i] = i < columns ? (sample)~0 : 0;
	for (int k = 0; k < w->rows; k++) {
		const sample *row = row_of(p, w->y + k) + w->x;
		for (int i = 0; i < SIDE; i++) w->samples[k * SIDE + i] = row[i] & w->mask[i];
	}
}

#if defined VD_ISA_AVX2 || defined VD_ISA_AVX512

INLINE __m256i sad_rows(const sample *a, const sample *b, ptrdiff_t pitch)
{
	__m256i sum = _mm256_setzero_si256();
	for (int y = 0; y < SIDE / 2; y += 2) {
		__m256i p = _mm256_load_si256((const __m256i *)(a + y * SIDE));
		__m256i q = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(b + y * pitch)));
		q = _mm256_inserti128_si256(q, _mm_loadu_si128((const __m128i *)(b + (y + 1) * pitch)), 1);
		sum = _mm256_add_epi64(sum, _mm256_sad_epu8(p, q));
	}
	return sum;
}

INLINE int sum_of(__m256i v)
{
	__m128i s = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	return _mm_cvtsi128_si32(s) + _mm_extract_epi32(s, 2);
}

// sad_whole is the difference of whole windows, or some number that is not below the bound.
INLINE int sad_whole(const sample *a, const sample *b, ptrdiff_t pitch, int bound)
{
	__m256i sum = sad_rows(a, b, pitch);
	int upper = sum_of(sum);
	if (upper >= bound) return upper;
	return upper + sum_of(sad_rows(a + SIDE * SIDE / 2, b + SIDE / 2 * pitch, pitch));
}

INLINE int sad_row(const sample *a, const sample *b, const sample *mask)
{
	__m128i q = _mm_and_si128(_mm_loadu_si128((const __m128i *)b), _mm_loadu_si128((const __m128i *)mask));
	__m128i s = _mm_sad_epu8(_mm_load_si128((const __m128i *)a), q);
	return _mm_cvtsi128_si32(s) + _mm_extract_epi32(s, 2);
}

#else

INLINE int sad_whole(const sample *a, const sample *b, ptrdiff_t pitch, int bound)
{
	int sum = 0;
	for (int y = 0; y < SIDE && sum < bound; y++, a += SIDE, b += pitch)
		for (int x = 0; x < SIDE; x++) sum += a[x] > b[x] ? a[x] - b[x] : b[x] - a[x];
	return sum;
}

INLINE int sad_row(const sample *a, const sample *b, const sample *mask)
{
	int sum = 0;
	for (int x = 0; x < SIDE; x++) sum += abs(a[x] - (b[x] & mask[x]));
	return sum;
}

#endif

// sad is the difference between the window and the neighbour's samples at whole pels (dx, dy), or
// some number that is not below the bound. Beyond VD_PAD samples from an edge all are alike, so a
// window need not be further away.
INLINE int sad(const window *w, vd_plane p, int dx, int dy, int bound)
{
	int x = clampi(w->x + dx, -VD_PAD, p.width), y = clampi(w->y + dy, -VD_PAD, p.height);
	const sample *b = row_of(p, y) + x;
	if (w->area == SIDE * SIDE) return sad_whole(w->samples, b, p.pitch, bound);
	int64_t sum = 0;
	for (int i = 0; i < w->rows; i++) sum += sad_row(w->samples + i * SIDE, b + i * p.pitch, w->mask);
	return sum * w->full / w->area;
}

// The best vector so far. Of equal costs the first tried wins.
typedef struct { int x, y, cost; } match;

INLINE void try_whole(match *m, const window *w, vd_plane p, int x, int y, int penalty)
{
	int cost = sad(w, p, x, y, m->cost - penalty) + penalty;
	if (cost < m->cost) *m = (match){x, y, cost};
}

INLINE void try_half(match *m, const window *w, const vd_plane *half, int x, int y, int penalty)
{
	int cost = sad(w, half[(x & 1) | (y & 1) << 1], x >> 1, y >> 1, m->cost - penalty) + penalty;
	if (cost < m->cost) *m = (match){x, y, cost};
}

// try_halves tries the eight vectors around the present one, row by row.
static void try_halves(match *m, const window *w, const vd_plane *half, int step, int penalty)
{
	int x = m->x, y = m->y;
	for (int dy = -step; dy <= step; dy += step)
		for (int dx = -step; dx <= step; dx += step)
			if (dx || dy) try_half(m, w, half, x + dx, y + dy, penalty);
}

// descend moves to the best of the eight vectors around, twice at the most. In the second round
// those next to the first centre have been tried, and would not win now.
static void descend(match *m, const window *w, vd_plane p, int penalty)
{
	int px = m->x, py = m->y, far = 0;
	for (int round = 0; round < 2; round++) {
		int x = m->x, y = m->y;
		for (int dy = -1; dy <= 1; dy++) {
			for (int dx = -1; dx <= 1; dx++) {
				int tried = far && abs(x + dx - px) <= 1 && abs(y + dy - py) <= 1;
				if ((dx || dy) && !tried) try_whole(m, w, p, x + dx, y + dy, penalty);
			}
		}
		if (m->x == x && m->y == y) return;
		far = 1;
	}
}

static match search_all(const vd_search *s, const window *w, vd_plane p)
{
	match best = {0, 0, sad(w, p, 0, 0, INT32_MAX)};
	for (int dy = -VD_REACH; dy <= VD_REACH; dy++)
		for (int dx = -VD_REACH; dx <= VD_REACH; dx++)
			try_whole(&best, w, p, dx, dy, s->length[dx * dx + dy * dy]);
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
	for (int i = 0; i < 5; i++) {
		int tried = 0;
		for (int k = 0; k < i; k++) tried |= v[k].x == v[i].x && v[k].y == v[i].y;
		if (tried) continue;
		int same = v[i].x == parent.x && v[i].y == parent.y;
		try_whole(&best, w, p, 2 * v[i].x, 2 * v[i].y, same ? 0 : s->penalty);
	}
	return best;
}

void NAME(vd_find)(const vd_search *s, int level, int y)
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
			best.x *= 2, best.y *= 2;
			try_halves(&best, &w, s->half, 1, s->penalty);
		}
		out[x] = (vd_vector){best.x, best.y};
	}
}

void NAME(vd_refine)(const vd_search *s, int y)
{
	int width = cells(s->pilot.width, s->cell);
	vd_vector *field = s->field[0] + y * width;
	window w;
	for (int x = 0; x < width; x++) {
		open_window(&w, s->pilot, s->cell, SIDE, x, y);
		match best = {0, 0, INT32_MAX};
		try_half(&best, &w, s->half, field[x].x, field[x].y, 0);
		try_halves(&best, &w, s->half, 2, s->refine);
		try_halves(&best, &w, s->half, 1, s->refine);
		field[x] = (vd_vector){best.x, best.y};
	}
}

int64_t NAME(vd_misfit)(const vd_search *s, int y)
{
	int width = cells(s->from[0].width, s->cell);
	const vd_vector *field = s->field[0] + y * width;
	int64_t sum = 0;
	window w;
	for (int x = 0; x < width; x++) {
		open_window(&w, s->from[0], s->cell, s->cell, x, y);
		sum += sad(&w, s->to[0], field[x].x >> 1, field[x].y >> 1, INT32_MAX);
	}
	return sum;
}
