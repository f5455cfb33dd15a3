// D = A B, in row-major order: A of 16 x K halves, B of K x 8 halves, D of 16 x 8 floats (halves
// for operation 0). A is loaded by rows, B transposed, since the product takes it by columns.
#include "args.h"

KERNEL(matrix, 32, 1) {
	uint32_t *a = (uint32_t *)shared_memory(), *b = a + 128;
	int lane = thread_x(), k = args.what == 3 ? 16 : 8;
	for (int i = lane; i < 8 * k; i += 32) a[i] = load(args, i);
	for (int i = lane; i < 4 * k; i += 32) b[i] = load(args, 8 * k + i);
	barrier();
	const uint8_t *row_a = (const uint8_t *)a + 2 * k * (lane % 16) + 16 * (lane / 16), *row_b = (const uint8_t *)b + 16 * (lane % 16);
	uint32_t ra[4], rb[2], half[2];
	float d[4] = {1, 2, 3, 4};
	if (k == 16) {
		load_matrices<4, false>(ra, row_a);
		load_matrices<2, true>(rb, row_b);
		mma_k16_add(d, ra, rb[0], rb[1]);
	} else {
		load_matrices<2, false>(ra, row_a);
		load_matrices<1, true>(rb, row_b);
		if (args.what == 0) mma_k8_half(half, ra, rb[0]);
		if (args.what == 1) mma_k8_float(d, ra, rb[0]);
		if (args.what == 2) mma_k8_add(d, ra, rb[0]);
	}
	int row = lane / 4, column = 2 * (lane % 4);
	for (int i = 0; i < 2; i++, row += 8) {
		if (args.what == 0) {
			store(args, (8 * row + column) / 2, half[i]);
			continue;
		}
		store(args, 8 * row + column, float_bits(d[2 * i]));
		store(args, 8 * row + column + 1, float_bits(d[2 * i + 1]));
	}
}
