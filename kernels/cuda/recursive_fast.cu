// The recursive edge-aware Gaussian (002) as a scan: what --filter recursive runs. Planes in and out, exact: no boundary is guessed.
//
//   u[k] = B[k] (u[k-1] + s[k]) - s[k]      forwards, for each of two poles and three channels; B = b^D, s = (f[k] - f[k-1]) / D
//   v[k-1] = B[k] (v[k] - s[k]) + s[k]      backwards
//   out[k] = f[k] + Re sum p (u[k] + v[k])
//
// which is equation 4 in the form of kernels/recursive.go, with h+ = p u and h- = p v. Both ways a stretch of a line is a map x -> T x + X with
// the same T, the product of its B. So a block takes two whole lines (or pieces of them) into shared memory; a thread takes VF_RUN pixels:
//
//   1. it works out B and s of its pixels' links to the left, and its maps U and V from the left and from the right;
//   2. the block scans the maps of a line: 14 threads for each 16 runs, one for each pole, channel and direction, fold those that came before;
//   3. each thread runs forwards and backwards from the states that it was given, and adds to its pixels.
//
// The lines lie in the scratch memory between passes, as 2 x 2 pixels of 8 bytes, a sector, so that both rows and columns are read and
// written in whole sectors, in place. Lines that no block can hold are cut: a launch before makes the maps of the pieces alone
// (r.phase VF_PIECES), and each piece folds those of the others.
//
// A pixel and pass cost about 200 operations: 30 for D, B and s (7 of them of the special-function unit), 54 for the maps, 84 for the two runs,
// 11 for the scan. Four passes read and write 4 and 8, then 8 and 8 three times, then 8 and 4 bytes a pixel; most stays in the cache.
#include "recursion.h"

enum {
	RUN = VF_RUN,
	LINES = 2,
	GROUP = 16, // runs that one thread scans
	MAPS = 12,  // of a run: direction, pole, channel
	PLACES = 2 + MAPS + 1, // odd for the banks' sake, too
	POWERS = (2 - VF_KEPT) * RUN + 1, // of a thread in shared memory; odd for the banks' sake
	RECORD = 128, // bytes of a piece's maps in the scratch memory: T of each pole, the maps, the pixel to the left
};

// A block's place and its shared memory. A line has one pixel more, the left neighbour of the first; after each run of pixels a place is left
// free, so that threads that read the same pixel of their runs meet no bank twice.
struct scene {
	int thread, line, from; // the first line, and of it the first pixel
	int pitch, columns;     // of the pixels, and of the maps: places a line
	pixel *pixels;
	float2 *powers; // B of the poles that are not kept in registers, by thread, pole and pixel
	float2 *maps;   // by line, run, and T of both poles and the MAPS; after each group of runs a place is left free
	float2 *groups; // the same by group
};

DEVICE int place(int k) { return k + k / RUN; }
DEVICE int groups_of(const vf_recursion &r) { return (r.runs + GROUP - 1) / GROUP; }
DEVICE pixel *line_of(const scene &s, int line) { return s.pixels + line * s.pitch + 1; }
DEVICE float2 *maps_of(const scene &s, int line, int run) { return s.maps + (line * s.columns + run + run / GROUP) * PLACES; }
DEVICE float2 *group_of(const scene &s, const vf_recursion &r, int line, int group) {
	return s.groups + (line * groups_of(r) + group) * PLACES;
}

DEVICE scene scene_of(const vf_recursion &r) {
	scene s;
	s.thread = thread_x(), s.line = block_x() * LINES, s.from = block_y() * r.runs * RUN;
	s.pitch = 1 + place(r.runs * RUN), s.columns = r.runs + groups_of(r);
	s.pixels = (pixel *)shared_memory();
	s.powers = (float2 *)(s.pixels + LINES * s.pitch);
	s.maps = s.powers + POWERS * r.threads;
	s.groups = s.maps + LINES * PLACES * s.columns;
	return s;
}

// Where things lie in the scratch memory.
DEVICE uint8_t *pixel_at(const vf_lab_args &lab, const vf_args &args, int x, int y) {
	int64_t square = (int64_t)(y >> 1) * ((args.width + 1) >> 1) + (x >> 1);
	return (uint8_t *)lab.scratch + 32 * square + 16 * (y & 1) + 8 * (x & 1);
}
DEVICE uint8_t *record_of(const vf_lab_args &lab, const vf_recursion &r, int line, int piece) {
	return (uint8_t *)lab.scratch + ((uint64_t)r.records[1] << 32 | r.records[0]) + (int64_t)RECORD * (line * r.pieces + piece);
}
DEVICE pixel read_pixel(const uint8_t *at) { return read_u64(at); }
DEVICE float2 read_complex(const uint8_t *at) {
	uint2 v = read_u64(at);
	return float2{bits_float(v.x), bits_float(v.y)};
}
DEVICE void store_complex(uint8_t *at, float2 c) { store_u64(at, uint2{float_bits(c.x), float_bits(c.y)}); }

// Loading. Beyond a line's end lies its last pixel, which changes nothing.

DEVICE void load_planes(const vf_args &args, const vf_recursion &r, const scene &s) {
	for (int line = 0; line < LINES; line++) {
		int y = s.line + line < args.height ? s.line + line : args.height - 1;
		pixel *to = line_of(s, line);
		for (int i = 4 * s.thread; i < r.runs * RUN; i += 4 * r.threads) {
			uint4 w = words_of(args, load_samples(args, s.from + i, y), s.from + i);
			pixel *four = to + place(i);
			four[0] = pixel_of_word(w.x), four[1] = pixel_of_word(w.y), four[2] = pixel_of_word(w.z), four[3] = pixel_of_word(w.w);
		}
		if (s.thread == 0 && s.from > 0 && r.phase == VF_PIECES)
			to[-1] = pixel_of_word(words_of(args, load_samples(args, s.from - 4, y), s.from - 4).w);
	}
}

DEVICE void load_rows(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	for (int line = 0; line < LINES; line++) {
		int y = s.line + line < args.height ? s.line + line : args.height - 1, last = args.width - 1;
		pixel *to = line_of(s, line);
		for (int i = 2 * s.thread; i < r.runs * RUN; i += 2 * r.threads) {
			int x = s.from + i;
			if (x < last) {
				uint4 two = read_u128(pixel_at(lab, args, x, y));
				to[place(i)] = two.xy, to[place(i) + 1] = two.zw;
			} else {
				to[place(i)] = to[place(i) + 1] = read_pixel(pixel_at(lab, args, last, y));
			}
		}
		if (s.thread == 0 && s.from > 0 && r.phase == VF_PIECES) to[-1] = read_pixel(pixel_at(lab, args, s.from - 1, y));
	}
}

DEVICE void load_columns(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	bool both = s.line + 1 < args.width;
	pixel *first = line_of(s, 0), *second = line_of(s, 1);
	for (int i = s.thread; i < r.runs * RUN; i += r.threads) {
		int y = s.from + i < args.height ? s.from + i : args.height - 1;
		uint4 two = read_u128(pixel_at(lab, args, s.line, y));
		first[place(i)] = two.xy, second[place(i)] = both ? two.zw : two.xy;
	}
	if (s.thread < LINES && s.from > 0 && r.phase == VF_PIECES)
		line_of(s, s.thread)[-1] = read_pixel(pixel_at(lab, args, s.thread && both ? s.line + 1 : s.line, s.from - 1));
}

// The left neighbour of a line's first pixel is the pixel itself; that of a piece's may have been written over when the whole is filtered.
DEVICE void load_left(const vf_lab_args &lab, const vf_recursion &r, const scene &s) {
	if (s.thread >= LINES) return;
	pixel *line = line_of(s, s.thread);
	uint8_t *record = record_of(lab, r, s.line + s.thread, block_y());
	if (s.from == 0)
		line[-1] = line[0];
	else if (r.phase == VF_PIECES)
		store_u64(record + 8 * (2 + MAPS), line[-1]);
	else
		line[-1] = read_pixel(record + 8 * (2 + MAPS));
}

DEVICE void load(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	if (r.first)
		load_planes(args, r, s);
	else if (r.vertical)
		load_columns(lab, args, r, s);
	else
		load_rows(lab, args, r, s);
}

// Storing.

DEVICE void store_buffer(const vf_lab_args &lab, const vf_args &args, const vf_recursion &r, const scene &s) {
	if (r.vertical) {
		const pixel *first = line_of(s, 0), *second = line_of(s, 1);
		for (int i = s.thread; i < r.runs * RUN && s.from + i < args.height; i += r.threads) {
			pixel a = first[place(i)], b = second[place(i)];
			store_u128(pixel_at(lab, args, s.line, s.from + i), uint4{a.x, a.y, b.x, b.y});
		}
		return;
	}
	for (int line = 0; line < LINES && s.line + line < args.height; line++) {
		const pixel *from = line_of(s, line);
		for (int i = 2 * s.thread; i < r.runs * RUN && s.from + i < args.width; i += 2 * r.threads) {
			pixel a = from[place(i)], b = from[place(i) + 1];
			store_u128(pixel_at(lab, args, s.from + i, s.line + line), uint4{a.x, a.y, b.x, b.y});
		}
	}
}

// The words of two pixels in a row, x even; where there is no second one it is the first again.
DEVICE void store_two(const vf_args &args, int x, int y, uint2 w) {
	bool both = x + 1 < args.width;
	if (!both || !args.aligned) {
		store_pixel(args, x, y, w.x);
		if (both) store_pixel(args, x + 1, y, w.y);
	} else if (args.layout == VF_RGBA) {
		uint2 alpha = load_u64(source(args, 0, y) + 4 * x) & 0xff000000;
		store_u64(target(args, 0, y) + 4 * x, w | alpha);
	} else {
		store_u16(target(args, 0, y) + x, luma_of(args, w.x) | luma_of(args, w.y) << 8);
	}
}
DEVICE void store_chroma_of(const vf_args &args, int x, int cy, uint2 top, uint2 bottom) {
	if (args.layout == VF_RGBA || cy >= args.chroma_write) return;
	if (!args.sub_x) {
		store_chroma(args, x, cy, chroma_samples(args, mean_of(top.x, top.x, top.x, top.x)));
		if (x + 1 < args.width) store_chroma(args, x + 1, cy, chroma_samples(args, mean_of(top.y, top.y, top.y, top.y)));
		return;
	}
	uint32_t uv = chroma_samples(args, mean_of(top.x, top.y, bottom.x, bottom.y));
	if (args.layout == VF_NV12 && args.aligned)
		store_u16(target(args, 1, cy) + x, byte_perm(uv, 0, 0x4420));
	else
		store_chroma(args, x / 2, cy, uv);
}

// store_planes stores two columns, two rows at a time.
DEVICE void store_planes(const vf_args &args, const vf_recursion &r, const scene &s) {
	const pixel *first = line_of(s, 0), *second = line_of(s, 1);
	for (int i = 2 * s.thread; i < r.runs * RUN && s.from + i < args.height; i += 2 * r.threads) {
		int x = s.line, y = s.from + i;
		bool both = x + 1 < args.width, two = y + 1 < args.height;
		uint2 top, bottom;
		top.x = word_of_pixel(first[place(i)]), top.y = both ? word_of_pixel(second[place(i)]) : top.x;
		store_two(args, x, y, top);
		bottom = top;
		if (two) {
			bottom.x = word_of_pixel(first[place(i) + 1]), bottom.y = both ? word_of_pixel(second[place(i) + 1]) : bottom.x;
			store_two(args, x, y + 1, bottom);
		}
		store_chroma_of(args, x, y >> args.sub_y, top, args.sub_y ? bottom : top);
		if (!args.sub_y && two) store_chroma_of(args, x, y + 1, bottom, bottom);
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

// collect adds a link to the map from the right of the links before it, whose T is t: (t - t B) s; and makes t theirs.
DEVICE void collect(states &v, float2 &t, float2 b, const colour &s) {
	float2 next = times(t, b), d = t - next;
	v.r = scaled_add(d, s.r, v.r), v.g = scaled_add(d, s.g, v.g), v.b = scaled_add(d, s.b, v.b);
	t = next;
}

DEVICE void keep_map(float2 *maps, const states &x) { maps[0] = x.r, maps[1] = x.g, maps[2] = x.b; }
DEVICE states kept_map(const float2 *maps) { return {maps[0], maps[1], maps[2]}; }

DEVICE float2 *power_at(const scene &s, int pole, int k) { return s.powers + s.thread * POWERS + (pole - VF_KEPT) * RUN + k; }

// whole has a pixel read in one go, though half of its second word is not looked at.
DEVICE pixel whole(pixel p) {
	uint32_t low = p.x, high = p.y;
	now(low), now(high);
	return pixel{low, high};
}

// measure makes the links of a run and its maps.
DEVICE void measure(const vf_recursion &r, const scene &s, run &own, int line, int number) {
	const pixel *pixels = line_of(s, line) + number * (RUN + 1);
	colour left = colour_of(number ? pixels[-2] : pixels[-1]);
	states u[2] = {}, v[2] = {};
	float2 t[2] = {{1, 0}, {1, 0}};
	UNROLL
	for (int k = 0; k < RUN; k++) {
		colour f = colour_of(whole(pixels[k]));
		colour d = {f.r - left.r, f.g - left.g, f.b - left.b};
		left = f;
		float square = fma(r.slope, fma(d.r, d.r, fma(d.g, d.g, d.b * d.b)), 1.0f), inverse = reciprocal_root(square);
		float distance = square * inverse;
		distance = distance < r.far ? distance : r.far;
		colour step = {d.r * inverse, d.g * inverse, d.b * inverse};
		own.s[k] = step;
		UNROLL
		for (int i = 0; i < 2; i++) {
			float2 b = power(r.rate[i], distance);
			if (i < VF_KEPT)
				own.b[i][k] = b;
			else
				*power_at(s, i, k) = b;
			go_forwards(u[i], b, step);
			collect(v[i], t[i], b, step);
		}
	}
	float2 *maps = maps_of(s, line, number);
	UNROLL
	for (int i = 0; i < 2; i++) {
		maps[i] = t[i];
		keep_map(maps + 2 + 3 * i, u[i]);
		keep_map(maps + 8 + 3 * i, v[i]);
	}
}

DEVICE float2 link_of(const scene &s, const run &own, int pole, int k) {
	return pole < VF_KEPT ? own.b[pole][k] : *power_at(s, pole, k);
}

// shaded adds Re p x of both poles to a channel.
DEVICE float shaded(float f, float2 p0, float2 p1, float2 x0, float2 x1) {
	return fma(p0.x, x0.x, fma(-p0.y, x0.y, fma(p1.x, x1.x, fma(-p1.y, x1.y, f))));
}
DEVICE void shade(pixel *at, float2 p0, float2 p1, const states *x) {
	colour f = colour_of(whole(*at));
	*at = pixel_of({shaded(f.r, p0, p1, x[0].r, x[1].r), shaded(f.g, p0, p1, x[0].g, x[1].g), shaded(f.b, p0, p1, x[0].b, x[1].b)});
}

// finish runs both ways from the states that the scan has left in the maps' places.
DEVICE void finish(const vf_recursion &r, const scene &s, const run &own, int line, int number) {
	pixel *pixels = line_of(s, line) + number * (RUN + 1);
	float2 p0 = complex_of(r.drive[0]), p1 = complex_of(r.drive[1]);
	const float2 *maps = maps_of(s, line, number);
	states u[2] = {kept_map(maps + 2), kept_map(maps + 5)};
	UNROLL
	for (int k = 0; k < RUN; k++) {
		UNROLL
		for (int i = 0; i < 2; i++) go_forwards(u[i], link_of(s, own, i, k), own.s[k]);
		shade(pixels + k, p0, p1, u);
	}
	states v[2] = {kept_map(maps + 8), kept_map(maps + 11)};
	UNROLL
	for (int k = RUN - 1; k >= 0; k--) {
		shade(pixels + k, p0, p1, v);
		UNROLL
		for (int i = 0; i < 2; i++) go_backwards(v[i], link_of(s, own, i, k), own.s[k]);
	}
}

// The scan. A task is a group of runs of one map of one line; maps from 8 on are from the right.

struct task {
	int line, map, pole, group, count;
	int first, step; // of the places of its runs' maps
};
DEVICE int pole_of(int map) { return map < 2 ? map : (map - 2) / 3 & 1; }
template <int MOST> DEVICE task task_of(const vf_recursion &r, const scene &s, int number) {
	int groups = groups_of(r), rest = number / MOST;
	task t;
	t.map = number - rest * MOST + 2 + MAPS - MOST, t.pole = pole_of(t.map);
	t.line = rest / groups, t.group = rest - t.line * groups;
	int begin = t.group * GROUP;
	t.count = r.runs - begin < GROUP ? r.runs - begin : GROUP;
	t.step = t.map < 8 ? PLACES : -PLACES;
	t.first = (int)(maps_of(s, t.line, t.map < 8 ? begin : begin + t.count - 1) - s.maps);
	return t;
}

// fold folds count maps, step apart, into x: T of a pole, and a map's X; of T itself there is no X.
DEVICE float2 fold(float2 x, const float2 *maps, int pole, int map, int step, int count) {
	UNROLL_BY(4)
	for (int i = 0; i < count; i++, maps += step) x = times_add(maps[pole], x, map < 2 ? float2{0, 0} : maps[map]);
	return x;
}

// fold_groups folds the runs of each group.
DEVICE void fold_groups(const vf_recursion &r, const scene &s) {
	for (int n = s.thread; n < LINES * (2 + MAPS) * groups_of(r); n += r.threads) {
		task t = task_of<2 + MAPS>(r, s, n);
		float2 x = {t.map < 2 ? 1.0f : 0.0f, 0};
		group_of(s, r, t.line, t.group)[t.map] = fold(x, s.maps + t.first, t.pole, t.map, t.step, t.count);
	}
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
		x = fold(x, group_of(s, r, t.line, left ? 0 : groups - 1), t.pole, t.map, t.step, left ? t.group : groups - 1 - t.group);
		float2 *maps = s.maps + t.first;
		UNROLL_BY(4)
		for (int i = 0; i < t.count; i++, maps += t.step) {
			float2 own = maps[t.map];
			maps[t.map] = x;
			x = times_add(maps[t.pole], x, own);
		}
	}
}

// record_piece leaves the maps of a whole piece for the launch that follows.
DEVICE void record_piece(const vf_lab_args &lab, const vf_recursion &r, const scene &s) {
	int groups = groups_of(r);
	for (int n = s.thread; n < LINES * (2 + MAPS); n += r.threads) {
		int line = n / (2 + MAPS), map = n - line * (2 + MAPS), pole = pole_of(map);
		bool left = map < 8;
		float2 x = {map < 2 ? 1.0f : 0.0f, 0};
		x = fold(x, group_of(s, r, line, left ? 0 : groups - 1), pole, map, left ? PLACES : -PLACES, groups);
		store_complex(record_of(lab, r, s.line + line, block_y()) + 8 * map, x);
	}
}

LAB_KERNEL(VF_NAME, VF_THREADS, VF_BLOCKS) {
	const vf_recursion &r = lab.recursion;
	scene s = scene_of(r);
	load(lab, args, r, s);
	barrier();
	load_left(lab, r, s);
	barrier();
	int line = s.thread / r.runs, number = s.thread - line * r.runs;
	run own;
	if (line < LINES)
		measure(r, s, own, line, number);
	else
		own = {}; // so that its registers are free until here
	barrier();
	fold_groups(r, s);
	barrier();
	if (r.phase == VF_PIECES) return record_piece(lab, r, s);
	spread_groups(lab, r, s);
	barrier();
	if (line < LINES) finish(r, s, own, line, number);
	barrier();
	if (r.last)
		store_planes(args, r, s);
	else
		store_buffer(lab, args, r, s);
}
