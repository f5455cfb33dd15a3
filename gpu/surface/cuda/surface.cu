// A plane of a frame, of samples of a decoder's surface: every step-th one, shifted to the lower
// end of its two bytes. Or the other way round, for an encoder. A thread makes 4 samples of a row.
#include "device.h"

enum { WIDTH = 64, HEIGHT = 4, SAMPLES = 4 };

typedef struct {
	uint64_t to, from;
	int32_t to_pitch, from_pitch; // bytes
	int32_t width, height;        // samples
	int32_t to_step, step;        // samples
	int32_t shift;                // bits to the right; below 0: to the left
} vs_args;

KERNEL_OF(vs_args, VF_NAME, WIDTH *HEIGHT, 8) {
	int x = (block_x() * WIDTH + thread_x()) * SAMPLES, y = block_y() * HEIGHT + thread_y();
	if (y >= args.height) return;
	const uint8_t *from = (const uint8_t *)args.from + (int64_t)y * args.from_pitch;
	uint8_t *to = (uint8_t *)args.to + (int64_t)y * args.to_pitch;
	for (int i = x; i < x + SAMPLES && i < args.width; i++) {
		if (VF_BYTES == 1) {
			store_u8(to + i * args.to_step, load_u8(from + i * args.step));
			continue;
		}
		unsigned v = load_u16(from + 2 * i * args.step);
		store_u16(to + 2 * i * args.to_step, args.shift >= 0 ? v >> args.shift : v << -args.shift);
	}
}
