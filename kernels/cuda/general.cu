// The general form of the bilateral filter: distances that need more than the bytes of a word, any
// radius up to 15.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q))
//
// VF_DISTANCE is one of
//   rgb      joint in R, G and B; for samples of two bytes, and for planes of R, G and B
//   channel  each channel c alone, D = |c(p) - c(q)|, with its own weight and sum (000, 004)
//   lab      the Euclidean distance in CIE-Lab (000, section 2.3.1)
//   luma     the difference of luma by the frame's matrix
//
// A block loads its 32 x 16 pixels with a halo of the radius into shared memory, each as a word
// and the features of the distance, computed once. Each thread filters two pixels. Borders by
// args.border; rounded to nearest; not in place. Reads and writes 4 bytes each a pixel for RGBA,
// 1.5 for 4:2:0; about 15 (luma) to 25 (channel) operations a tap.
#include "cielab.h"

enum {
	WIDTH = 32,
	LINES = 8, // of threads
	// the words and features of deep samples must fit the shared memory of old devices, too
	HEIGHT = BYTES == 2 && VF_DISTANCE == VF_DIST_LAB ? LINES : 16,
	THREADS = 32 * LINES,
	FEATURES = VF_DISTANCE == VF_DIST_LAB ? 3 : VF_DISTANCE == VF_DIST_LUMA ? 1 : 0,
	WEIGHTS = VF_DISTANCE == VF_DIST_CHANNEL ? 3 : 1,
};

// The tile: pitch words a row, then as many floats for each feature, then the table of linear
// light.
struct tile {
	lanes *words;
	float *features, *linear;
	int pitch, size, halo;
};

DEVICE tile tile_of(const vf_args &args) {
	tile t;
	t.halo = (args.radius + 3) & ~3;
	t.pitch = WIDTH + 2 * t.halo;
	t.size = t.pitch * (HEIGHT + 2 * args.radius);
	t.words = (lanes *)shared_memory();
	t.features = (float *)(t.words + t.size);
	t.linear = t.features + FEATURES * t.size;
	return t;
}

// linear_of is the linear light of a channel of a word, between those of the table if it is deep.
DEVICE float linear_of(const vf_args &args, const tile &t, lanes word, int channel) {
#if VF_BYTES == 1
	return t.linear[word >> 8 * channel & 255];
#else
	const float *table = args.color.linear;
	float at = lane_float(word, channel) * (255 / most_of(args));
	int i = at < 254 ? (int)at : 254;
	return fma(at - i, table[i + 1] - table[i], table[i]);
#endif
}

DEVICE void features_of(const vf_args &args, const tile &t, int at, lanes word) {
	if (VF_DISTANCE == VF_DIST_LUMA) {
		const float *k = args.color.luma;
		t.features[at] = fma(lane_float(word, 0), k[0], fma(lane_float(word, 1), k[1], lane_float(word, 2) * k[2]));
	}
	if (VF_DISTANCE == VF_DIST_LAB) {
		float lab[3];
		lab_of(args.color.xyz, linear_of(args, t, word, 0), linear_of(args, t, word, 1), linear_of(args, t, word, 2), lab);
		UNROLL
		for (int i = 0; i < 3; i++) t.features[at + i * t.size] = lab[i];
	}
}

DEVICE void load(const vf_args &args, const tile &t, int thread, int x0, int y0) {
	if (VF_DISTANCE == VF_DIST_LAB && BYTES == 1) {
		for (int i = thread; i < 256; i += THREADS) t.linear[i] = args.color.linear[i];
		barrier();
	}
	for (int i = 4 * thread; i < t.size; i += 4 * THREADS) {
		int x = x0 - t.halo + i % t.pitch, y = y0 - args.radius + i / t.pitch;
		word4 w = words_of(args, load_samples(args, x, y), inside(args, x));
		write_words(t.words + i, w);
		UNROLL
		for (int k = 0; k < 4; k++) features_of(args, t, i + k, word_of(w, k));
	}
}

DEVICE float weight(float d2, const float *tap) {
	float x = fma(d2, tap[0], tap[1]);
	return VF_RANGE == VF_LORENTZIAN ? reciprocal(x) : exp2(x);
}

struct sums {
	float weight[WEIGHTS], color[3];
};

// add_tap adds the neighbour at index q to the sums of the pixel at p.
DEVICE void add_tap(sums &s, const tile &t, int p, int q, const float *tap) {
	lanes word = t.words[q], centre = t.words[p];
	float w[WEIGHTS], d2 = 0;
	UNROLL
	for (int i = 0; i < FEATURES; i++) {
		float d = t.features[q + i * t.size] - t.features[p + i * t.size];
		d2 = fma(d, d, d2);
	}
	UNROLL
	for (int c = 0; c < 3 && VF_DISTANCE == VF_DIST_RGB; c++) {
		float d = lane_float(word, c) - lane_float(centre, c);
		d2 = fma(d, d, d2);
	}
	UNROLL
	for (int c = 0; c < WEIGHTS; c++) {
		float d = lane_float(word, c) - lane_float(centre, c);
		w[c] = weight(VF_DISTANCE == VF_DIST_CHANNEL ? d * d : d2, tap);
		s.weight[c] += w[c];
	}
	UNROLL
	for (int c = 0; c < 3; c++) s.color[c] = fma(w[c % WEIGHTS], lane_float(word, c), s.color[c]);
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
	for (int c = 0; c < 3; c++) mean[c] = fma(s.color[c], reciprocal(s.weight[c % WEIGHTS]), TIE_UP) + ROUND;
	return pack(mean[0], mean[1], mean[2]);
}

KERNEL(VF_NAME, THREADS, 3) {
	tile t = tile_of(args);
	int tx = thread_x(), ty = thread_y(), thread = ty * 32 + tx, x0 = block_x() * WIDTH, y0 = block_y() * HEIGHT;
	load(args, t, thread, x0, y0);
	barrier();
	lanes out[HEIGHT / LINES];
	UNROLL
	for (int i = 0; i < HEIGHT / LINES; i++) {
		int y = ty + i * LINES, p = (y + args.radius) * t.pitch + tx + t.halo;
		out[i] = keeps(args, x0 + tx, y0 + y) ? t.words[p] : filter(args, t, p);
	}
	barrier();
	UNROLL
	for (int i = 0; i < HEIGHT / LINES; i++) t.words[(ty + i * LINES) * WIDTH + tx] = out[i];
	barrier();
	store_tile<WIDTH, WIDTH, HEIGHT, THREADS>(args, t.words, thread, x0, y0);
}
