// A pass of interlace.blender, bit-exact. A missing sample is a weighted sum of samples around it
// in the estimate and in the estimates of four neighbours, moved by their vectors.
//
// A thread computes a block of 8 columns in two missing rows and copies the two own rows beside
// them. It compares 12 columns, and reads 20 to 40 rows for the comparison and 28 for the sums.
#include "lines.h"

enum {
	ACROSS = 8, BESIDE = 2, COLUMNS = ACROSS + 2 * BESIDE, // columns of a block, and compared columns
	WARPS = 4, THREADS = 32 * WARPS,
	WORDS = COLUMNS * BYTES / 4,
	BEFORE = 0, AFTER = 1, // neighbours
	STILL = 86, STILL_MOST = 8,
};

// A strip holds the compared samples of a row.
struct strip {
	uint32_t w[WORDS];
};
DEVICE int sample_of(const strip &s, int i) { return (int)(s.w[i * BYTES / 4] >> 8 * (i * BYTES % 4)) & (BYTES == 1 ? 0xff : 0xffff); }

// A phase of a component of an estimate.
struct phase {
	const uint8_t *at;
	int pitch, width, height;
};
DEVICE phase phase_at(const vi_args &args, uint64_t estimate, int c, int number) {
	const vi_phases &p = args.estimate[c];
	return {(const uint8_t *)(estimate + p.offset + (uint32_t)number * p.phase), p.pitch, args.plane[c].width, args.plane[c].height};
}

// strip_at loads the samples from column x. Beyond the edges, the edge samples repeat.
DEVICE strip strip_at(const phase &p, int x, int y) {
	const uint8_t *row = p.at + (int64_t)clamp(y, 0, p.height - 1) * p.pitch;
	strip s;
	if (x >= 0 && x + COLUMNS <= p.width) {
		uint32_t all[WORDS + 1];
		const uint8_t *from = row + (x * BYTES & ~3);
		UNROLL
		for (int i = 0; i <= WORDS; i++) all[i] = load_u32(from + 4 * i); // rows are padded by four samples
		UNROLL
		for (int i = 0; i < WORDS; i++) s.w[i] = funnel(all[i], all[i + 1], 8 * (x * BYTES & 3));
		return s;
	}
	UNROLL
	for (int i = 0; i < WORDS; i++) s.w[i] = 0;
	NO_UNROLL
	for (int i = 0; i < COLUMNS; i++) { // shift the next sample in at the top
		const uint8_t *from = row + clamp(x + i, 0, p.width - 1) * BYTES;
		uint32_t next = BYTES == 1 ? load_u8(from) : load_u16(from);
		UNROLL
		for (int k = 0; k < WORDS; k++) s.w[k] = funnel(s.w[k], k + 1 < WORDS ? s.w[k + 1] : next, 8 * BYTES);
	}
	return s;
}

// difference returns the sum of absolute differences of two strips. Above 8 bits, it raises *most
// to the largest difference. At 8 bits, it sets bits in *most if a difference exceeds STILL_MOST.
DEVICE uint32_t difference(const strip &a, const strip &b, uint32_t *most = nullptr) {
	uint32_t sum = 0;
	UNROLL
	for (int i = 0; i < WORDS; i++) {
		if (BYTES == 1) {
			sum = sad4(a.w[i], b.w[i], sum);
			if (!most) continue;
			uint32_t d = absdiff4(a.w[i], b.w[i]);
			*most |= (d | ((d & 0x7f7f7f7fu) + (0x7f - STILL_MOST) * 0x01010101u)) & 0x80808080u;
			continue;
		}
		int low = (int)(a.w[i] & 0xffff) - (int)(b.w[i] & 0xffff), high = (int)(a.w[i] >> 16) - (int)(b.w[i] >> 16);
		uint32_t first = (uint32_t)(low < 0 ? -low : low), second = (uint32_t)(high < 0 ? -high : high);
		sum += first + second;
		if (most) *most = *most > first ? *most : first, *most = *most > second ? *most : second;
	}
	return sum;
}

// inner returns the sum of absolute differences without the columns beside the block.
DEVICE uint32_t inner(const strip &a, const strip &b) {
	uint32_t sum = 0;
	UNROLL
	for (int i = BESIDE; i < BESIDE + ACROSS; i++) {
		int d = sample_of(a, i) - sample_of(b, i);
		sum += (uint32_t)(d < 0 ? -d : d);
	}
	return sum;
}

// A vector in half-pels.
struct vector {
	int x, y;
};
// shifted divides by 1 << shift. It rounds halves away from zero.
DEVICE int shifted(int a, int shift) {
	int sign = a >> 31, size = (a ^ sign) - sign;
	return ((size + ((1 << shift) >> 1)) >> shift ^ sign) - sign;
}
DEVICE vector vector_of(const vi_args &args, int neighbour, int c, int x0, int y0) {
	const vi_plane &p = args.plane[c];
	int x = least((x0 + ACROSS / 2) << p.shift_x >> args.cell_shift, args.cells_x - 1), y = least((y0 + 1) << p.shift_y >> args.cell_shift, args.cells_y - 1);
	uint32_t v = load_u32((const uint8_t *)(args.vectors + neighbour * args.stride) + 4 * (y * args.cells_x + x));
	return {shifted((int16_t)v, p.shift_x), shifted((int16_t)(v >> 16), p.shift_y)};
}

// A neighbour and its vector. In a view, the strip for row y of the block is at (x, y + down).
struct neighbour {
	uint64_t estimate;
	vector v;
	int bottom;
	uint32_t d;
};
struct view {
	phase p;
	int x, down;
};
DEVICE view view_of(const vi_args &args, const neighbour &n, int c, int x0) {
	return {phase_at(args, n.estimate, c, (n.v.x & 1) | (n.v.y & 1) << 1), x0 - BESIDE + (n.v.x >> 1), n.v.y >> 1};
}
DEVICE strip row_of(const view &v, int y) { return strip_at(v.p, v.x, y + v.down); }

// kind_of is 0 if the vector leads to the neighbour's own rows, 2 for its missing rows, 1 between.
DEVICE int kind_of(const neighbour &n, int y0) {
	int q = (2 * y0 + n.v.y - 2 * n.bottom) & 3;
	return q == 0 ? 0 : q == 2 ? 2 : 1;
}

// The unary + selects values instead of references, which would keep neighbours out of registers.
DEVICE neighbour picked(bool second, const neighbour &a, const neighbour &b) {
	return {second ? +b.estimate : +a.estimate, {second ? +b.v.x : +a.v.x, second ? +b.v.y : +a.v.y}, second ? +b.bottom : +a.bottom, second ? +b.d : +a.d};
}
DEVICE neighbour nth(const neighbour *n, int k) {
	neighbour out = n[0];
	UNROLL
	for (int i = 1; i < VI_NEIGHBOURS; i++) out = picked(i == k, out, n[i]);
	return out;
}
DEVICE void swap_if(bool yes, neighbour &a, neighbour &b) {
	neighbour first = picked(yes, a, b), second = picked(!yes, a, b);
	a = first, b = second;
}

// compare sets d of the neighbours: the difference from the field's own rows. It returns the
// difference between the two nearest neighbours in the missing rows.
DEVICE uint32_t compare(const vi_args &args, neighbour *n, int c, int x0, int y0, const strip *own) {
	NO_UNROLL
	for (int k = 0; k < VI_NEIGHBOURS; k++) {
		view v = view_of(args, nth(n, k), c, x0);
		uint32_t d = 0;
		UNROLL
		for (int i = 0; i < 3; i++) d += difference(own[i], row_of(v, y0 - 1 + 2 * i));
		UNROLL
		for (int i = 0; i < VI_NEIGHBOURS; i++) n[i].d = i == k ? +d : +n[i].d;
	}
	if (!args.there[BEFORE] || !args.there[AFTER]) return 2 * n[BEFORE].d / 3;
	view before = view_of(args, n[BEFORE], c, x0), after = view_of(args, n[AFTER], c, x0);
	return difference(row_of(before, y0), row_of(after, y0)) + difference(row_of(before, y0 + 2), row_of(after, y0 + 2));
}

// bin quantises the mean of n differences. Samples have 8 + s bits.
DEVICE int bin(uint32_t sum, uint32_t n, int s) {
	return sum < (3 * n / 2) << s ? 0 : sum < (4 * n) << s ? 1 : sum < (10 * n) << s ? 2 : 3;
}

// The result for a block: two missing rows.
struct rows {
	int v[2][ACROSS];
};

DEVICE void blend(const vi_args &args, int c, int x0, int y0, int bottom, const strip *own, rows &out) {
	int s = args.depth - 8, x = x0 - BESIDE;
	phase now = phase_at(args, args.now, c, 0);
	uint32_t z = 0, largest = 0;
	bool known = false;
	{
		phase before = phase_at(args, args.to[BEFORE], c, 0), after = phase_at(args, args.to[AFTER], c, 0);
		strip a[2], b[2];
		UNROLL
		for (int i = 0; i < 2; i++) a[i] = strip_at(before, x, y0 + 2 * i), b[i] = strip_at(after, x, y0 + 2 * i);
		if (args.there[BEFORE] && args.there[AFTER]) {
			z = 3 * (difference(a[0], b[0], &largest) + difference(a[1], b[1], &largest));
			known = true;
		}
		UNROLL
		for (int k = 2; k < VI_NEIGHBOURS; k++) {
			if (!args.there[k]) continue;
			phase away = phase_at(args, args.to[k], c, 0);
			uint32_t sum = 0;
			UNROLL
			for (int i = 0; i < 3; i++) sum += difference(own[i], strip_at(away, x, y0 - 1 + 2 * i), &largest);
			z = z > 2 * sum ? z : 2 * sum;
			known = true;
		}
		if (known && z <= (uint32_t)STILL << s && largest <= (BYTES == 1 ? 0 : (uint32_t)STILL_MOST << s)) {
			UNROLL
			for (int i = 0; i < 2; i++)
				UNROLL
				for (int k = 0; k < ACROSS; k++) {
					int p = sample_of(a[i], BESIDE + k), q = sample_of(b[i], BESIDE + k); // a missing neighbour equals the other
					out.v[i][k] = (p + q + 1) >> 1;
				}
			return;
		}
	}
	neighbour n[VI_NEIGHBOURS];
	UNROLL
	for (int k = 0; k < VI_NEIGHBOURS; k++) n[k] = {args.to[k], vector_of(args, k, c, x0, y0), args.plane[c].height > 1 ? args.bottoms[k] : 0, 0};
	uint32_t dm, d2;
	NO_UNROLL
	for (bool again = false;; again = true) {
		dm = compare(args, n, c, x0, y0, own);
		d2 = n[2].d < n[3].d ? n[2].d : n[3].d;
		if (again || !known || z > (3 * dm > 2 * d2 ? 3 * dm : 2 * d2)) break;
		UNROLL
		for (int k = 0; k < VI_NEIGHBOURS; k++) n[k].v = {0, 0};
	}
	swap_if(n[1].d < n[0].d, n[0], n[1]);
	swap_if(n[3].d < n[2].d, n[2], n[3]);
	uint32_t contrast = inner(own[0], own[1]) + inner(own[1], own[2]);
	int kind = (kind_of(n[0], y0) * 3 + kind_of(n[1], y0)) * 3 + least(kind_of(n[2], y0), kind_of(n[3], y0));
	kind = ((kind * 4 + bin(dm, 24, s)) * 4 + bin(contrast, 32, s)) * 4 + bin(n[0].d, 36, s);
	kind = kind * 4 + bin(d2, 36, s);

	const uint8_t *code = (const uint8_t *)args.codes + 2 * VI_WEIGHTS * load_u8((const uint8_t *)args.classes + kind);
	auto weight = [&](int i) { return (float)(int16_t)load_u16(code + 2 * i) / 4096; };
	// The sums have the order of the reference.
	strip outer[2] = {strip_at(now, x, y0 - 3), strip_at(now, x, y0 + 5)};
	int base[2][ACROSS];
	float sums[2][ACROSS];
	UNROLL
	for (int i = 0; i < 2; i++)
		UNROLL
		for (int k = 0; k < ACROSS; k++) {
			int at = BESIDE + k;
			base[i][k] = sample_of(own[i], at) + sample_of(own[i + 1], at);
			int further = i ? sample_of(own[0], at) + sample_of(outer[1], at) : sample_of(outer[0], at) + sample_of(own[2], at);
			sums[i][k] = (float)base[i][k] + weight(0) * (float)(further - base[i][k]);
		}
	NO_UNROLL
	for (int m = 0; m < VI_NEIGHBOURS; m++) {
		view v = view_of(args, nth(n, m), c, x0);
		float here = weight(1 + 3 * m), beside = weight(2 + 3 * m), beyond = weight(3 + 3 * m);
		strip row[7];
		UNROLL
		for (int i = 0; i < 7; i++) row[i] = row_of(v, y0 - 2 + i);
		UNROLL
		for (int i = 0; i < 2; i++)
			UNROLL
			for (int k = 0; k < ACROSS; k++) {
				const strip *q = row + 2 + 2 * i;
				int at = BESIDE + k;
				sums[i][k] += here * (float)(2 * sample_of(q[0], at) - base[i][k]);
				sums[i][k] += beside * (float)(sample_of(q[-1], at) + sample_of(q[1], at) - base[i][k]);
				sums[i][k] += beyond * (float)(sample_of(q[-2], at) + sample_of(q[2], at) - base[i][k]);
			}
	}
	UNROLL
	for (int i = 0; i < 2; i++) {
		strip e = strip_at(now, x, y0 + 2 * i);
		UNROLL
		for (int k = 0; k < ACROSS; k++) {
			float sum = sums[i][k] + weight(13) * (float)(2 * sample_of(e, BESIDE + k) - base[i][k]);
			out.v[i][k] = rounded(args, sum * 0.5f);
		}
	}
}

DEVICE void put(const vi_args &args, const vi_samples &to, int x, int y, const int *v) {
	if (y >= to.height) return;
	uint8_t *p = (uint8_t *)to.at + (int64_t)y * to.pitch + (int64_t)x * to.step;
	bool aligned = to.step == BYTES && ((uint64_t)p & 7) == 0 && x + ACROSS <= to.width;
	if (aligned) {
		UNROLL
		for (int i = 0; i < BYTES; i++) {
			uint32_t w[2] = {0, 0};
			UNROLL
			for (int k = 0; k < 8 / BYTES; k++) w[k * BYTES / 4] |= (uint32_t)v[i * 4 + k] << (BYTES == 1 ? 0 : args.shift) << 8 * (k * BYTES % 4);
			store_u64(p + 8 * i, uint2{w[0], w[1]});
		}
		return;
	}
	UNROLL
	for (int i = 0; i < ACROSS; i++) {
		if (x + i >= to.width) return;
		if (BYTES == 1)
			store_u8(p + i * to.step, (uint32_t)v[i]);
		else
			store_u16(p + i * to.step, (uint32_t)v[i] << args.shift);
	}
}

KERNEL_OF(vi_args, VF_NAME, THREADS, 3) {
	tile t = tile_of(args);
	const vi_samples &to = args.result[t.plane];
	int x0 = (t.x * 32 + thread_x() % 32) * ACROSS, top = (t.y * WARPS + thread_x() / 32) * 4;
	if (x0 >= to.width || top >= to.height) return;
	int bottom = to.height > 1 ? args.bottom : 0, y0 = top + 1 - bottom;
	phase now = phase_at(args, args.now, t.plane, 0);
	strip own[3];
	UNROLL
	for (int i = 0; i < 3; i++) own[i] = strip_at(now, x0 - BESIDE, y0 - 1 + 2 * i);
	rows made;
	if (y0 < to.height) {
		blend(args, t.plane, x0, y0, bottom, own, made);
		put(args, to, x0, y0, made.v[0]);
		put(args, to, x0, y0 + 2, made.v[1]);
	}
	UNROLL
	for (int i = 0; i < 2; i++) {
		int copied[ACROSS];
		UNROLL
		for (int k = 0; k < ACROSS; k++) copied[k] = bottom ? sample_of(own[1 + i], BESIDE + k) : sample_of(own[i], BESIDE + k);
		put(args, to, x0, top + 2 * i + bottom, copied);
	}
}
