#include "glue.h"
#include <libavutil/common.h>
#include <libavutil/pixdesc.h>

// conversion converts the samples of a plane.
typedef struct {
	int from, to;             // bits of a sample
	int from_shift, to_shift; // of samples at the high end of their bytes
	int ends;                 // 0 and the largest sample stay so; otherwise samples are shifted
	uint16_t deeper[1 << 14]; // by sample, if to > from
	uint32_t rounding[64];
} conversion;

static void prepare(conversion *c, const float rounding[64])
{
	uint32_t most = (1u << c->from) - 1, whole = (1u << c->to) - 1;
	if (c->to > c->from) {
		for (uint32_t v = 0; v <= most; v++)
			c->deeper[v] = (c->ends ? (v * whole + most / 2) / most : v << (c->to - c->from)) << c->to_shift;
		return;
	}
	for (int i = 0; i < 64; i++)
		c->rounding[i] = rounding[i] * (c->ends ? most : 1u << (c->from - c->to));
}

static uint32_t sample(const uint8_t *in, int x, const conversion *c)
{
	uint32_t v = c->from > 8 ? ((const uint16_t *)in)[x] >> c->from_shift : in[x];
	return FFMIN(v, (1u << c->from) - 1);
}

// fewer returns a sample with fewer bits.
static uint32_t fewer(uint32_t v, uint32_t rounding, const conversion *c)
{
	uint32_t whole = (1u << c->to) - 1;
	if (!c->ends)
		return FFMIN((v + rounding) >> (c->from - c->to), whole);
	v = v * whole + rounding;
	return (v + (v >> c->from) + 1) >> c->from; // divided by 2^from - 1, exactly
}

static void row(uint8_t *out, const uint8_t *in, int n, int step, const uint32_t *rounding, const conversion *c)
{
	if (c->to > c->from)
		for (int x = 0; x < n; x++)
			((uint16_t *)out)[x] = c->deeper[sample(in, x, c)];
	else if (c->to > 8)
		for (int x = 0; x < n; x++)
			((uint16_t *)out)[x] = fewer(sample(in, x, c), rounding[x / step & 7], c) << c->to_shift;
	else
		for (int x = 0; x < n; x++)
			out[x] = fewer(sample(in, x, c), rounding[x / step & 7], c);
}

void vf_requantise(const vf_samples *dst, const vf_samples *src, int w, int h, int full, int fields,
                   const float rounding[64])
{
	const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(src->format), *to = av_pix_fmt_desc_get(dst->format);
	int rgb = !!(from->flags & AV_PIX_FMT_FLAG_RGB);
	int components = from->nb_components - !!(from->flags & AV_PIX_FMT_FLAG_ALPHA);
	conversion c;
	for (int p = 0; p < 4; p++) {
		int step = 0; // components in the plane
		for (int i = 0; i < components; i++)
			step += from->comp[i].plane == p;
		if (!step)
			break;
		c.from = from->comp[0].depth, c.to = to->comp[0].depth;
		c.from_shift = from->comp[0].shift, c.to_shift = to->comp[0].shift;
		c.ends = rgb || (full && !p);
		if (p < 2)
			prepare(&c, rounding);
		int columns = rgb || !p ? w : AV_CEIL_RSHIFT(w, from->log2_chroma_w);
		int rows = rgb || !p ? h : AV_CEIL_RSHIFT(h, from->log2_chroma_h);
		for (int y = 0; y < rows; y++)
			row(dst->data[p] + (ptrdiff_t)y * dst->pitch[p], src->data[p] + (ptrdiff_t)y * src->pitch[p],
			    columns * step, step, c.rounding + (y / fields & 7) * 8, &c);
	}
}
