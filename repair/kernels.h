// Kernels of the repair, compiled once for each instruction set. The including file defines ISA.
#include <string.h>
#include "repair.h"

#define JOIN(f, isa) f##_##isa
#define EXPAND(f, isa) JOIN(f, isa)
#define NAME(f) EXPAND(f, ISA)
#define INLINE static inline __attribute__((always_inline))

enum { SIDE = 8, TAPS = 6, BEFORE = 2 }; // side of a cell, taps of the interpolation, taps before the sample

INLINE int mini(int a, int b) { return a < b ? a : b; }
INLINE int maxi(int a, int b) { return a > b ? a : b; }
INLINE int clampi(int x, int least, int most) { return x < least ? least : x > most ? most : x; }

INLINE int between(int a, int b, int c, int d, int e, int f, int most)
{
	return clampi((a - 5 * b + 20 * c + 20 * d - 5 * e + f + 16) >> 5, 0, most);
}

// block writes the samples of a cell, interpolated at a half-pel phase. Bit 0 of phase is the
// horizontal half, bit 1 the vertical one. Width and height are at most SIDE. The input extends
// BEFORE samples before the cell, and TAPS - 1 - BEFORE after it.
INLINE void block(uint16_t *out, int out_pitch, const uint16_t *in, int pitch, int phase, int width, int height, int most)
{
	if (phase == 0) {
		for (int y = 0; y < height; y++) memcpy(out + y * out_pitch, in + y * pitch, 2 * width);
		return;
	}
	uint16_t rows[(SIDE + TAPS - 1) * SIDE];
	const uint16_t *from = in;
	int from_pitch = pitch;
	if (phase & 1) {
		int above = phase & 2 ? BEFORE : 0, all = phase & 2 ? height + TAPS - 1 : height;
		uint16_t *to = phase & 2 ? rows : out;
		int to_pitch = phase & 2 ? SIDE : out_pitch;
		for (int y = 0; y < all; y++) {
			const uint16_t *p = in + (y - above) * pitch - BEFORE;
			for (int x = 0; x < width; x++)
				to[y * to_pitch + x] = between(p[x], p[x + 1], p[x + 2], p[x + 3], p[x + 4], p[x + 5], most);
		}
		from = rows + BEFORE * SIDE, from_pitch = SIDE;
	}
	if (!(phase & 2)) return;
	for (int y = 0; y < height; y++) {
		const uint16_t *p = from + (y - BEFORE) * from_pitch;
		for (int x = 0; x < width; x++)
			out[y * out_pitch + x] = between(p[x], p[x + from_pitch], p[x + 2 * from_pitch], p[x + 3 * from_pitch],
			                                 p[x + 4 * from_pitch], p[x + 5 * from_pitch], most);
	}
}

void NAME(vr_compensate)(uint16_t *out, const uint16_t *in, vr_size s, const int16_t *vectors, int cells, int cell_x, int cell_y, int y0, int y1)
{
	enum { REACH = SIDE + TAPS };
	for (int y = y0; y < y1; y += cell_y) {
		int height = mini(cell_y, y1 - y);
		for (int x = 0, i = (y - y0) / cell_y * cells; x < s.width; x += cell_x, i++) {
			int width = mini(cell_x, s.width - x);
			int dx = vectors[2 * i], dy = vectors[2 * i + 1], phase = (dx & 1) | (dy & 1) << 1;
			int px = x + (dx >> 1), py = y + (dy >> 1);
			uint16_t *to = out + (int64_t)y * s.width + x;
			if (px >= BEFORE && py >= BEFORE && px + REACH <= s.width && py + REACH <= s.height) {
				const uint16_t *from = in + (int64_t)py * s.width + px;
				if (width == SIDE && height == SIDE) block(to, s.width, from, s.width, phase, SIDE, SIDE, s.most);
				else if (width == SIDE / 2 && height == SIDE / 2) block(to, s.width, from, s.width, phase, SIDE / 2, SIDE / 2, s.most);
				else block(to, s.width, from, s.width, phase, width, height, s.most);
				continue;
			}
			uint16_t part[REACH * REACH]; // copy of the block with replicated edges
			for (int v = 0; v < height + TAPS; v++) {
				const uint16_t *row = in + (int64_t)clampi(py + v - BEFORE, 0, s.height - 1) * s.width;
				for (int u = 0; u < width + TAPS; u++) part[v * REACH + u] = row[clampi(px + u - BEFORE, 0, s.width - 1)];
			}
			block(to, s.width, part + BEFORE * REACH + BEFORE, REACH, phase, width, height, s.most);
		}
	}
}

enum { RUN = 256 }; // samples of a row compared at a time

// extremes sets the minimum and the maximum of both neighbours for each of count samples.
INLINE void extremes(uint16_t *restrict least, uint16_t *restrict most, const uint16_t *a, const uint16_t *b, int count)
{
	for (int i = 0; i < count; i++) {
		least[i] = a[i] < b[i] ? a[i] : b[i];
		most[i] = a[i] < b[i] ? b[i] : a[i];
	}
}

// compare_row compares a row of at most RUN samples. least and most are of three rows of both
// neighbours, from one sample before the row on. top, far and near collect the results of columns.
INLINE void compare_row(uint16_t *restrict top, uint16_t *restrict far, uint16_t *restrict near, uint16_t least[3][RUN + 2], uint16_t most[3][RUN + 2],
                        const uint16_t *restrict n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t most_split, int width)
{
	uint16_t low[RUN + 2], high[RUN + 2];
	for (int x = 0; x < width + 2; x++) {
		uint16_t l = least[0][x] < least[1][x] ? least[0][x] : least[1][x], h = most[0][x] > most[1][x] ? most[0][x] : most[1][x];
		low[x] = least[2][x] < l ? least[2][x] : l;
		high[x] = most[2][x] > h ? most[2][x] : h;
	}
	for (int x = 0; x < width; x++) {
		uint16_t l = low[x] < low[x + 1] ? low[x] : low[x + 1], h = high[x] > high[x + 1] ? high[x] : high[x + 1];
		l = low[x + 2] < l ? low[x + 2] : l;
		h = high[x + 2] > h ? high[x + 2] : h;
		uint16_t over = n[x] > h ? n[x] - h : 0, under = n[x] < l ? l - n[x] : 0;
		uint16_t e = over > under ? over : under;
		uint16_t d = a[x] > b[x] ? a[x] - b[x] : b[x] - a[x];
		top[x] = e > top[x] ? e : top[x];
		far[x] = d > far[x] ? d : far[x];
		near[x] += d < most_split ? d : most_split;
	}
}

void NAME(vr_compare)(uint16_t *peak, uint16_t *split, uint32_t *sum, const uint16_t *now, const uint16_t *before, const uint16_t *after, vr_size s, int most_split, int y0, int y1)
{
	int cells = (s.width + SIDE - 1) / SIDE;
	for (int cy = y0; cy < y1; cy++) {
		for (int x0 = 0; x0 < s.width; x0 += RUN) {
			int width = mini(RUN, s.width - x0);
			int left = x0 > 0, right = x0 + width < s.width;
			uint16_t top[RUN] = {0}, far[RUN] = {0}, near[RUN] = {0}; // near: sums of SIDE differences
			uint16_t least[3][RUN + 2], most[3][RUN + 2]; // of the rows y - 1, y and y + 1, in turn
			for (int y = cy * SIDE - 1; y <= mini((cy + 1) * SIDE, s.height); y++) {
				int64_t at = (int64_t)clampi(y, 0, s.height - 1) * s.width + x0;
				uint16_t *low = least[(y + 3) % 3], *high = most[(y + 3) % 3];
				extremes(low + 1 - left, high + 1 - left, before + at - left, after + at - left, width + left + right);
				if (!left) low[0] = low[1], high[0] = high[1];
				if (!right) low[width + 1] = low[width], high[width + 1] = high[width];
				if (y <= cy * SIDE) continue;
				at = (int64_t)(y - 1) * s.width + x0;
				compare_row(top, far, near, least, most, now + at, before + at, after + at, most_split, width);
			}
			for (int x = 0; x < width; x += SIDE) {
				uint16_t p = 0, f = 0;
				uint32_t total = 0;
				for (int i = x; i < mini(x + SIDE, width); i++) p = top[i] > p ? top[i] : p, f = far[i] > f ? far[i] : f, total += near[i];
				int i = cy * cells + (x0 + x) / SIDE;
				peak[i] = p, split[i] = f, sum[i] = total;
			}
		}
	}
}
