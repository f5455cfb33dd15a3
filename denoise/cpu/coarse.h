// Pictures of half the size, and the changes that the passes over them make at full size. The
// arithmetic equals denoise/plane's.

// vd_shrink makes samples of the sums of 2x2, as deep as 16 bits allow.
void NAME(vd_shrink)(vd_plane to, vd_plane from, int y0, int y1)
{
	int shift = from.depth + 2 - to.depth, round = 1 << shift >> 1;
	for (int y = y0; y < y1; y++) {
		const sample *a = row_of(from, 2 * y), *b = row_of(from, 2 * y + 1);
		uint16_t *restrict out = (uint16_t *)to.at + y * to.pitch;
		for (int x = 0; x < to.width; x++) {
			out[x] = (a[2 * x] + a[2 * x + 1] + b[2 * x] + b[2 * x + 1] + round) >> shift;
		}
	}
}

// vd_difference sets by how much the sums of 2x2 samples differ from those that half has.
void NAME(vd_difference)(vd_change c, vd_plane of, vd_plane half, int y0, int y1)
{
	int shift = of.depth + 2 - half.depth;
	for (int y = y0; y < y1; y++) {
		const sample *a = row_of(of, 2 * y), *b = row_of(of, 2 * y + 1);
		const uint16_t *to = (const uint16_t *)half.at + y * half.pitch;
		int32_t *restrict out = c.at + y * c.pitch;
		for (int x = 0; x < half.width; x++) {
			out[x] = (to[x] << shift) - (a[2 * x] + a[2 * x + 1] + b[2 * x] + b[2 * x + 1]);
		}
	}
}

// vd_apply adds a change, interpolated.
void NAME(vd_apply)(vd_plane p, vd_change c, int y0, int y1)
{
	enum { BITS = 4 + 2 + VD_SHARE_BITS, RUN = 256 }; // of the weights, the sums and the share; columns
	int most = most_of(p);
	int32_t columns[RUN + 2], *here = columns + 1; // of the change, three times this row and the next
	for (int y = y0; y < y1; y++) {
		const int32_t *a = c.at + mini(y / 2, c.height - 1) * c.pitch;
		const int32_t *b = c.at + clampi(y / 2 + 2 * (y & 1) - 1, 0, c.height - 1) * c.pitch;
		for (int x0 = 0; x0 < p.width; x0 += 2 * RUN) {
			sample *restrict out = row_of(p, y) + x0;
			int n = mini(RUN, (p.width - x0 + 1) / 2), first = x0 / 2;
			int inside = mini(n + 1, c.width - first); // an odd width has one column more than halves
			for (int x = first > 0 ? -1 : 0; x < inside; x++) here[x] = c.share * (3 * a[first + x] + b[first + x]);
			if (first == 0) here[-1] = here[0];
			for (int x = inside; x <= n; x++) here[x] = here[x - 1];
			int pairs = mini(n, (p.width - x0) / 2);
			for (int x = 0; x < pairs; x++) {
				int left = 3 * here[x] + here[x - 1] + (1 << (BITS - 1)), right = 3 * here[x] + here[x + 1] + (1 << (BITS - 1));
				out[2 * x] = clampi(out[2 * x] + (left >> BITS), 0, most);
				out[2 * x + 1] = clampi(out[2 * x + 1] + (right >> BITS), 0, most);
			}
			if (pairs < n) out[2 * pairs] = clampi(out[2 * pairs] + ((3 * here[pairs] + here[pairs - 1] + (1 << (BITS - 1))) >> BITS), 0, most);
		}
	}
}
