// What becomes of sums: the samples of the result, or those of the pilot. The arithmetic is that of
// denoise.Reference, operation by operation.

//
// Rows are rounded up to whole vectors: there is memory for it beyond each row.

INLINE vf mean_at(const int32_t *values, const int32_t *weights)
{
	return MIDDLE + to_float(load_whole(values)) / to_float(load_whole(weights));
}

INLINE vf in_range(vf x, float most) { return vmin(vmax(x, splat(0)), splat(most)); }

static void finish_pilot(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	enum { STEPS = 1 << VD_PILOT_BITS };
	uint16_t *pilot = p->pilot_out + y * p->noisy.pitch;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x) * STEPS;
		vi steps = to_whole(in_range(value + 0.5f, STEPS * (SAMPLE_MAX + 1) - 1));
		store_words(pilot + x, steps);
		if (!p->out.at) continue;
		vf rounded = to_float((steps + STEPS / 2) >> VD_PILOT_BITS);
		store_samples(row_of(p->out, y) + x, to_whole(in_range(rounded, SAMPLE_MAX)));
	}
}

static void finish_result(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *out = row_of(p->out, y);
	const sample *noisy = row_of(p->noisy, y);
	const uint16_t *pilot = p->pilot + y * p->noisy.pitch;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x);
		if (p->blend > 0) value = (1 - p->blend) * value + p->blend * load_pilot(pilot + x);
		value += p->grain * (load_wide(noisy + x) - value);
		store_samples(out + x, to_whole(in_range(value + 0.5f, SAMPLE_MAX)));
	}
}

void NAME(vd_finish)(const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		const int32_t *values = s.values + (y - top) * s.pitch, *weights = s.weights + (y - top) * s.pitch;
		if (p->pilot_out) finish_pilot(p, values, weights, y);
		else finish_result(p, values, weights, y);
	}
}
