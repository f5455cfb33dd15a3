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
	sample *out = row_of(p->out, y);
	uint16_t *fine = p->fine_out + y * p->noisy.pitch;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x);
		store_samples(out + x, to_whole(in_range(value + 0.5f, SAMPLE_MAX)));
		store_words(fine + x, to_whole(in_range((value + VD_FINE_ZERO) * VD_FINE + 0.5f, UINT16_MAX)));
	}
}

static void finish_result(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *out = row_of(p->out, y);
	const sample *noisy = row_of(p->noisy, y);
	const uint16_t *fine = p->fine_in + y * p->noisy.pitch;
	for (int x = 0; x < p->noisy.width; x += VL) {
		vf value = mean_at(values + x, weights + x);
		if (p->fine_in) {
			vf first = load_words(fine + x) * (1.0f / VD_FINE) - VD_FINE_ZERO;
			value = (1 - p->blend) * value + p->blend * first;
		}
		value += p->grain * (load_wide(noisy + x) - value);
		store_samples(out + x, to_whole(in_range(value + 0.5f, SAMPLE_MAX)));
	}
}

void NAME(vd_finish)(const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		const int32_t *values = s.values + (y - top) * s.pitch, *weights = s.weights + (y - top) * s.pitch;
		if (p->fine_out) finish_pilot(p, values, weights, y);
		else finish_result(p, values, weights, y);
	}
}
