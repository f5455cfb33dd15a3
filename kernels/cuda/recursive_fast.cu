// The recursive edge-aware Gaussian (002) as a scan, used by --filter recursive. Planes in and
// out; exact: no boundary is guessed.
//
//   u[k] = B[k] (u[k-1] + s[k]) - s[k]      forwards
//   v[k-1] = B[k] (v[k] - s[k]) + s[k]      backwards
//   out[k] = f[k] + Re sum p (u[k] + v[k])
//
// for each of two poles and three channels, with B = b^D and s = (f[k] - f[k-1]) / D. This is
// equation 4 in the form of kernels/recursive.go, with h+ = p u and h- = p v. In either direction
// a stretch of a line is a map x -> T x + X with the same T, the product of its B. So a block
// loads two whole lines (or pieces of them) into shared memory, and a thread takes RUN pixels:
//
//   1. It computes B and s of its pixels' links to the left, and its maps U and V from the left
//      and from the right.
//   2. The block scans the maps of a line: for each 16 runs, 14 threads fold the preceding maps,
//      12 for pole, channel and direction, and one for T of each pole.
//   3. Each thread runs forwards and backwards from the states that the scan left, and adds to its
//      pixels.
//
// Then the block moves on to two other lines. Their loads go to the place of the maps and begin as
// soon as these have been read: if all blocks loaded at the same time and then computed at the
// same time, half of the device would idle.
//
// Between passes the lines lie in the scratch memory as squares of 2 x 2 pixels of 8 bytes, a
// sector each, so both rows and columns are read and written in whole sectors, in place. Lines too
// long for a block are cut: a launch before computes only the maps of the pieces (r.phase
// VF_PIECES), and each piece folds the other pieces' maps. A last launch (VF_PACK) makes planes,
// since writing two columns of them at a time would write parts of sectors.
//
// A pixel and pass cost about 200 operations (246 instructions): 30 for D, B and s (7 of them on
// the special-function unit), 47 for the maps, 84 for the two runs, 11 for the scan. Four passes
// read and write 4 and 8 bytes a pixel, then 8 and 8 three times, the last launch 8 and 4; most of
// it stays in the cache.
#include "recursion.h"

enum {
	RUN = 16,  // pixels of a line per thread
	KEPT = 1,  // poles whose B a thread keeps in registers; both do not fit
	LINES = 2,
	GROUP = 16, // runs scanned by one thread
	MAPS = 12,  // of a run: direction, pole, channel
	ZERO_PLACE = 2 + MAPS, // index of a 0 among a run's maps, the addend for T itself
	PLACES = 2 + MAPS + 1, // odd, also to avoid bank conflicts
	POWERS = (2 - KEPT) * RUN + 1, // of a thread in shared memory; odd to avoid bank conflicts
	// bytes of a piece's maps in the scratch memory: T of each pole, the maps, the left pixel
	RECORD = 128,
};

// A block's position and its shared memory. A line has one extra pixel, the left neighbour of the
// first. After each run of pixels a place is left free, so that threads reading the same pixel of
// their runs have no bank conflicts.
struct scene {
	int thread, line, from; // the first line, and its first pixel
	int columns;            // of the maps: places in a line
	pixel *pixels;          // both lines interleaved
	// by line and run: T of both poles, the MAPS, and 0; a free place after each group of runs
	float2 *maps;
	float2 *powers; // B of the poles outside registers, by thread, pole and pixel
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

// Each block takes consecutive pairs of lines, split as evenly as possible.
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

// next_of is the scene of the block's next lines, whose pixels replace the current maps.
DEVICE scene next_of(const vf_recursion &r, const scene &s) {
	scene next = s;
	next.line += LINES, next.pixels = (pixel *)s.maps, next.maps = (float2 *)s.pixels;
	return next;
}

// Layout of the scratch memory: squares in row order, each with its upper left, upper right, lower
// left and lower right pixel.
DEVICE uint8_t *squares_at(const vf_recursive_args &args, int x, int y) {
	return (uint8_t *)args.scratch + 32 * ((int64_t)(y >> 1) * ((args.frame.width + 1) >> 1) + (x >> 1));
}
struct track {
	uint8_t *squares; // the first square of the two lines
	int64_t stride;   // from one square to the next
	int line, along;  // bytes from one pixel to the next, across and along
	int last;         // last pixel of the lines
};
DEVICE track track_of(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	if (r.vertical) return {squares_at(args, s.line, 0), 32 * (int64_t)((args.frame.width + 1) >> 1), 8, 16, args.frame.height - 1};
	return {squares_at(args, 0, s.line), 32, 16, 8, args.frame.width - 1};
}
DEVICE uint8_t *pixel_at(const track &t, int line, int i) { return t.squares + (i >> 1) * t.stride + (i & 1) * t.along + line * t.line; }

// count_of is the number of existing pixels of the block's lines.
DEVICE int count_of(const vf_recursion &r, const scene &s, const track &t) {
	int rest = t.last + 1 - s.from;
	return rest < r.runs * RUN ? rest : r.runs * RUN;
}

// share walks the threads through the lines in memory order and passes the addresses here and
// there: of columns for two pixels at a time, which are adjacent in both, of rows for one.
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
DEVICE uint8_t *record_of(const vf_recursive_args &args, const vf_recursion &r, int line, int piece) {
	return (uint8_t *)args.scratch + (r.records) + (int64_t)RECORD * (line * r.pieces + piece);
}
DEVICE float2 read_complex(const uint8_t *at) {
	uint2 v = read_u64(at);
	return float2{bits_float(v.x), bits_float(v.y)};
}
DEVICE void store_complex(uint8_t *at, float2 c) { store_u64(at, uint2{float_bits(c.x), float_bits(c.y)}); }

// Loading. Beyond its end a line repeats its last pixel, which leaves the result unchanged.

DEVICE void keep_four(pixel *to, const word4 &w, float most) {
	to[0] = pixel_of_word(w.x, most), to[LINES] = pixel_of_word(w.y, most), to[2 * LINES] = pixel_of_word(w.z, most), to[3 * LINES] = pixel_of_word(w.w, most);
}

// The left neighbour of a piece is loaded together with the three pixels before it.
DEVICE void load_planes(const vf_args &args, const vf_recursion &r, const scene &s) {
	int y = s.line, below = y + 1 < args.height ? y + 1 : y;
	NO_UNROLL
	for (int i = 4 * s.thread - (s.from > 0 && r.phase == VF_PIECES ? 4 : 0); i < r.runs * RUN; i += 4 * r.threads) {
		samples top = load_samples(args, s.from + i, y), bottom = load_samples(args, s.from + i, below);
		bool whole = inside(args, s.from + i);
		word4 upper = words_of(args, top, whole), lower = words_of(args, bottom, whole);
		float most = most_of(args);
		if (i < 0) {
			*left_of_line(s, 0) = pixel_of_word(upper.w, most), *left_of_line(s, 1) = pixel_of_word(lower.w, most);
			continue;
		}
		keep_four(pixel_of_line(s, 0, i), upper, most);
		keep_four(pixel_of_line(s, 1, i), lower, most);
	}
}

// The left neighbour of a piece's first pixel is kept with the piece's maps: it may have been
// overwritten by the time that the line is filtered.
DEVICE uint8_t *left_of(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	return record_of(args, r, s.line + s.thread, block_y()) + 8 * (2 + MAPS);
}
DEVICE bool has_left(const scene &s) { return s.thread < LINES && s.from > 0; }

// copy_lines starts copying the lines from the scratch memory.
DEVICE void copy_lines(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	track t = track_of(args, r, s);
	share(r, s, t, [](pixel *here, const uint8_t *there) { copy_u64(here, there); }, [](pixel *here, const uint8_t *there) { copy_u128(here, there); });
	// beyond the end
	for (int i = count_of(r, s, t) * LINES + s.thread; i < r.runs * RUN * LINES; i += r.threads)
		copy_u64(pixel_of_line(s, i % LINES, i / LINES), pixel_at(t, i % LINES, t.last));
	if (has_left(s) && r.phase == VF_PIECES) *left_of_line(s, s.thread) = read_u64(pixel_at(t, s.thread, s.from - 1));
}

// Storing.

DEVICE void store_lines(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	track t = track_of(args, r, s); // squares have room for one line too many
	share(r, s, t, [](const pixel *here, uint8_t *there) { store_u64(there, *here); },
	      [](const pixel *here, uint8_t *there) { store_u128(there, *(const uint4 *)here); });
}

// pack makes planes of the scratch memory, 4 x 4 pixels a thread. For RGBA all loads are issued
// before the first is used.
DEVICE word4 packed(uint4 left, uint4 right, float most) {
	return {word_of_pixel(left.xy, most), word_of_pixel(left.zw, most), word_of_pixel(right.xy, most), word_of_pixel(right.zw, most)};
}
#if VF_BYTES == 2
// settled replaces words that the filter left alone by the old ones, read as s: 16 bits between
// passes do not hold each level of 16 bits.
DEVICE lanes settled(lanes is, lanes was, float most) {
	lanes alone = word_of_pixel(pixel_of_word(was, most), most);
	return alone.x == is.x && alone.y == is.y ? was : is;
}
DEVICE word4 settled(const vf_args &args, const word4 &is, const samples &s, int x) {
	word4 was = words_of(args, s, inside(args, x));
	float most = most_of(args);
	return {settled(is.x, was.x, most), settled(is.y, was.y, most), settled(is.z, was.z, most), settled(is.w, was.w, most)};
}
#endif
DEVICE void pack(const vf_recursive_args &all) {
	const vf_args &args = all.frame;
	enum { ROWS = 4 };
	int x = (block_x() * VF_THREADS + thread_x()) * 4, y0 = block_y() * ROWS, last = args.height - 1;
	if (x >= args.width) return;
	int next = x + 2 < args.width ? 32 : 0;
	float most = most_of(args);
#if VF_BYTES == 1
	if (args.layout == VF_RGBA && inside(args, x)) {
		uint4 left[ROWS], right[ROWS], alpha[ROWS];
		UNROLL
		for (int n = 0; n < ROWS; n++) {
			int y = y0 + n < last ? y0 + n : last;
			const uint8_t *square = squares_at(all, x, y) + 16 * (y & 1);
			left[n] = read_u128(square), right[n] = read_u128(square + next), alpha[n] = load_u128(source(args, 0, y) + 4 * x);
		}
		UNROLL
		for (int n = 0; n < ROWS; n++)
			if (y0 + n <= last) store_u128(target(args, 0, y0 + n) + 4 * x, packed(left[n], right[n], most) | (alpha[n] & 0xff000000));
		return;
	}
#endif
	NO_UNROLL
	// store_rows skips rows beyond the picture.
	for (int y = y0; y < y0 + ROWS; y += 1 + args.sub_y) {
		rows was = load_rows(args, x, y); // overlaps the loads below
		const uint8_t *square = squares_at(all, x, y < last ? y : last) + 16 * (y & 1);
		word4 top = packed(read_u128(square), read_u128(square + next), most), bottom = top;
		if (args.sub_y) bottom = packed(read_u128(square + 16), read_u128(square + next + 16), most);
#if VF_BYTES == 2
		if (most == 65535) {
			samples s = inside(args, x) ? spread(args, was.top) : was.top;
			top = settled(args, top, s, x), bottom = settled(args, bottom, samples{was.below, s.y, s.z, 0}, x);
		}
#endif
		store_rows(args, x, y, top, bottom, was);
	}
}

// A thread's run.

struct run {
	float2 b[2][RUN]; // B of the poles kept in registers
	colour s[RUN];
};

DEVICE float2 power(vf_complex rate, float distance) {
	float size = exp2(rate.re * distance), angle = rate.im * distance;
	return float2{size * cosine(angle), size * sine(angle)};
}

// The states of one pole, or X of a map.
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

// The maps of a run. With w[k] = u[k] + s[k+1] and e[k] = s[k+1] - s[k], the map from the left is
// w[k] = B[k] w[k-1] + e[k], which saves an operation. The map from the right is s[0] plus the sum
// of T[k] e[k], where T[k] is the product of B up to k. A missing link k+1 counts as 0.
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

// whole forces a pixel to be read as one word of 64 bits, although half of its second word is
// unused.
DEVICE pixel whole(pixel p) {
	uint32_t low = p.x, high = p.y;
	now(low), now(high);
	return pixel{low, high};
}

// measure computes the links of a run and its maps.
DEVICE void measure(const vf_recursion &r, const scene &s, run &own, int line, int number) {
	const pixel *pixels = pixel_of_line(s, line, number * RUN);
	// The first pixel of a line is its own left neighbour.
	colour left = colour_of(number ? pixels[-2 * LINES] : s.from ? *left_of_line(s, line) : pixels[0]);
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

// run_forwards and run_backwards start from the states that the scan has left in place of the
// maps.
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

// The scan. A task is one map of one line over a group of runs; maps from 8 on are from the right.

struct task {
	int line, map, pole, group, count;
	int first, step; // index of the first run's maps, and from one run to the next
	int own;         // from the index of T to the map's index
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

// fold folds count maps into x: the first has T at index at and X at at + own; the next run's are
// step further.
DEVICE float2 fold(float2 x, const float2 *maps, int at, int own, int step, int count) {
	auto one = [&] {
		const float2 *t = maps + at;
		x = times_add(t[0], x, t[own]);
		at += step;
		now(at); // keeps the compiler from holding four addresses
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

// fold_line folds count groups of a task's map, starting at the line's end.
DEVICE float2 fold_line(const vf_recursion &r, const scene &s, const task &t, float2 x, int count) {
	int first = (int)(group_of(s, r, t.line, t.step > 0 ? 0 : groups_of(r) - 1) - s.groups);
	return fold(x, s.groups, first + t.pole, t.own, t.step, count);
}

// spread_groups replaces each run's map by the state that arrives at the run.
DEVICE void spread_groups(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	int groups = groups_of(r), piece = block_y();
	for (int n = s.thread; n < LINES * MAPS * groups; n += r.threads) {
		task t = task_of<MAPS>(r, s, n);
		bool left = t.step > 0;
		float2 x = {0, 0};
		for (int i = left ? 0 : r.pieces - 1; i != piece; i += left ? 1 : -1) {
			const uint8_t *record = record_of(args, r, s.line + t.line, i);
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

// record_piece stores the maps of a whole piece for the next launch.
DEVICE void record_piece(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	int groups = groups_of(r);
	if (has_left(s)) store_u64(left_of(args, r, s), *left_of_line(s, s.thread));
	for (int n = s.thread; n < LINES * (2 + MAPS); n += r.threads) {
		int line = n / (2 + MAPS);
		task t = task_of<2 + MAPS>(r, s, n - line * (2 + MAPS) + line * (2 + MAPS) * groups);
		float2 x = {t.map < 2 ? 1.0f : 0.0f, 0};
		store_complex(record_of(args, r, s.line + line, block_y()) + 8 * t.map, fold_line(r, s, t, x, groups));
	}
}

// begin starts loading the block's lines if they are in the scratch memory.
DEVICE void begin(const vf_recursive_args &args, const vf_recursion &r, const scene &s, int lines) {
	if (s.line < lines && !r.first) copy_lines(args, r, s);
}

// end waits for the loads, or loads the lines from planes.
DEVICE void end(const vf_recursive_args &args, const vf_recursion &r, const scene &s) {
	if (r.first) load_planes(args.frame, r, s);
	if (has_left(s) && r.phase == VF_WHOLE) *left_of_line(s, s.thread) = read_u64(left_of(args, r, s));
	await_copies();
	barrier();
}

KERNEL_OF(vf_recursive_args, VF_NAME, VF_THREADS, VF_BLOCKS) {
	const vf_recursion &r = args.recursion;
	if (r.phase == VF_PACK) return pack(args);
	scene s = scene_of(r);
	int lines = first_line(r, block_x() + 1);
	// Alternating lines avoid bank conflicts.
	int line = s.thread % LINES, number = s.thread / LINES;
	bool idle = number >= r.runs;
	for (begin(args, r, s, lines); s.line < lines;) {
		end(args, r, s);
		run own;
		if (!idle)
			measure(r, s, own, line, number);
		barrier();
		fold_groups(r, s);
		barrier();
		scene next = next_of(r, s);
		if (r.phase == VF_PIECES) {
			begin(args, r, next, lines);
			record_piece(args, r, s);
			s = next;
			continue;
		}
		spread_groups(args, r, s);
		barrier();
		both v = {};
		if (!idle) {
			run_forwards(r, s, own, line, number);
			v = states_of(s, line, number, 8);
		}
		barrier(); // the maps have been read
		begin(args, r, next, lines);
		if (!idle) run_backwards(r, s, own, line, number, v);
		barrier();
		store_lines(args, r, s);
		s = next;
	}
}
