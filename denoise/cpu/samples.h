// The samples of frames, into planes and back.

// read_sample converts a sample in a frame, in two bytes with shift bits below it. The two bytes
// may hold more than the depth allows.
INLINE sample read_sample(const uint8_t *p, int shift, int most)
{
	sample v;
	memcpy(&v, p, sizeof v);
	return SAMPLE_BITS == 8 ? v : mini(v >> shift, most);
}

// The compiler vectorises these where it knows the step.
INLINE void read_row(sample *restrict out, const uint8_t *in, int step, int width, int shift, int most)
{
	for (int x = 0; x < width; x++) out[x] = read_sample(in + x * step, shift, most);
}

INLINE void write_row(uint8_t *restrict out, const sample *in, int step, int size, int width, int shift)
{
	for (int x = 0; x < width; x++) {
		uint16_t v = in[x] << shift;
		memcpy(out + x * step, &v, size); // the lower byte first
	}
}

INLINE void write_rows(uint8_t *to, ptrdiff_t pitch, int step, int size, int shift, vd_plane from, int width, int height)
{
	for (int y = 0; y < height; y++) write_row(to + y * pitch, row_of(from, y), step, size, width, shift);
}

void NAME(vd_load)(vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int shift, int width, int height)
{
	enum { SIZE = sizeof(sample) };
	int most = most_of(to);
	for (int y = 0; y < to.height; y++) {
		sample *row = row_of(to, y);
		if (y >= height) {
			memcpy(row, row_of(to, height - 1), to.width * SIZE);
			continue;
		}
		const uint8_t *in = from + y * pitch;
		if (step == SIZE) read_row(row, in, SIZE, width, shift, most);
		else read_row(row, in, 2 * SIZE, width, shift, most); // NV12
		for (int x = width; x < to.width; x++) row[x] = row[width - 1];
	}
}

void NAME(vd_save)(uint8_t *to, ptrdiff_t pitch, int step, int size, int shift, vd_plane from, int width, int height)
{
	if (size == 2 && step == 2) write_rows(to, pitch, 2, 2, shift, from, width, height);
	else if (size == 2) write_rows(to, pitch, 4, 2, shift, from, width, height);
#if SAMPLE_BITS == 8
	else if (step == 1) write_rows(to, pitch, 1, 1, 0, from, width, height);
	else write_rows(to, pitch, 2, 1, 0, from, width, height);
#endif
}

void NAME(vd_pad)(vd_plane p)
{
	for (int y = 0; y < p.height; y++) {
		sample *row = row_of(p, y);
		for (int i = 1; i <= VD_PAD; i++) row[-i] = row[0];
		for (int i = 0; i < 2 * VD_PAD; i++) row[p.width + i] = row[p.width - 1];
	}
	size_t whole = (p.width + 3 * VD_PAD) * sizeof(sample);
	for (int i = 1; i <= VD_PAD; i++) {
		memcpy(row_of(p, -i) - VD_PAD, row_of(p, 0) - VD_PAD, whole);
		memcpy(row_of(p, p.height - 1 + i) - VD_PAD, row_of(p, p.height - 1) - VD_PAD, whole);
	}
}
