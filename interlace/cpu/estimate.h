// The first estimate of a field's missing rows: interlace.Net, with the same bits. Each sum is in
// the order of the reference, and -ffp-contract=off keeps products and sums apart.

enum { CHUNK = 64, UNITS = CHUNK + 2 };

// load_levels sets n samples from column x on, in 8-bit levels.
INLINE void load_levels(float *restrict out, vi_plane p, int y, int x, int n, float scale)
{
	const sample *row = row_of(p, y) + x;
	for (int i = 0; i < n; i++) out[i] = row[i] * scale;
}

// compare sets the units of the gap below a row of the lines, from column x - 1 on.
INLINE void compare(float (*restrict unit)[UNITS], const vi_net *net, vi_plane lines, int above, int x, int n, float scale)
{
	float up[UNITS + 2 * VI_REACH], down[UNITS + 2 * VI_REACH];
	load_levels(up, lines, above, x - 1 - VI_REACH, n + 2 + 2 * VI_REACH, scale);
	load_levels(down, lines, above + 1, x - 1 - VI_REACH, n + 2 + 2 * VI_REACH, scale);
	for (int i = 0; i < VI_PAIRS; i++) {
		for (int k = 0; k < n + 2; k++) {
			float sum = 0;
			for (int j = 0; j < VI_WIDTH; j++) sum += net->pair[i][j] * (up[k + j] - down[k + VI_WIDTH - 1 - j]);
			unit[i][k] = sum < 0 ? -sum : sum;
		}
	}
}

// estimate_row makes n missing samples from column x on, below row `above` of the lines. The units
// are those of the gap above, of this one, and of the one below.
INLINE void estimate_row(sample *restrict out, const vi_net *net, vi_plane lines, int above, float (*const *unit)[UNITS], int x, int n, float scale, float step)
{
	enum { EDGE = VI_REACH };
	float row[6][CHUNK + 2 * EDGE], sums[VI_SUMS][CHUNK], units[VI_FLAT + VI_PAIRS][CHUNK];
	for (int i = 0; i < 6; i++) load_levels(row[i], lines, above - 2 + i, x - EDGE, n + 2 * EDGE, scale);
	for (int j = 0; j < VI_WIDTH; j++) {
		for (int k = 0; k < n; k++) sums[j][k] = row[2][k + j] + row[3][k + VI_WIDTH - 1 - j];
		for (int k = 0; k < n; k++) sums[VI_WIDTH + j][k] = row[1][k + j] + row[4][k + VI_WIDTH - 1 - j];
	}
	for (int j = 0; j < 3; j++)
		for (int k = 0; k < n; k++) sums[2 * VI_WIDTH + j][k] = row[0][k + EDGE + j - 1] + row[5][k + EDGE + 1 - j];
	for (int i = 0; i < VI_FLAT; i++) {
		for (int k = 0; k < n; k++) {
			float sum = net->flat_bias[i];
			for (int j = 0; j < VI_SUMS; j++) sum += net->flat[i][j] * sums[j][k];
			units[i][k] = sum < 0 ? -sum : sum;
		}
	}
	for (int i = 0; i < VI_PAIRS; i++) {
		const float *up = unit[0][i], *here = unit[1][i], *down = unit[2][i];
		for (int k = 0; k < n; k++) {
			float sum = net->centre[i][0] * here[k + 1];
			sum += net->centre[i][1] * (here[k] + here[k + 2]);
			for (int j = 0; j < 3; j++) sum += net->outer[i][j] * (up[k + j] + down[k + 2 - j]);
			units[VI_FLAT + i][k] = sum;
		}
	}
	float most = (1 << lines.depth) - 1;
	for (int k = 0; k < n; k++) {
		float weights = net->mean, total = 0.5f * sums[VI_REACH][k] * net->mean;
		for (int i = 0; i < VI_GATES; i++) {
			float gate = net->gate_bias[i], filtered = 0;
			for (int j = 0; j < VI_FLAT + VI_PAIRS; j++) gate += net->gate[i][j] * units[j][k];
			gate = gate > 0 ? gate : 0;
			for (int j = 0; j < VI_SUMS; j++) filtered += net->filter[i][j] * sums[j][k];
			weights += gate;
			total += gate * filtered;
		}
		float v = (total / weights + net->bias) * step + 0.5f;
		v = v > 0 ? v : 0;
		v = v < most ? v : most;
		out[k] = (int)v;
	}
}

void NAME(vi_estimate)(vi_plane to, vi_plane lines, int parity, const vi_net *net, int y0, int y1)
{
	float step = 1 << (to.depth - 8), scale = 1 / step;
	for (int x = 0; x < to.width; x += CHUNK) {
		int n = to.width - x < CHUNK ? to.width - x : CHUNK;
		float units[3][VI_PAIRS][UNITS]; // of three gaps, by their row above
		int first = 1;
		for (int y = y0; y < y1; y++) {
			sample *out = row_of(to, y) + x;
			if ((y & 1) == parity) {
				memcpy(out, row_of(lines, y / 2) + x, n * sizeof *out);
				continue;
			}
			int above = y / 2 - parity;
			float(*unit[3])[UNITS];
			for (int i = 0; i < 3; i++) {
				unit[i] = units[(above + i + 2) % 3];
				if (first || i == 2) compare(unit[i], net, lines, above - 1 + i, x, n, scale);
			}
			first = 0;
			estimate_row(out, net, lines, above, unit, x, n, scale, step);
		}
	}
}
