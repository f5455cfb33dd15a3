// The tile form of the bilateral filter, for the joint distance in RGB and a radius known to the compiler.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// A block loads its 128 x VF_HEIGHT pixels with a halo of VF_RADIUS into shared memory, one 32-bit word a pixel (the halo block of 001,
// section 1.2.5, without its idle threads), and each thread filters four pixels of a row, which share the words they read. Borders by
// args.border; results are rounded to nearest. Not in place.
//
// A tap costs about 9 instructions: the bytes' absolute differences, their sum of squares, one multiply-add for b + a D^2, one
// reciprocal (or exponential), and four to add up W, WR, WG, WB. No integer is ever converted to a float: read as a float, an integer n < 2^23
// is the denormal number n 2^-149, which multiply-adds take at full speed, so it is enough to scale the other factor. The weights
// are scaled by 2^110 (tapWeights), which cancels in the quotient; a sum of W R is then in units of 2^-39, of W G (whose byte
// lies 8 bits higher) of 2^-31, of W B of 2^-23.
//
// Reads and writes 4 bytes each a pixel for RGBA, 1.5 for 4:2:0; (2 r + 1)^2 * 9 operations.
#include "planes.h"

enum {
	R = VF_RADIUS,
	HALO = (R + 3) & ~3, // whole vectors
	WIDTH = 128,
	HEIGHT = VF_HEIGHT,
	PITCH = WIDTH + 2 * HALO,
	ROWS = HEIGHT + 2 * R,
	THREADS = 32 * HEIGHT,
	SPAN = 4 + 2 * R, // words that the windows of four pixels reach over
};

struct sums {
	float w, r, g, b;
};

DEVICE float weight(uint32_t p, uint32_t q, float a, float b) {
	uint32_t d = absdiff4(p, q);
	if (VF_RANGE == VF_LORENTZIAN) return reciprocal(fma(bits_float(dot4(d, d, 0)), a, b));
	return exp2(fma(bits_float(dot4(d, d, float_bits(ROUND))) - ROUND, a, b));
}

DEVICE uint32_t finish(const sums &s) {
	float inverse = reciprocal(s.w) * 0x1p74f; // the factors of 2 in two steps, as neither side could hold them all
	float r = fma(s.r * 0x1p75f, inverse, TIE_UP), g = fma(s.g * 0x1p67f, inverse, TIE_UP), b = fma(s.b * 0x1p59f, inverse, TIE_UP);
	return pack(r + ROUND, g + ROUND, b + ROUND);
}

DEVICE uint4 filter(const vf_args &args, const uint32_t *window) {
	const uint32_t *centre = window + R * PITCH + HALO;
	uint4 own = *(const uint4 *)centre;
	uint32_t p[4] = {own.x, own.y, own.z, own.w};
	sums s[4] = {};
	NO_UNROLL
	for (int dy = 0; dy <= 2 * R; dy++, window += PITCH) {
		uint32_t q[4 + 2 * HALO];
		UNROLL
		for (int i = 0; i < 4 + 2 * HALO; i += 4) {
			uint4 v = *(const uint4 *)(window + i);
			q[i] = v.x, q[i + 1] = v.y, q[i + 2] = v.z, q[i + 3] = v.w;
		}
		const auto &tap = args.tap[dy < R ? R - dy : dy - R];
		float a[R + 1], b[R + 1];
		UNROLL
		for (int i = 0; i <= R; i++) a[i] = tap[i][0], b[i] = tap[i][1];
		UNROLL
		for (int i = 0; i < SPAN; i++) {
			uint32_t word = q[i + HALO - R];
			float red = bits_float(word & 0xff), green = bits_float(word & 0xff00), blue = bits_float(word & 0xff0000);
			UNROLL
			for (int k = 0; k < 4; k++) {
				if (i < k || i > k + 2 * R) continue;
				int dx = i - k < R ? R - (i - k) : i - k - R;
				float w = weight(p[k], word, a[dx], b[dx]);
				s[k].w += w;
				s[k].r = fma(w, red, s[k].r);
				s[k].g = fma(w, green, s[k].g);
				s[k].b = fma(w, blue, s[k].b);
			}
		}
	}
	return uint4{finish(s[0]), finish(s[1]), finish(s[2]), finish(s[3])};
}

KERNEL(VF_NAME, THREADS, VF_BLOCKS) {
	uint32_t *words = (uint32_t *)shared_memory();
	int tx = thread_x(), ty = thread_y(), thread = ty * 32 + tx;
	int x0 = block_x() * WIDTH, y0 = block_y() * HEIGHT;
	load_tile<PITCH, ROWS, THREADS>(args, words, thread, x0 - HALO, y0 - R);
	barrier();
	uint32_t *window = words + ty * PITCH + 4 * tx;
	uint4 out = filter(args, window);
	if (args.border == VF_SKIP) {
		const uint32_t *p = window + R * PITCH + HALO;
		int x = x0 + 4 * tx, y = y0 + ty;
		if (keeps(args, x, y)) out.x = p[0];
		if (keeps(args, x + 1, y)) out.y = p[1];
		if (keeps(args, x + 2, y)) out.z = p[2];
		if (keeps(args, x + 3, y)) out.w = p[3];
	}
	barrier();
	*(uint4 *)(words + ty * WIDTH + 4 * tx) = out;
	barrier();
	store_tile<WIDTH, WIDTH, HEIGHT, THREADS>(args, words, thread, x0, y0);
}
