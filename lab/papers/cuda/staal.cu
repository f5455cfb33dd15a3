// The eight kernels of Staal (004: L. K. Staal, Bilateral Filtering with CUDA, section IV and
// appendix C), each with one more optimization.
//
//   out(p)_c = sum w I(q)_c / sum w,  w = Gs(p-q) Gr(I(p)_c - I(q)_c),  each channel c separately
//   Gs(x, y) = exp(-(x^2 + y^2) / (2 sigma_s^2)) / (2 pi sigma_s^2)
//   Gr(d) = exp(-d^2 / (2 sigma_r^2)) / sqrt(2 pi sigma_r^2)
//
// over the window of (2 r + 1)^2 pixels, colours from 0 to 1. VF_VERSION is one of
//   1 naive           one thread a pixel in blocks of 512 in a row, float3 in global memory,
//                     everything computed at every tap
//   2 map             Gs from a precomputed map in global memory
//   3 hardware exp    __expf instead of expf
//   4 texture         pixels through a 1-D texture of floats, three fetches a pixel
//   5 register-lean   the variance and sqrt(2 pi sigma_r^2) come from the host, d * d instead of
//                     pow(d, 2); blocks of 192
//   6 split channels  the picture as three pictures of one channel, a texture for each;
//                     blocks of 256
//   7 one channel     5 for one channel: one thread for each, in three launches
//   8 2-D blocks      5 in blocks of 16 x 12
//
// Passes (args.pass): the first converts the frame to floats in scratch memory, the last converts
// the result back; those between are the paper's kernel. The paper times neither conversion: its
// pictures are floats on the host already. (The totals of its tables do include the host splitting
// the channels for 6 and 7, which it calls unfair. Its figure 4 does not.) Borders mirror without
// repeating the edge, as the paper's left and top ones do. They mirror once, so the picture must be
// larger than the radius. Rounded to nearest; not in place.
//
// Bytes a pixel: 12 in, 12 out, and in the conversions 4 and 12, 12 and 4. Operations a tap: about
// 15 for the position and the map, and for each channel of 5 to 8 a fetch, an exp, two divisions
// (8 or more each) and 7 more; in 1 to 4 also a pow of about 45. Without the map, Gs costs one or
// two pow, a division and an exp more.
//
// Changed:
//   - The paper's mirror at the right and the bottom is dims - 1 - i with the loop's index i,
//     which is right in the last column only; here it is 2 (dims - 1) - x.
//   - The paper states that its versions 3 and 4 do not smooth. The printed code does. A possible
//     cause is the host code, which is not printed: if it passes the variance for sigma_range, as 5
//     needs it, 0.1 acts as 0.01.
//   - Figure 4's grids are rounded down (1365 blocks of 192 for 512 x 512 pixels, 42 rows of 12
//     for 512), which leaves the last pixels out. Here grids are rounded up.
//   - "__powf(x, 2) doesn't work for some reason", says its comment: __powf computes 2^(2 log2 x),
//     and x may be negative.
//   - pow is a function of CUDA's library, which is not linked here: power below does the same
//     work in single precision. Versions 1 to 4 call it even where a compiler might see the
//     square; otherwise version 5 would gain little. A multiply-add is written wherever nvcc
//     would make one.
#include "papers.h"
#include "texture.h"

enum {
	VERSION = VF_VERSION,
	MAP = VERSION >= 2,
	HARDWARE_EXP = VERSION >= 3,
	TEXTURE = VERSION >= 4,
	LEAN = VERSION >= 5,
	SPLIT = VERSION == 6 || VERSION == 7,
	CHANNELS = VERSION == 7 ? 1 : 3, // of one thread
	LAUNCHES = VERSION == 7 ? 3 : 1, // of the paper's kernel
	BLOCKS_2D = VERSION == 8,
};

#define PI 3.14159265f
#define LOG2_E 1.44269504f

DEVICE float read_float(const float *p) { return bits_float(read_u32((const uint8_t *)p)); }
DEVICE void store_float(float *p, float v) { store_u32((uint8_t *)p, float_bits(v)); }

// power is pow for integral y except 0: log2 |x| in two floats, since y multiplies its error, then
// 2 to the power of y times that.
DEVICE float power(float x, float y) {
	uint32_t bits = float_bits(x) & 0x7fffffff;
	bool odd = (int)y & 1, small = bits < 0x00800000;
	uint32_t a = small ? float_bits(bits_float(bits) * 0x1p24f) : bits;
	// |x| = m 2^e, with m from sqrt(1/2) to sqrt(2), and ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...)
	// with s = (m - 1) / (m + 1).
	int32_t exponent = (int32_t)(a - 0x3f3504f3) >> 23;
	float m = bits_float(a - ((uint32_t)exponent << 23)), e = (float)(small ? exponent - 24 : exponent);
	float f = m - 1, d = m + 1, inverse = reciprocal(d), s = f * inverse;
	float rest = fma(-s, m - (d - 1), fma(-s, d, f)) * inverse; // the rounding error of s
	float q = s * s, series = q * fma(q, fma(q, fma(q, 1.0f / 9, 1.0f / 7), 1.0f / 5), 1.0f / 3);
	float high = s * (2 * LOG2_E), low = fma(s, 2 * LOG2_E, -high) + fma(s, 3.85e-8f, 2 * LOG2_E * fma(s, series, rest));
	float log = e + high;
	low += high - (log - e);
	float product = log * y, left = fma(low, y, fma(log, y, -product));
	product = product < -300 ? -300 : product > 300 ? 300 : product;
	int32_t n = (int32_t)(product + (product < 0 ? -0.5f : 0.5f)), half = n >> 1;
	float result = exp2(product - (float)n + left) * bits_float((uint32_t)(half + 127) << 23) * bits_float((uint32_t)(n - half + 127) << 23);
	if (bits == 0 || bits >= 0x7f800000) result = bits > 0x7f800000 ? x : (bits == 0) == (y > 0) ? 0 : bits_float(0x7f800000);
	return odd && x < 0 ? -result : result;
}

// __expf and __powf, by the hardware.
DEVICE float hardware_exp(float x) { return exp2_gradual(x * LOG2_E); }
DEVICE float hardware_power(float x, float y) { return exp2_gradual(y * log2(x)); }

// The paper's Gaussians.

DEVICE float gaussian1d(float x, float sigma) {
	float variance = power(sigma, 2);
	float exponent = -power(x, 2) / (2 * variance);
	return exp_float(exponent) / square_root(2 * PI * variance);
}

DEVICE float gaussian1d_gpu(float x, float sigma) {
	float variance = hardware_power(sigma, 2);
	float exponent = -power(x, 2) / (2 * variance);
	return hardware_exp(exponent) / square_root(2 * PI * variance);
}

DEVICE float gaussian1d_gpu_reg(float x, float variance, float sqrt_pi_variance) {
	float gaussian1d = -(x * x) / (2 * variance);
	gaussian1d = hardware_exp(gaussian1d);
	return gaussian1d / sqrt_pi_variance;
}

DEVICE float gaussian2d(float x, float y, float sigma) {
	float variance = power(sigma, 2);
	float exponent = -(power(x, 2) + power(y, 2)) / (2 * variance);
	return exp_float(exponent) / (2 * PI * variance);
}

DEVICE float range_weight(const paper_args &args, float d) {
	if (LEAN) return gaussian1d_gpu_reg(d, args.variance, args.sqrt_pi_variance);
	return HARDWARE_EXP ? gaussian1d_gpu(d, args.sigma_r) : gaussian1d(d, args.sigma_r);
}

DEVICE float spatial_weight(const paper_args &args, int i, int j, int radius) {
	if (!MAP) return gaussian2d((float)i, (float)j, args.sigma_s);
	return read_float((const float *)args.table + (j + radius) * (2 * radius + 1) + i + radius);
}

// Scratch memory has space for the picture, then the result, each as three floats a pixel or as
// three planes of args.plane floats. Versions 6 and 7 have planes for the picture, 7 also for the
// result.

struct color {
	float c[CHANNELS];
};

DEVICE float *input(const paper_args &args, int pixel, int channel) {
	float *picture = (float *)args.picture;
	return SPLIT ? picture + (int64_t)channel * args.plane + pixel : picture + 3 * (int64_t)pixel + channel;
}
DEVICE float *output(const paper_args &args, int pixel, int channel) {
	float *result = (float *)args.scratch + 3 * (int64_t)args.plane;
	return CHANNELS == 1 ? result + (int64_t)channel * args.plane + pixel : result + 3 * (int64_t)pixel + channel;
}

// look_up reads a pixel. A launch of version 7 has its channel's texture in the first slot.
DEVICE color look_up(const paper_args &args, int pixel) {
	color k;
	UNROLL
	for (int c = 0; c < CHANNELS; c++) {
		uint64_t texture = SPLIT ? args.texture[c] : args.texture[0];
		k.c[c] = TEXTURE ? texel(texture, SPLIT ? pixel : 3 * pixel + c) : read_float(input(args, pixel, c));
	}
	return k;
}

DEVICE int mirror(int i, int n) {
	if (i < 0) i = -i;
	if (i > n - 1) i = 2 * (n - 1) - i;
	return i;
}

DEVICE color filter(const paper_args &args, int x, int y, int pixel) {
	const int width = args.width, height = args.height, radius = args.radius;
	color current = look_up(args, pixel), sum = {}, normalization = {};
	for (int i = -radius; i <= radius; i++) {
		for (int j = -radius; j <= radius; j++) {
			int x_sample = mirror(x + i, width), y_sample = mirror(y + j, height);
			color sample = look_up(args, y_sample * width + x_sample);
			float spatial = spatial_weight(args, i, j, radius);
			UNROLL
			for (int c = 0; c < CHANNELS; c++) {
				float weight = spatial * range_weight(args, current.c[c] - sample.c[c]);
				normalization.c[c] += weight;
				sum.c[c] = fma(sample.c[c], weight, sum.c[c]);
			}
		}
	}
	UNROLL
	for (int c = 0; c < CHANNELS; c++) sum.c[c] /= normalization.c[c];
	return sum;
}

// The conversions before and after.

DEVICE void make_floats(const paper_args &args, int x, int y, int pixel) {
	const uint8_t *from = source(args, y) + 4 * x;
	for (int c = 0; c < 3; c++) store_float(input(args, pixel, c), (float)load_u8(from + c) / 255);
}

DEVICE void make_words(const paper_args &args, int x, int y, int pixel) {
	uint8_t *to = target(args, y) + 4 * x;
	for (int c = 0; c < 3; c++) store_u8(to + c, nearest(read_float(output(args, pixel, c)) * 255));
	store_u8(to + 3, load_u8(source(args, y) + 4 * x + 3));
}

KERNEL_OF(paper_args, VF_NAME, VF_THREADS, 1) {
	int x, y, pixel;
	if (BLOCKS_2D) {
		x = block_x() * 16 + thread_x(), y = block_y() * 12 + thread_y(), pixel = y * args.width + x;
	} else {
		pixel = block_x() * VF_THREADS + thread_x();
		y = pixel / args.width, x = pixel - y * args.width;
	}
	if (x >= args.width || y >= args.height) return;

	if (args.pass == 0) return make_floats(args, x, y, pixel);
	if (args.pass > LAUNCHES) return make_words(args, x, y, pixel);
	color mean = filter(args, x, y, pixel);
	UNROLL
	for (int c = 0; c < CHANNELS; c++) store_float(output(args, pixel, CHANNELS == 1 ? args.pass - 1 : c), mean.c[c]);
}
