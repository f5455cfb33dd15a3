// The recursive edge-aware Gaussian as its authors run it: algorithms A, C and D of Ferreira et
// al. (002, sections IV.A, IV.B and V.C).
//
//   g+[k] = a f[k] + b^D g+[k-1] + Phi(f[k], f[k-1], D)
//   g-[k] = a b^D f[k+1] + b^D g-[k+1] + Phi(f[k], f[k+1], D)
//   Phi(x, y, D) = ((b^D - 1) / (r0 D) - r1 b) x - ((b^D - 1) / (r0 D) - r1 b^D) y
//   out = Re sum (g+ + g-), rows then columns, once an iteration
//
// (equation 4, with two poles and three channels), where D is the distance of the neighbours
// (equation 2).
//
// A (VF_ALGORITHM 0): a block takes a stripe of 128 rows and moves along it with a window of 24 x
// 128 pixels in shared memory, padded by 5; a thread filters a row of the window, in place, and
// the window is written out. One grid does both directions, side by side; a second launch adds
// them up. Columns are the same, with windows of 128 x 24 and no padding. C and D: a stripe in
// domains of one length, a block each. A thread finds the initial state of its row by algorithm B:
// back by a distance of kappa sigma_s, and forth again from a state at rest. D has domains of one
// window. Complex powers use the polar form, with the hardware's cosine, sine and powers (section
// IV.C); constants lie in constant memory.
//
// Changed: between launches the authors keep truncated bytes, separately for each direction, which
// costs up to two levels a pass; here it is 16 bits a channel. Their column passes halve sigma
// again, contrary to the text. Multiplies by 1/r0 instead of dividing by r0.
//
// A row or column pass reads 8 bytes a pixel twice and writes 8 twice, and the sum reads 16 and
// writes 8 (4 and 4 at the frame's ends). About 250 operations a pixel and direction.
#include "recursion.h"
#include "papers.h"

enum { LINES = 128, WINDOW = 24, PAD = 5 };

// A thread's line and the range to filter.
struct walk {
	int line, lines, length; // of the picture
	int from, to;            // the domain
	int step;                // 1 forwards, -1 backwards
};

struct state {
	float2 g[2][3];
	float last[3]; // the previous f
};

// The planes of the scratch memory: the input, and the sums of each direction.
DEVICE uint8_t *plane(const paper_args &args, int which, int x, int y) {
	return (uint8_t *)args.scratch + 8 * (((int64_t)which * args.height + y) * args.width + x);
}

DEVICE pixel pixel_in(const paper_args &args, int x, int y) {
	if (args.walk.first) return pixel_of_word(load_u32(source(args, y) + 4 * x));
	return load_u64(plane(args, 0, x, y));
}
DEVICE pixel pixel_along(const paper_args &args, int line, int k) {
	return args.walk.vertical ? pixel_in(args, line, k) : pixel_in(args, k, line);
}

DEVICE void channels_of(float *f, pixel p) {
	colour c = colour_of(p);
	f[0] = (c.r - (ROUND + ZERO)) * (1 / STEPS), f[1] = (c.g - (ROUND + ZERO)) * (1 / STEPS), f[2] = (c.b - (ROUND + ZERO)) * (1 / STEPS);
}
DEVICE float steps_of(float v) { return fma(v, STEPS, ROUND + ZERO); }

DEVICE float distance(const walk_args &r, const float *f, const float *last) {
	float sum = 0;
	UNROLL
	for (int c = 0; c < 3; c++) sum += (f[c] - last[c]) * (f[c] - last[c]);
	return square_root(sum * r.slope + 1.0f);
}

// rest sets the state of a line that was always f before.
DEVICE void rest(const walk_args &r, const walk &w, state &s, const float *f) {
	UNROLL
	for (int c = 0; c < 3; c++) {
		s.last[c] = f[c];
		UNROLL
		for (int i = 0; i < 2; i++) {
			float2 flat = complex_of(r.r1[i]) * -f[c]; // a / (1 - b)
			s.g[i][c] = w.step > 0 ? flat : times(flat, complex_of(r.b[i]));
		}
	}
}

DEVICE void advance(const walk_args &r, const walk &w, state &s, const float *f) {
	float delta = distance(r, f, s.last);
	UNROLL
	for (int i = 0; i < 2; i++) {
		float2 a = complex_of(r.a[i]), r1 = complex_of(r.r1[i]);
		float size = exp2(delta * log2(r.radius[i]));
		float2 power = {size * cosine(delta * r.angle[i]), size * sine(delta * r.angle[i])};
		float2 ramp = times((power - float2{1, 0}) / delta, complex_of(r.drive[i]));
		float2 now = ramp - times(r1, complex_of(r.b[i])), before = ramp - times(r1, power);
		float2 backwards = times(a, power);
		UNROLL
		for (int c = 0; c < 3; c++) {
			float2 in = w.step > 0 ? a * f[c] : backwards * s.last[c];
			s.g[i][c] = in + times(power, s.g[i][c]) + now * f[c] - before * s.last[c];
		}
	}
	UNROLL
	for (int c = 0; c < 3; c++) s.last[c] = f[c];
}

// begin sets the state before the domain's first pixel: at rest at the end of the line, else by
// algorithm B.
DEVICE void begin(const paper_args &args, const walk &w, state &s) {
	const walk_args &r = args.walk;
	int first = w.step > 0 ? w.from : w.to - 1, k = first;
	float f[3], next[3];
	channels_of(f, pixel_along(args, w.line, k));
	if (VF_ALGORITHM != 0) {
		for (float reach = 0; reach < r.reach && k - w.step >= 0 && k - w.step < w.length; k -= w.step) {
			channels_of(next, pixel_along(args, w.line, k - w.step));
			reach += distance(r, f, next);
			f[0] = next[0], f[1] = next[1], f[2] = next[2];
		}
	}
	rest(r, w, s, f);
	if (VF_ALGORITHM != 0) {
		for (; k != first; k += w.step) {
			channels_of(f, pixel_along(args, w.line, k));
			advance(r, w, s, f);
		}
	}
}

// The window in shared memory. Each thread filters one line of it.
DEVICE pixel *cell(const walk_args &r, int line, int k) {
	return (pixel *)shared_memory() + (r.vertical ? k * LINES + line : line * (WINDOW + PAD) + k);
}

// each_cell distributes the cells of a window so that neighbouring threads have neighbouring
// pixels; a warp takes a row.
template <class USE> DEVICE void each_cell(const walk_args &r, int count, int lines, USE use) {
	int thread = thread_x(), lane = thread % 32;
	if (r.vertical) {
		if (thread >= lines) return;
		for (int k = 0; k < count; k++) use(thread, k);
	} else if (lane < count) {
		for (int line = thread / 32; line < lines; line += LINES / 32) use(line, lane);
	}
}

// filter moves the window along the domain.
DEVICE void filter(const paper_args &args, const walk &w, int stripe) {
	const walk_args &r = args.walk;
	int lines = w.lines - stripe < LINES ? w.lines - stripe : LINES, own = w.line - stripe;
	state s;
	if (own < lines) begin(args, w, s);
	for (int done = 0; done < w.to - w.from; done += WINDOW) {
		int count = w.to - w.from - done < WINDOW ? w.to - w.from - done : WINDOW;
		int at = w.step > 0 ? w.from + done : w.to - done - count;
		each_cell(r, count, lines, [&](int line, int k) { *cell(r, line, k) = pixel_along(args, stripe + line, at + k); });
		barrier();
		if (own < lines) {
			for (int i = 0; i < count; i++) {
				pixel *p = cell(r, own, w.step > 0 ? i : count - 1 - i);
				float f[3];
				channels_of(f, *p);
				advance(r, w, s, f);
				*p = pixel_of({steps_of(s.g[0][0].x + s.g[1][0].x), steps_of(s.g[0][1].x + s.g[1][1].x), steps_of(s.g[0][2].x + s.g[1][2].x)});
			}
		}
		barrier();
		each_cell(r, count, lines, [&](int line, int k) {
			int x = r.vertical ? stripe + line : at + k, y = r.vertical ? at + k : stripe + line;
			store_u64(plane(args, w.step > 0 ? 1 : 2, x, y), *cell(r, line, k));
		});
		barrier();
	}
}

// sum adds both directions, one pixel a thread.
DEVICE void sum(const paper_args &args) {
	int x = block_x() * LINES + thread_x(), y = block_y();
	if (x >= args.width) return;
	colour a = colour_of(load_u64(plane(args, 1, x, y))), b = colour_of(load_u64(plane(args, 2, x, y)));
	const float both = ROUND + ZERO;
	pixel p = pixel_of({a.r + (b.r - both), a.g + (b.g - both), a.b + (b.b - both)});
	if (!args.walk.last) return store_u64(plane(args, 0, x, y), p);
	store_u32(target(args, y) + 4 * x, word_of_pixel(p) | (load_u32(source(args, y) + 4 * x) & 0xff000000));
}

KERNEL_OF(paper_args, VF_NAME, LINES, 1) {
	const walk_args &r = args.walk;
	if (r.sum) return sum(args);
	walk w;
	w.lines = r.vertical ? args.width : args.height, w.length = r.vertical ? args.height : args.width;
	int domain = block_y() / 2;
	w.step = block_y() % 2 ? -1 : 1;
	w.from = domain * r.domain, w.to = domain + 1 < r.domains ? w.from + r.domain : w.length;
	w.line = block_x() * LINES + thread_x();
	filter(args, w, block_x() * LINES);
}
