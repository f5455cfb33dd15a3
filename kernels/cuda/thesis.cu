// The kernels of the thesis (000).
#include "lab.h"

LAB_KERNEL(VF_NAME, VF_BLOCK *VF_BLOCK, 1) {
	int x = block_x() * VF_BLOCK + thread_x(), y = block_y() * VF_BLOCK + thread_y(), r = args.radius;
	if (x >= args.width || y >= args.height) return;
	uint32_t centre = read_u32(source(args, 0, y) + 4 * x), out = centre & 0xff000000;
	if (keeps(args, x, y)) return store_u32(target(args, 0, y) + 4 * x, centre);
	for (int c = 0; c < 3; c++) {
		float sum = 0, weights = 0;
		for (int dy = -r; dy <= r; dy++)
			for (int dx = -r; dx <= r; dx++) {
				float q = channel(read_u32(source(args, 0, y + dy) + 4 * (x + dx)), c), d = q - channel(centre, c);
				float w = args.tap[dy < 0 ? -dy : dy][dx < 0 ? -dx : dx][0] * expf(-d * d / args.two_var);
				sum += w * q, weights += w;
			}
		out |= nearest(sum / weights) << 8 * c;
	}
	store_u32(target(args, 0, y) + 4 * x, out);
}
