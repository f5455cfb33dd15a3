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

static void finish_result(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *out = row_of(p->out, y);
	const sample *noisy = row_of(p->noisy, y);
	int most = most_of(p->noisy);
	float level = level_of(p), unit = 1 / level;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x);
		value += p->grain * (load_wide(noisy + x) * level - value);
		store_samples(out + x, to_whole(in_range(value * unit + 0.5f, most)));
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
