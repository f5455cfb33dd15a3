// The kernel of Akers (001, section 1.2.5), as a baseline for others: packed RGBA, Lorentzian, all
// four channels in distance and sums, the picture padded with black.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q)
//   w(p,q) = Gs(p-q) / (1 + |I(p) - I(q)|^2 / (2 sigma_r^2))
//
// The host of the paper pads the picture. Here pass 0 does, into scratch memory. The margin has the
// alpha of the first pixel, so that opaque pictures lie in opaque black. Pass 1 is the paper's
// kernel. Its source is the inside of the padded picture.
//
// A block is 32 x 32 threads, one for each pixel and halo pixel. Each loads one word into shared
// memory; those outside the halo filter one pixel. Spatial weights lie in constant memory. Reads 4
// bytes a thread, which is (32 / (32 - 2 r))^2 times the picture, writes 4 a pixel; (2 r + 1)^2
// taps of about 30 operations.
//
// Changed: rounds to nearest, and multiplies red by the inverse of the sum, as the paper does for
// the other channels (it divides red).
#include "papers.h"

DEVICE float lorentzian(float square, float factor) { return 1.0f / (1.0f + square * factor); }

DEVICE void pad(const paper_args &args, int x, int y) {
	const int r = args.radius;
	if (x >= args.width + 2 * r || y >= args.height + 2 * r) return;
	const bool inside = x >= r && y >= r && x - r < args.width && y - r < args.height;
	const uint32_t word = inside ? load_u32(source(args, y - r) + 4 * (x - r)) : load_u32(source(args, 0)) & 0xff000000;
	store_u32(target(args, y) + 4 * x, word);
}

KERNEL_OF(paper_args, VF_NAME, 1024, 1) {
	if (args.pass == 0) return pad(args, block_x() * 32 + thread_x(), block_y() * 32 + thread_y());
	uint32_t *tile = (uint32_t *)shared_memory();
	const int r = args.radius, tx = thread_x(), ty = thread_y();
	const int x = tx - r + block_x() * (32 - 2 * r), y = ty - r + block_y() * (32 - 2 * r);
	uint32_t centre = 0;
	if (x < args.width + r && y < args.height + r) {
		centre = load_u32(source(args, y) + 4 * x);
		tile[ty * 32 + tx] = centre;
	}
	barrier();
	if (tx < r || ty < r || tx >= 32 - r || ty >= 32 - r || x >= args.width || y >= args.height) return;

	const float factor = 1.0f / args.two_var;
	float sum[4] = {0, 0, 0, 0}, weights = 0;
	for (int dy = -r; dy <= r; dy++) {
		for (int dx = -r; dx <= r; dx++) {
			uint32_t word = tile[(ty + dy) * 32 + tx + dx];
			float square = 0;
			UNROLL
			for (int c = 0; c < 4; c++) {
				float d = (float)((int)(word >> 8 * c & 255) - (int)(centre >> 8 * c & 255));
				square += d * d;
			}
			float weight = args.tap[dy < 0 ? -dy : dy][dx < 0 ? -dx : dx] * lorentzian(square, factor);
			UNROLL
			for (int c = 0; c < 4; c++) sum[c] += weight * (float)(word >> 8 * c & 255);
			weights += weight;
		}
	}
	float inverse = 1.0f / weights;
	uint32_t out = 0;
	UNROLL
	for (int c = 0; c < 4; c++) out |= (uint32_t)(sum[c] * inverse + 0.5f) << 8 * c;
	store_u32(target(args, y) + 4 * x, out);
}
