// The kernel of Akers (001, section 1.2.5), for others to be measured against: packed RGBA, Lorentzian, all four channels in distance and
// sums, the picture padded with black by the host.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) / (1 + |I(p) - I(q)|^2 / (2 sigma_r^2))
//
// A block is 32 x 32 threads, one a pixel with its halo; each loads one word into shared memory, and those that are not in the halo filter
// one pixel. Spatial weights lie in constant memory. args.src[0] is the first pixel of the picture itself; radius rows above and below
// it and columns beside it are read, too. Unlike the paper's, this rounds to nearest and multiplies red by the inverse of the sum like
// the others (the paper divides). Reads 4 bytes a thread, which is (32 / (32 - 2 r))^2 times the picture, writes 4 a pixel; (2 r + 1)^2 taps of
// about 30 operations.
#include "planes.h"

DEVICE float lorentzian(float square, float factor) { return 1.0f / (1.0f + square * factor); }

KERNEL(VF_NAME, 1024, 1) {
	uint32_t *tile = (uint32_t *)shared_memory();
	const int r = args.radius, tx = thread_x(), ty = thread_y();
	const int x = tx - r + block_x() * (32 - 2 * r), y = ty - r + block_y() * (32 - 2 * r);
	uint32_t centre = 0;
	if (x < args.width + r && y < args.height + r) {
		centre = load_u32(source(args, 0, y) + 4 * x);
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
			float weight = args.tap[dy < 0 ? -dy : dy][dx < 0 ? -dx : dx][0] * lorentzian(square, factor);
			UNROLL
			for (int c = 0; c < 4; c++) sum[c] += weight * (float)(word >> 8 * c & 255);
			weights += weight;
		}
	}
	float inverse = 1.0f / weights;
	uint32_t out = 0;
	UNROLL
	for (int c = 0; c < 4; c++) out |= (uint32_t)(sum[c] * inverse + 0.5f) << 8 * c;
	store_u32(target(args, 0, y) + 4 * x, out);
}
