// The recursive edge-aware Gaussian (002) as a scan: what --filter recursive runs. Planes in and out, exact: no boundary is guessed.
//
//   u[k] = B[k] (u[k-1] + s[k]) - s[k]      forwards, for each of two poles and three channels; B = b^D, s = (f[k] - f[k-1]) / D
//   v[k-1] = B[k] (v[k] - s[k]) + s[k]      backwards
//   out[k] = f[k] + Re sum p (u[k] + v[k])
//
// which is equation 4 in the form of kernels/recursive.go, with h+ = p u and h- = p v. Both ways a stretch of a line is a map x -> T x + X with
// the same T, the product of its B. So a block takes two whole lines (or pieces of them) into shared memory; a thread takes RUN pixels:
//
//   1. it works out B and s of its pixels' links to the left, and its maps U and V from the left and from the right;
//   2. the block scans the maps of a line: 14 threads for each 16 runs, one for each pole, channel and direction, fold those that came before;
//   3. each thread runs forwards and backwards from the states that it was given, and adds to its pixels.
//
// Then it goes on to two other lines, which are on their way into the place of the maps as soon as these have been read: blocks that all load at
// the same time, and then all compute, leave half of the device idle.
//
// The lines lie in the scratch memory between passes, as 2 x 2 pixels of 8 bytes, a sector, so that both rows and columns are read and
// written in whole sectors, in place. Lines that no block can hold are cut: a launch before makes the maps of the pieces alone
// (r.phase VF_PIECES), and each piece folds those of the others. A last launch (VF_PACK) makes planes: two columns of them would be written in parts of sectors.
//
// A pixel and pass cost about 200 operations (246 instructions): 30 for D, B and s (7 of them of the special-function unit), 47 for the maps, 84 for the two runs,
// 11 for the scan. Four passes read and write 4 and 8, then 8 and 8 three times, the last launch 8 and 4 bytes a pixel; most stays in the cache.
#include "recursion.h"

enum {
	RUN = 16,  // pixels of a line that are a thread's
	KEPT = 1,  // poles whose B a thread keeps in registers; there is no room for both
	LINES = 2,
	GROUP = 16, // runs that one thread scans
	MAPS = 12,  // of a run: direction, pole, channel
	ZERO_PLACE = 2 + MAPS, // where a run's maps have 0: what is added to T itself
	PLACES = 2 + MAPS + 1, // odd for the banks' sake, too
	POWERS = (2 - KEPT) * RUN + 1, // of a thread in shared memory; odd for the banks' sake
	RECORD = 128, // bytes of a piece's maps in the scratch memory: T of each pole, the maps, the pixel to the left
};

// A block's place and its shared memory. A line has one pixel more, the left neighbour of the first; after each run of pixels a place is left
// free, so that threads that read the same pixel of their runs meet no bank twice.
struct scene {
	int thread, line, from; // the first line, and of it the first pixel
	int columns;            // of the maps: places a line
	pixel *pixels;          // both lines' by turns
	float2 *maps;   // by line, run, and T of both poles, the MAPS, and 0; after each group of runs a place is left free
	float2 *powers; // B of the poles that are not kept in registers, by thread, pole and pixel
	float2 *groups; // the maps by group
};

DEVICE int place(int k) { return k + k / RUN; }
DEVICE int groups_of(const vf_recursion &r) { return (r.runs + GROUP - 1) / GROUP; }
DEVICE pixel *pixel_of_line(const scene &s, int line, int k) { return s.pixels + LINES * (1 + place(k)) + line; }
DEVICE pixel *left_of_line(const scene &s, int line) { return s.pixels + line; }
DEVICE float2 *maps_of(const scene &s, int line, int run) { return s.maps + (line * s.columns + run + run / GROUP) * PLACES; }
DEVICE float2 *group_of(const scene &s, const vf_recursion &r, int line, int group) {
	return s.groups + (line * groups_of(r) + group) * PLACES;
}

// Blocks take the pairs of lines one after the other, as many each as come out even.
DEVICE int first_line(const vf_recursion &r, int block) { return block * r.pairs / r.blocks * LINES; }

DEVICE scene scene_of(const vf_recursion &r) {
	scene s;
	s.thread = thread_x(), s.line = first_line(r, block_x()), s.from = block_y() * r.runs * RUN;
	s.columns = r.runs + groups_of(r);
	int lines = LINES * (1 + place(r.runs * RUN)), maps = LINES * PLACES * s.columns, area = lines > maps ? lines : maps;
	s.pixels = (pixel *)shared_memory();
	s.maps = (float2 *)s.pixels + area;
	s.powers = s.maps + area;
	s.groups = s.powers + POWERS * LINES * r.runs;
	return s;
}

// next_of is the scene of the block's next lines, whose pixels take the place of these lines' maps.
DEVICE scene next_of(const vf_recursion &r, const scene &s) {
	scene next = s;
	next.line += LINES, next.pixels = (pixel *)s.maps, next.maps = (float2 *)s.pixels;
	return next;
}

// Where things lie in the scratch memory: squares by rows. Along two lines, 4 pixels of it follow each other: rows' as left and right, columns'
// as upper and lower.
DEVICE uint8_t *squares_at(const vf_lab_args &lab, const vf_args &args, int x, int y) {
	return (uint8_t *)lab.scratch + 32 * ((int64_t)(y >> 1) * ((args.width + 1) >> 1) + (x >> 1));
}
struct track {
	uint8_t *squares; // the first square of the two lines
	int64_t stride;   // from one to the next
	int line, along;  // from one pixel to the next in bytes, across and along
	int last;         // pixel of the lines
};
DEVICE track track_of(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	if (r.vertical) return {squares_at(lab, args, s.line, 0), 32 * (int64_t)((args.width + 1) >> 1), 8, 16, args.height - 1};
	return {squares_at(lab, args, 0, s.line), 32, 16, 8, args.width - 1};
}
DEVICE uint8_t *pixel_at(const track &t, int line, int i) { return t.squares + (i >> 1) * t.stride + (i & 1) * t.along + line * t.line; }

// count_of is how many pixels of the lines are there.
DEVICE int count_of(const vf_recursion &r, const scene &s, const track &t) {
	int rest = t.last + 1 - s.from;
	return rest < r.runs * RUN ? rest : r.runs * RUN;
}

// share has the threads go through the lines in the order of the memory, with the places here and there: of columns two pixels at a time, which
// lie side by side in both, of rows one.
template <class ONE, class TWO>
DEVICE void share(const vf_recursion &r, const scene &s, const track &t, ONE one, TWO two) {
	int count = count_of(r, s, t);
	if (r.vertical) {
		int i = s.thread, on = LINES * place(r.threads);
		pixel *here = pixel_of_line(s, 0, i);
		uint8_t *there = pixel_at(t, 0, s.from + i);
		int64_t far = (r.threads >> 1) * t.stride;
		for (; i < count; i += r.threads, here += on, there += far) two(here, there);
	} else {
		int line = s.thread >> 1 & 1, i = (s.thread >> 2) * 2 + (s.thread & 1), step = r.threads / LINES, on = LINES * place(step);
		pixel *here = pixel_of_line(s, line, i);
		uint8_t *there = pixel_at(t, line, s.from + i);
		int64_t far = (step >> 1) * t.stride;
		for (; i < count; i += step, here += on, there += far) one(here, there);
	}
}
DEVICE uint8_t *record_of(const vf_lab_args &lab, const vf_recursion &r, int line, int piece) {
	return (uint8_t *)lab.scratch + ((uint64_t)r.records[1] << 32 | r.records[0]) + (int64_t)RECORD * (line * r.pieces + piece);
}
DEVICE float2 read_complex(const uint8_t *at) {
	uint2 v = read_u64(at);
	return float2{bits_float(v.x), bits_float(v.y)};
}
DEVICE void store_complex(uint8_t *at, float2 c) { store_u64(at, uint2{float_bits(c.x), float_bits(c.y)}); }

// Loading. Beyond a line's end lies its last pixel, which changes nothing.

DEVICE void keep_four(pixel *to, uint4 w) {
	to[0] = pixel_of_word(w.x), to[LINES] = pixel_of_word(w.y), to[2 * LINES] = pixel_of_word(w.z), to[3 * LINES] = pixel_of_word(w.w);
}

// The left neighbour of a piece is loaded with the three before it.
DEVICE void load_planes(const vf_args &args, const vf_recursion &r, const scene &s) {
	int y = s.line, below = y + 1 < args.height ? y + 1 : y;
	NO_UNROLL
	for (int i = 4 * s.thread - (s.from > 0 && r.phase == VF_PIECES ? 4 : 0); i < r.runs * RUN; i += 4 * r.threads) {
		samples top = load_samples(args, s.from + i, y), bottom = load_samples(args, s.from + i, below);
		uint4 upper = words_of(args, top, s.from + i), lower = words_of(args, bottom, s.from + i);
		if (i < 0) {
			*left_of_line(s, 0) = pixel_of_word(upper.w), *left_of_line(s, 1) = pixel_of_word(lower.w);
			continue;
		}
		keep_four(pixel_of_line(s, 0, i), upper);
		keep_four(pixel_of_line(s, 1, i), lower);
	}
}

// The left neighbour of a piece's first pixel, which may have been written over when the whole is filtered, is kept with the piece's maps.
DEVICE uint8_t *left_of(const vf_lab_args &lab, const vf_recursion &r, const scene &s) {
	return record_of(lab, r, s.line + s.thread, block_y()) + 8 * (2 + MAPS);
}
DEVICE bool has_left(const scene &s) { return s.thread < LINES && s.from > 0; }

// copy_lines begins to copy the lines from the scratch memory.
DEVICE void copy_lines(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	track t = track_of(lab, args, r, s);
	share(r, s, t, [](pixel *here, const uint8_t *there) { copy_u64(here, there); }, [](pixel *here, const uint8_t *there) { copy_u128(here, there); });
	for (int i = count_of(r, s, t) * LINES + s.thread; i < r.runs * RUN * LINES; i += r.threads) // beyond the end
		copy_u64(pixel_of_line(s, i % LINES, i / LINES), pixel_at(t, i % LINES, t.last));
	if (has_left(s) && r.phase == VF_PIECES) *left_of_line(s, s.thread) = read_u64(pixel_at(t, s.thread, s.from - 1));
}

// Storing.

DEVICE void store_lines(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	track t = track_of(lab, args, r, s); // squares have room for a line too many
	share(r, s, t, [](const pixel *here, uint8_t *there) { store_u64(there, *here); },
	      [](const pixel *here, uint8_t *there) { store_u128(there, *(const uint4 *)here); });
}

// pack makes planes of the scratch memory, 4 x 4 pixels a thread. Of RGBA all are on their way before the first is looked at.
DEVICE uint4 packed(uint4 left, uint4 right) {
	return {word_of_pixel(left.xy), word_of_pixel(left.zw), word_of_pixel(right.xy), word_of_pixel(right.zw)};
}
DEVICE void pack(const vf_lab_args &lab, const vf_args &args) {
	enum { ROWS = 4 };
	int x = (block_x() * VF_THREADS + thread_x()) * 4, y0 = block_y() * ROWS, last = args.height - 1;
	if (x >= args.width) return;
	int next = x + 2 < args.width ? 32 : 0;
	if (args.layout == VF_RGBA && inside(args, x)) {
		uint4 left[ROWS], right[ROWS], alpha[ROWS];
		UNROLL
		for (int n = 0; n < ROWS; n++) {
			int y = y0 + n < last ? y0 + n : last;
			const uint8_t *square = squares_at(lab, args, x, y) + 16 * (y & 1);
			left[n] = read_u128(square), right[n] = read_u128(square + next), alpha[n] = load_u128(source(args, 0, y) + 4 * x);
		}
		UNROLL
		for (int n = 0; n < ROWS; n++)
			if (y0 + n <= last) store_u128(target(args, 0, y0 + n) + 4 * x, packed(left[n], right[n]) | (alpha[n] & 0xff000000));
		return;
	}
	NO_UNROLL
	for (int y = y0; y < y0 + ROWS; y += 1 + args.sub_y) { // rows beyond the picture are not stored
		const uint8_t *square = squares_at(lab, args, x, y < last ? y : last) + 16 * (y & 1);
		uint4 top = packed(read_u128(square), read_u128(square + next)), bottom = top;
		if (args.sub_y) bottom = packed(read_u128(square + 16), read_u128(square + next + 16));
		store_rows(args, x, y, top, bottom);
	}
}

// A thread's run.

struct run {
	float2 b[2][RUN]; // B of the poles that are kept in registers
	colour s[RUN];
};

DEVICE float2 power(vf_complex rate, float distance) {
	float size = exp2(rate.re * distance), angle = rate.im * distance;
	return float2{size * cosine(angle), size * sine(angle)};
}

// The states of one pole, or a map's X.
struct states {
	float2 r, g, b;
};

DEVICE float2 forwards(float2 b, float2 u, float s) {
	float x = u.x + s;
	return float2{fma(b.x, x, -fma(b.y, u.y, s)), fma(b.x, u.y, b.y * x)};
}
DEVICE float2 backwards(float2 b, float2 v, float s) { return forwards(b, v, -s); }
DEVICE void go_forwards(states &u, float2 b, const colour &s) { u.r = forwards(b, u.r, s.r), u.g = forwards(b, u.g, s.g), u.b = forwards(b, u.b, s.b); }
DEVICE void go_backwards(states &v, float2 b, const colour &s) { v.r = backwards(b, v.r, s.r), v.g = backwards(b, v.g, s.g), v.b = backwards(b, v.b, s.b); }

// The maps of a run. With w[k] = u[k] + s[k+1] and e[k] = s[k+1] - s[k] the one from the left is w[k] = B[k] w[k-1] + e[k], an operation less;
// the one from the right is s[0] and the sum of T[k] e[k], T[k] being the product of B up to k. Where there is no link k+1 it counts as 0.
struct folded {
	states u, v;
	float2 t;
};
DEVICE void begin_maps(folded &m, float2 b, const colour &s) {
	m.t = b;
	m.u = m.v = {float2{s.r, 0}, float2{s.g, 0}, float2{s.b, 0}};
}
DEVICE float2 times_plus(float2 b, float2 w, float e) { return float2{fma(b.x, w.x, fma(-b.y, w.y, e)), fma(b.x, w.y, b.y * w.x)}; }
DEVICE void add_step(folded &m, float2 b, const colour &e) {
	m.u.r = times_plus(b, m.u.r, e.r), m.u.g = times_plus(b, m.u.g, e.g), m.u.b = times_plus(b, m.u.b, e.b);
	m.v.r = scaled_add(m.t, e.r, m.v.r), m.v.g = scaled_add(m.t, e.g, m.v.g), m.v.b = scaled_add(m.t, e.b, m.v.b);
}

DEVICE void keep_map(float2 *maps, const states &x) { maps[0] = x.r, maps[1] = x.g, maps[2] = x.b; }
DEVICE states kept_map(const float2 *maps) { return {maps[0], maps[1], maps[2]}; }

DEVICE float2 *power_at(const scene &s, int pole, int k) { return s.powers + s.thread * POWERS + (pole - KEPT) * RUN + k; }

// whole has a pixel read in one go, though half of its second word is not looked at.
DEVICE pixel whole(pixel p) {
	uint32_t low = p.x, high = p.y;
	now(low), now(high);
	return pixel{low, high};
}

// measure makes the links of a run and its maps.
DEVICE void measure(const vf_recursion &r, const scene &s, run &own, int line, int number) {
	const pixel *pixels = pixel_of_line(s, line, number * RUN);
	colour left = colour_of(number ? pixels[-2 * LINES] : s.from ? *left_of_line(s, line) : pixels[0]); // the first pixel's is itself
	folded maps[2];
	float2 b[2];
	UNROLL
	for (int k = 0; k < RUN; k++) {
		colour f = colour_of(whole(pixels[LINES * k]));
		colour d = {f.r - left.r, f.g - left.g, f.b - left.b};
		left = f;
		float square = fma(r.slope, fma(d.r, d.r, fma(d.g, d.g, d.b * d.b)), 1.0f), inverse = reciprocal_root(square);
		float distance = square * inverse;
		distance = __builtin_fminf(distance, r.far);
		colour step = {d.r * inverse, d.g * inverse, d.b * inverse};
		own.s[k] = step;
		UNROLL
		for (int i = 0; i < 2; i++) {
			float2 link = power(r.rate[i], distance);
			if (i < KEPT)
				own.b[i][k] = link;
			else
				*power_at(s, i, k) = link;
			if (k == 0) {
				begin_maps(maps[i], link, step);
			} else {
				const colour &before = own.s[k - 1];
				add_step(maps[i], b[i], {step.r - before.r, step.g - before.g, step.b - before.b});
				maps[i].t = times(maps[i].t, link);
			}
			b[i] = link;
		}
	}
	float2 *to = maps_of(s, line, number);
	const colour &end = own.s[RUN - 1];
	UNROLL
	for (int i = 0; i < 2; i++) {
		add_step(maps[i], b[i], {-end.r, -end.g, -end.b});
		to[i] = maps[i].t, to[ZERO_PLACE] = {0, 0};
		keep_map(to + 2 + 3 * i, maps[i].u);
		keep_map(to + 8 + 3 * i, maps[i].v);
	}
}

DEVICE float2 link_of(const scene &s, const run &own, int pole, int k) {
	return pole < KEPT ? own.b[pole][k] : *power_at(s, pole, k);
}

// shaded adds Re p x of both poles to a channel.
DEVICE float shaded(float f, float2 p0, float2 p1, float2 x0, float2 x1) {
	return fma(p0.x, x0.x, fma(-p0.y, x0.y, fma(p1.x, x1.x, fma(-p1.y, x1.y, f))));
}
DEVICE void shade(pixel *at, float2 p0, float2 p1, const states *x) {
	colour f = colour_of(whole(*at));
	*at = pixel_of({shaded(f.r, p0, p1, x[0].r, x[1].r), shaded(f.g, p0, p1, x[0].g, x[1].g), shaded(f.b, p0, p1, x[0].b, x[1].b)});
}

// run_forwards and run_backwards begin with the states that the scan has left in the maps' places.
struct both {
	states pole[2];
};
DEVICE both states_of(const scene &s, int line, int number, int map) {
	const float2 *maps = maps_of(s, line, number) + map;
	return {kept_map(maps), kept_map(maps + 3)};
}
DEVICE void run_forwards(const vf_recursion &r, const scene &s, const run &own, int line, int number) {
	pixel *pixels = pixel_of_line(s, line, number * RUN);
	float2 p0 = complex_of(r.drive[0]), p1 = complex_of(r.drive[1]);
	both u = states_of(s, line, number, 2);
	UNROLL
	for (int k = 0; k < RUN; k++) {
		UNROLL
		for (int i = 0; i < 2; i++) go_forwards(u.pole[i], link_of(s, own, i, k), own.s[k]);
		shade(pixels + LINES * k, p0, p1, u.pole);
	}
}
DEVICE void run_backwards(const vf_recursion &r, const scene &s, const run &own, int line, int number, both v) {
	pixel *pixels = pixel_of_line(s, line, number * RUN);
	float2 p0 = complex_of(r.drive[0]), p1 = complex_of(r.drive[1]);
	UNROLL
	for (int k = RUN - 1; k >= 0; k--) {
		shade(pixels + LINES * k, p0, p1, v.pole);
		UNROLL
		for (int i = 0; i < 2; i++) go_backwards(v.pole[i], link_of(s, own, i, k), own.s[k]);
	}
}

// The scan. A task is a group of runs of one map of one line; maps from 8 on are from the right.

struct task {
	int line, map, pole, group, count;
	int first, step; // of the places of its runs' maps
	int own;         // from T's place to the map's
};
DEVICE int pole_of(int map) { return map < 2 ? map : (map - 2) / 3 & 1; }
template <int MOST> DEVICE task task_of(const vf_recursion &r, const scene &s, int number) {
	int groups = groups_of(r), rest = number / MOST;
	task t;
	t.map = number - rest * MOST + 2 + MAPS - MOST, t.pole = pole_of(t.map);
	t.line = rest >= groups, t.group = t.line ? rest - groups : rest;
	int begin = t.group * GROUP;
	t.count = r.runs - begin < GROUP ? r.runs - begin : GROUP;
	t.step = t.map < 8 ? PLACES : -PLACES;
	t.first = (int)(maps_of(s, t.line, t.map < 8 ? begin : begin + t.count - 1) - s.maps) + t.pole;
	t.own = (t.map < 2 ? ZERO_PLACE : t.map) - t.pole;
	return t;
}

// fold folds count maps into x: T at at, the map's X own places further, those of the next run step further.
DEVICE float2 fold(float2 x, const float2 *maps, int at, int own, int step, int count) {
	auto one = [&] {
		const float2 *t = maps + at;
		x = times_add(t[0], x, t[own]);
		at += step;
		now(at); // or the compiler keeps an address for each of the four
	};
	for (; count >= 4; count -= 4) one(), one(), one(), one();
	for (; count > 0; count--) one();
	return x;
}

// fold_groups folds the runs of each group.
DEVICE void fold_groups(const vf_recursion &r, const scene &s) {
	for (int n = s.thread; n < LINES * (2 + MAPS) * groups_of(r); n += r.threads) {
		task t = task_of<2 + MAPS>(r, s, n);
		float2 x = {t.map < 2 ? 1.0f : 0.0f, 0}, *group = group_of(s, r, t.line, t.group);
		group[t.map] = fold(x, s.maps, t.first, t.own, t.step, t.count);
		group[ZERO_PLACE] = {0, 0};
	}
}

// fold_line folds count groups of a task's map, from the line's end on.
DEVICE float2 fold_line(const vf_recursion &r, const scene &s, const task &t, float2 x, int count) {
	int first = (int)(group_of(s, r, t.line, t.step > 0 ? 0 : groups_of(r) - 1) - s.groups);
	return fold(x, s.groups, first + t.pole, t.own, t.step, count);
}

// spread_groups puts the state that comes to each run in the place of its map.
DEVICE void spread_groups(const vf_lab_args &lab, const vf_recursion &r, const scene &s) {
	int groups = groups_of(r), piece = block_y();
	for (int n = s.thread; n < LINES * MAPS * groups; n += r.threads) {
		task t = task_of<MAPS>(r, s, n);
		bool left = t.step > 0;
		float2 x = {0, 0};
		for (int i = left ? 0 : r.pieces - 1; i != piece; i += left ? 1 : -1) {
			const uint8_t *record = record_of(lab, r, s.line + t.line, i);
			x = times_add(read_complex(record + 8 * t.pole), x, read_complex(record + 8 * t.map));
		}
		x = fold_line(r, s, t, x, left ? t.group : groups - 1 - t.group);
		int at = t.first;
		for (int i = 0; i < t.count; i++, at += t.step) {
			now(at);
			float2 *place = s.maps + at, own = place[t.own];
			place[t.own] = x;
			x = times_add(place[0], x, own);
		}
	}
}

// record_piece leaves the maps of a whole piece for the launch that follows.
DEVICE void record_piece(const vf_lab_args &lab, const vf_recursion &r, const scene &s) {
	int groups = groups_of(r);
	if (has_left(s)) store_u64(left_of(lab, r, s), *left_of_line(s, s.thread));
	for (int n = s.thread; n < LINES * (2 + MAPS); n += r.threads) {
		int line = n / (2 + MAPS);
		task t = task_of<2 + MAPS>(r, s, n - line * (2 + MAPS) + line * (2 + MAPS) * groups);
		float2 x = {t.map < 2 ? 1.0f : 0.0f, 0};
		store_complex(record_of(lab, r, s.line + line, block_y()) + 8 * t.map, fold_line(r, s, t, x, groups));
	}
}

// begin has the block's lines on their way, where they lie in the scratch memory.
DEVICE void begin(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s, int lines) {
	if (s.line < lines && !r.first) copy_lines(lab, args, r, s);
}

// end waits for them, or loads them otherwise.
DEVICE void end(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	if (r.first) load_planes(args, r, s);
	if (has_left(s) && r.phase == VF_WHOLE) *left_of_line(s, s.thread) = read_u64(left_of(lab, r, s));
	await_copies();
	barrier();
}

LAB_KERNEL(VF_NAME, VF_THREADS, VF_BLOCKS) {
	const vf_recursion &r = lab.recursion;
	if (r.phase == VF_PACK) return pack(lab, args);
	scene s = scene_of(r);
	int lines = first_line(r, block_x() + 1);
	int line = s.thread % LINES, number = s.thread / LINES; // of both lines by turns, so that they meet no bank twice
	bool idle = number >= r.runs;
	for (begin(lab, args, r, s, lines); s.line < lines;) {
		end(lab, args, r, s);
		run own;
		if (!idle)
			measure(r, s, own, line, number);
		barrier();
		fold_groups(r, s);
		barrier();
		scene next = next_of(r, s);
		if (r.phase == VF_PIECES) {
			begin(lab, args, r, next, lines);
			record_piece(lab, r, s);
			s = next;
			continue;
		}
		spread_groups(lab, r, s);
		barrier();
		both v = {};
		if (!idle) {
			run_forwards(r, s, own, line, number);
			v = states_of(s, line, number, 8);
		}
		barrier(); // the maps have been read
		begin(lab, args, r, next, lines);
		if (!idle) run_backwards(r, s, own, line, number, v);
		barrier();
		store_lines(lab, args, r, s);
		s = next;
	}
}
