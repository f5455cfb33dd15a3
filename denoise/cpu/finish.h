// What becomes of sums: the samples of the result, or those of the pilot. The arithmetic is that of
// denoise.Reference, operation by operation.

static void finish_pilot(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *restrict out = row_of(p->out, y);
	uint16_t *restrict fine = p->fine_out + (ptrdiff_t)y * p->noisy.width;
	for (int x = 0; x < p->noisy.width; x++) {
		float value = MIDDLE + (float)values[x] / (float)weights[x];
		float rounded = value + 0.5f, steps = (value + VD_FINE_ZERO) * VD_FINE + 0.5f;
		rounded = rounded < 0 ? 0 : rounded > SAMPLE_MAX ? SAMPLE_MAX : rounded;
		steps = steps < 0 ? 0 : steps > UINT16_MAX ? UINT16_MAX : steps;
		out[x] = (int)rounded;
		fine[x] = (int)steps;
	}
}

static void finish_result(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *restrict out = row_of(p->out, y);
	const sample *noisy = row_of(p->noisy, y);
	for (int x = 0; x < p->noisy.width; x++) {
		float value = MIDDLE + (float)values[x] / (float)weights[x];
		value += p->grain * (noisy[x] - value);
		value += 0.5f;
		value = value < 0 ? 0 : value > SAMPLE_MAX ? SAMPLE_MAX : value;
		out[x] = (int)value;
	}
}

static void finish_blend(const vd_pass *p, const int32_t *values, const int32_t *weights, int y)
{
	sample *restrict out = row_of(p->out, y);
	const sample *noisy = row_of(p->noisy, y);
	const uint16_t *fine = p->fine_in + (ptrdiff_t)y * p->noisy.width;
	for (int x = 0; x < p->noisy.width; x++) {
		float value = MIDDLE + (float)values[x] / (float)weights[x];
		float first = fine[x] * (1.0f / VD_FINE) - VD_FINE_ZERO;
		value = (1 - p->blend) * value + p->blend * first;
		value += p->grain * (noisy[x] - value);
		value += 0.5f;
		value = value < 0 ? 0 : value > SAMPLE_MAX ? SAMPLE_MAX : value;
		out[x] = (int)value;
	}
}

void NAME(vd_finish)(const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		const int32_t *values = s.values + (y - top) * s.pitch, *weights = s.weights + (y - top) * s.pitch;
		if (p->fine_out) finish_pilot(p, values, weights, y);
		else if (p->fine_in) finish_blend(p, values, weights, y);
		else finish_result(p, values, weights, y);
	}
}
