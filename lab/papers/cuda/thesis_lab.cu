// The thesis (000, section 5.1.3) with the distance between two pixels measured in CIE-Lab, which
// it tried and rejected for its looks:
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q)
//   w(p,q) = Gs(p-q) exp(-|Lab(p) - Lab(q)|^2 / (2 sigma_r^2))
//
// Pass 0 converts the picture to L, a and b in a frame of floats, as OpenCV's cvtColor did for the
// thesis; pass 1 is version 1 or 2 of thesis.cu with one weight for all channels, whose
// differences it reads from that frame. Pass 0 reads and writes 4 and 16 bytes a pixel; pass 1
// reads 19 (2 r + 1)^2, through caches, and writes 4; some 30 operations a tap.
//
// Changed: the thesis averages L, a and b and converts back; here red, green and blue are averaged,
// so that only the distance differs. Lab is a float and sigma_r in its units, where cvtColor makes
// bytes of it.
#include "cielab.h"
#include "thesis.h"

// The floats of L, a and b of a pixel, and padding for one read of 16 bytes.
DEVICE uint8_t *lab_at(const paper_args &args, int x, int y) {
	return (uint8_t *)args.scratch + 16 * ((int64_t)y * args.width + x);
}

DEVICE void convert(const paper_args &args, int x, int y) {
	const pixel p = pixel_at(args, x, y);
	const float *linear = args.linear;
	float f[3];
	lab_of(args.xyz, linear[p.level[0]], linear[p.level[1]], linear[p.level[2]], f);
	store_u128(lab_at(args, x, y), uint4{float_bits(f[0]), float_bits(f[1]), float_bits(f[2]), 0});
}

// square is the square of the distance.
DEVICE float square(const uint4 &p, const uint4 &q) {
	float sum = 0;
	UNROLL
	for (int i = 0; i < 3; i++) {
		float d = bits_float(p[i]) - bits_float(q[i]);
		sum = fma(d, d, sum);
	}
	return sum;
}

DEVICE void filter(const paper_args &args, int x, int y) {
	const int r = args.radius;
	const uint4 p = read_u128(lab_at(args, x, y));
	float sum[3] = {0, 0, 0}, weights[3] = {0, 0, 0};
	NO_UNROLL
	for (int dy = -r; dy <= r; dy++) {
		NO_UNROLL
		for (int dx = -r; dx <= r; dx++) {
			const pixel q = pixel_at(args, x + dx, y + dy);
			const float w = spatial(args, dx, dy) * exp_float(-square(p, read_u128(lab_at(args, x + dx, y + dy))) / args.two_var);
			UNROLL
			for (int c = 0; c < 3; c++) sum[c] = fma(w, (float)q.level[c], sum[c]);
			weights[0] += w;
		}
	}
	weights[1] = weights[2] = weights[0];
	store_mean(args, x, y, sum, weights);
}

KERNEL_OF(paper_args, VF_NAME, BLOCK *BLOCK, 1) {
	const int x = block_x() * BLOCK + thread_x(), y = block_y() * BLOCK + thread_y();
	if (x >= args.width || y >= args.height) return;
	if (args.pass == 0) return convert(args, x, y);
	if (keeps(args, x, y)) return copy_border(args, x, y);
	filter(args, x, y);
}
