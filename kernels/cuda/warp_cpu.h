// The collective operations of a warp on the CPU: each lane hands over its part, and the driver
// runs the operation once all have arrived. Included by device_cpu.h.
#pragma once

static void vf_meet(void *const *) {}
DEVICE void warp_barrier() { vf_collect("warp_barrier", vf_meet, nullptr); }

// Shuffles: the source lane as a function of the own number.
struct vf_shuffle {
	uint32_t give;
	int from;
	uint32_t got;
};
static void vf_shuffle_all(void *const *lanes) {
	for (int i = 0; i < 32; i++) {
		vf_shuffle *lane = (vf_shuffle *)lanes[i];
		lane->got = ((vf_shuffle *)lanes[lane->from])->give;
	}
}
DEVICE uint32_t vf_shuffle_from(const char *name, uint32_t v, int from) {
	vf_shuffle mine = {v, from >= 0 && from < 32 ? from : vf_here.lane, 0};
	vf_collect(name, vf_shuffle_all, &mine);
	return mine.got;
}
DEVICE uint32_t shuffle_up(uint32_t v, int n) { return vf_shuffle_from("shuffle_up", v, vf_here.lane - n); }
DEVICE uint32_t shuffle_down(uint32_t v, int n) { return vf_shuffle_from("shuffle_down", v, vf_here.lane + n); }
DEVICE uint32_t shuffle(uint32_t v, int n) { return vf_shuffle_from("shuffle", v, n & 31); }

// Matrices of 8 x 8 halves from shared memory.
struct vf_load {
	const void *row;
	uint32_t d[4];
};
template <int COUNT, bool TRANSPOSED> static void vf_load_all(void *const *lanes) {
	for (int i = 0; i < COUNT; i++)
		for (int lane = 0; lane < 32; lane++) {
			int j = lane / 4, k = 2 * (lane % 4);
			auto half = [&](int row, int column) {
				return (uint32_t)((const uint16_t *)((vf_load *)lanes[8 * i + row])->row)[column];
			};
			uint32_t low = TRANSPOSED ? half(k, j) : half(j, k);
			uint32_t high = TRANSPOSED ? half(k + 1, j) : half(j, k + 1);
			((vf_load *)lanes[lane])->d[i] = low | high << 16;
		}
}
DEVICE void vf_check_row(const void *row) {
	size_t offset = (const uint8_t *)row - vf_here.shared;
	if (offset % 16 || offset >= vf_here.shared_size || vf_here.shared_size - offset < 16)
		vf_fail(716, "load_matrices: a row at byte %zd of the shared memory", (ptrdiff_t)offset);
}
template <int COUNT, bool TRANSPOSED> DEVICE void load_matrices(uint32_t *d, const void *row) {
	if (vf_here.lane < 8 * COUNT) vf_check_row(row);
	vf_load mine = {row, {}};
	vf_collect("load_matrices", vf_load_all<COUNT, TRANSPOSED>, &mine);
	for (int i = 0; i < COUNT; i++) d[i] = mine.d[i];
}

// D += A B with A of 16 x K, B of K x 8.
struct vf_product {
	const half2 *a;
	half2 b[2];
	float *d;
};
typedef float vf_row __attribute__((ext_vector_type(8)));
template <int K> static void vf_multiply_all(void *const *lanes) {
	float a[16][K];
	vf_row b[K], d[16];
	for (int lane = 0; lane < 32; lane++) {
		const vf_product *p = (const vf_product *)lanes[lane];
		int g = lane / 4, t = 2 * (lane % 4);
		for (int i = 0; i < K / 4; i++) {
			vf_floats pair = vf_to_floats(p->a[i]);
			float *at = &a[g + 8 * (i % 2)][t + 8 * (i / 2)];
			at[0] = pair.x, at[1] = pair.y;
		}
		for (int i = 0; i < K / 8; i++) {
			vf_floats pair = vf_to_floats(p->b[i]);
			b[t + 8 * i][g] = pair.x, b[t + 8 * i + 1][g] = pair.y;
		}
		for (int i = 0; i < 4; i++) d[g + 8 * (i / 2)][t + i % 2] = p->d[i];
	}
	for (int row = 0; row < 16; row++)
		for (int k = 0; k < K; k++) d[row] += a[row][k] * b[k];
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 4; i++)
			((vf_product *)lanes[lane])->d[i] = d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
}
DEVICE void mma_k8_add(float *d, const half2 *a, half2 b) {
	vf_product mine = {a, {b}, d};
	vf_collect("mma_k8", vf_multiply_all<8>, &mine);
}
DEVICE void mma_k16_add(float *d, const half2 *a, half2 b0, half2 b1) {
	vf_product mine = {a, {b0, b1}, d};
	vf_collect("mma_k16", vf_multiply_all<16>, &mine);
}
DEVICE void mma_k8_float(float *d, const half2 *a, half2 b) {
	for (int i = 0; i < 4; i++) d[i] = 0;
	mma_k8_add(d, a, b);
}
DEVICE void mma_k8_half(half2 *d, const half2 *a, half2 b) {
	float sum[4];
	mma_k8_float(sum, a, b);
	d[0] = half2_of(sum[0], sum[1]);
	d[1] = half2_of(sum[2], sum[3]);
}
