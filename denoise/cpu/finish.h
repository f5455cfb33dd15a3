// Sums become samples of the result or of the pilot. The arithmetic equals denoise.Reference's,
// operation by operation.
//
// Rows are rounded up to whole vectors: there is memory for it beyond each row.

INLINE vf mean_at(const int32_t *values, const int32_t *weights)
{
	return MIDDLE + to_float(load_whole(values)) / to_float(load_whole(weights));
}

INLINE vf in_range(vf x, float most) { return vmin(vmax(x, splat(0)), splat(most)); }

static void finish_pilot(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	int depth = 8 + extra_bits(p->noisy) + pilot_bits(p->noisy), shift = depth - 8;
	float steps_of = 1 / pilot_of(p), last = (1 << depth) - 1;
	uint16_t *pilot = p->pilot_out + y * p->noisy.pitch;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x) * steps_of;
		vi steps = to_whole(in_range(value + 0.5f, last));
		store_words(pilot + x, steps);
		if (!p->out.at) continue;
		vf rounded = to_float((steps + (1 << shift >> 1)) >> shift);
		store_bytes(bytes_of(p->out, y) + x, to_whole(in_range(rounded, 255)));
	}
}

INLINE void finish_samples(const vd_pass *p, const int32_t *values, const int32_t *weights, int y, int size)
{
	const sample *noisy = row_of(p->noisy, y);
	float level = level_of(p), unit = 1 << (p->out.depth - 8), last = (1 << p->out.depth) - 1;
	vf rounding = load_row(p->rounding + (y & 7) * 8);
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x);
		value += p->grain * (load_wide(noisy + x) * level - value);
		vi steps = to_whole(in_range(value * unit + rounding, last));
		if (size == 1) store_bytes(bytes_of(p->out, y) + x, steps);
		else store_words((uint16_t *)p->out.at + y * p->out.pitch + x, steps);
	}
}

static void finish_result(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	if (SAMPLE_BITS == 8 && p->out.depth == 8) finish_samples(p, values, weights, y, 1);
	else finish_samples(p, values, weights, y, 2);
}

void NAME(vd_finish)(const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		const int32_t *values = s.values + (y - top) * s.pitch, *weights = s.weights + (y - top) * s.pitch;
		if (p->pilot_out) finish_pilot(p, values, weights, y);
		else finish_result(p, values, weights, y);
	}
}
