// The general form of the bilateral filter, for samples of two bytes and for planes of R, G and B:
// any radius up to 15.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q))
//
// A block loads its 32 x 16 pixels as words with a halo of the radius into shared memory. Each
// thread filters two pixels. Borders by args.border; rounded to nearest; not in place. Reads and
// writes every sample once; about 17 operations a tap.
#include "planes.h"

enum {
	WIDTH = 32,
	LINES = 8, // of threads
	HEIGHT = 16,
	THREADS = 32 * LINES,
};

// The tile: rows of pitch words.
struct tile {
	lanes *words;
	int pitch, size, halo;
};

DEVICE tile tile_of(const vf_args &args) {
	tile t;
	t.halo = (args.radius + 3) & ~3;
	t.pitch = WIDTH + 2 * t.halo;
	t.size = t.pitch * (HEIGHT + 2 * args.radius);
	t.words = (lanes *)shared_memory();
	return t;
}

DEVICE void load(const vf_args &args, const tile &t, int thread, int x0, int y0) {
	for (int i = 4 * thread; i < t.size; i += 4 * THREADS) {
		int x = x0 - t.halo + i % t.pitch, y = y0 - args.radius + i / t.pitch;
		write_words(t.words + i, words_of(args, load_samples(args, x, y), inside(args, x)));
	}
}

DEVICE float weight(float d2, const float *tap) {
	float x = fma(d2, tap[0], tap[1]);
	return VF_RANGE == VF_LORENTZIAN ? reciprocal(x) : exp2(x);
}

struct sums {
	float weight, color[3];
};

// add_tap adds the neighbour at index q to the sums of the pixel at p.
DEVICE void add_tap(sums &s, const tile &t, int p, int q, const float *tap) {
	lanes word = t.words[q], centre = t.words[p];
	float d2 = 0;
	UNROLL
	for (int c = 0; c < 3; c++) {
		float d = lane_float(word, c) - lane_float(centre, c);
		d2 = fma(d, d, d2);
	}
	float w = weight(d2, tap);
	s.weight += w;
	UNROLL
	for (int c = 0; c < 3; c++) s.color[c] = fma(w, lane_float(word, c), s.color[c]);
}

DEVICE lanes filter(const vf_args &args, const tile &t, int p) {
	sums s = {};
	int r = args.radius;
	NO_UNROLL
	for (int dy = -r; dy <= r; dy++) {
		const auto &taps = args.tap[dy < 0 ? -dy : dy];
		NO_UNROLL
		for (int dx = -r; dx <= r; dx++) add_tap(s, t, p, p + dy * t.pitch + dx, taps[dx < 0 ? -dx : dx]);
	}
	float mean[3];
	UNROLL
	for (int c = 0; c < 3; c++) mean[c] = fma(s.color[c], reciprocal(s.weight), TIE_UP) + ROUND;
	return pack(mean[0], mean[1], mean[2]);
}

KERNEL(VF_NAME, THREADS, 3) {
	tile t = tile_of(args);
	int tx = thread_x(), ty = thread_y(), thread = ty * 32 + tx, x0 = block_x() * WIDTH, y0 = block_y() * HEIGHT;
	load(args, t, thread, x0, y0);
	barrier();
	lanes out[HEIGHT / LINES];
	UNROLL
	for (int i = 0; i < HEIGHT / LINES; i++) out[i] = filter(args, t, (ty + i * LINES + args.radius) * t.pitch + tx + t.halo);
	barrier();
	UNROLL
	for (int i = 0; i < HEIGHT / LINES; i++) t.words[(ty + i * LINES) * WIDTH + tx] = out[i];
	barrier();
	store_tile<WIDTH, WIDTH, HEIGHT, THREADS>(args, t.words, thread, x0, y0);
}
