#include "glue.h"
#include <libavutil/imgutils.h>
#include <libavutil/intreadwrite.h>

enum { PLANE = 3, ALIGN = 64 };

static const AVComponentDescriptor *alpha_of(int fmt)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(fmt);
	const int unread = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT;
	return d && d->flags & AV_PIX_FMT_FLAG_ALPHA && !(d->flags & unread) ? &d->comp[d->nb_components - 1]
	                                                                      : NULL;
}

static enum AVPixelFormat gray(int depth)
{
	switch (depth) {
	case 8: return AV_PIX_FMT_GRAY8;
	case 9: return AV_PIX_FMT_GRAY9LE;
	case 10: return AV_PIX_FMT_GRAY10LE;
	case 12: return AV_PIX_FMT_GRAY12LE;
	case 14: return AV_PIX_FMT_GRAY14LE;
	case 16: return AV_PIX_FMT_GRAY16LE;
	}
	return AV_PIX_FMT_NONE;
}

static AVFrame *picture(int fmt, int w, int h)
{
	AVFrame *f = av_frame_alloc();
	if (!f)
		return NULL;
	f->format = fmt;
	f->width = w;
	f->height = h;
	if (av_frame_get_buffer(f, 0) < 0)
		av_frame_free(&f);
	return f;
}

int vf_copy_component(const AVFrame *f, int component, uint8_t *to, ptrdiff_t pitch)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
	uint16_t *line = av_malloc_array(f->width, sizeof *line);
	if (!line)
		return 0;
	for (int y = 0; y < f->height; y++, to += pitch) {
		av_read_image_line(line, (const uint8_t **)f->data, f->linesize, d, 0, y, component, f->width, 0);
		for (int x = 0; x < f->width; x++) {
			if (d->comp[component].depth == 8)
				to[x] = line[x];
			else
				AV_WL16(to + 2 * x, line[x]);
		}
	}
	av_free(line);
	return 1;
}

// Reads alpha that lies among other samples, or highest byte first.
static AVFrame *separated(const AVFrame *src, const AVPixFmtDescriptor *d, int fmt)
{
	AVFrame *f = picture(fmt, src->width, src->height);
	if (f && !vf_copy_component(src, d->nb_components - 1, f->data[0], f->linesize[0]))
		av_frame_free(&f);
	return f;
}

// Shows the plane of alpha without a copy.
static AVFrame *shown(const AVFrame *src, int fmt)
{
	AVBufferRef *memory = av_frame_get_plane_buffer(src, PLANE);
	AVFrame *f = memory ? av_frame_alloc() : NULL;
	if (!f)
		return NULL;
	f->format = fmt;
	f->width = src->width;
	f->height = src->height;
	f->data[0] = src->data[PLANE];
	f->linesize[0] = src->linesize[PLANE];
	if (!(f->buf[0] = av_buffer_ref(memory)))
		av_frame_free(&f);
	return f;
}

static AVFrame *scaled(const AVFrame *src, int w, int h)
{
	vf_scaler s = {0};
	AVFrame *f = picture(src->format, w, h);
	if (f && vf_scale(&s, src, SWS_CS_DEFAULT, 1, f->data, f->linesize, f->format, w, h, SWS_CS_DEFAULT, 1) < 0)
		av_frame_free(&f);
	sws_freeContext(s.sws);
	return f;
}

int vf_alpha(const AVFrame *src, int w, int h, AVFrame **alpha)
{
	const AVComponentDescriptor *c = alpha_of(src->format);
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(src->format);
	*alpha = NULL;
	if (!c || gray(c->depth) == AV_PIX_FMT_NONE)
		return 0;
	int apart = c->plane == PLANE && (c->depth == 8 || !(d->flags & AV_PIX_FMT_FLAG_BE));
	AVFrame *f = apart ? shown(src, gray(c->depth)) : separated(src, d, gray(c->depth));
	if (f && (f->width != w || f->height != h)) {
		AVFrame *other = scaled(f, w, h);
		av_frame_free(&f);
		f = other;
	}
	*alpha = f;
	return f ? 0 : AVERROR(ENOMEM);
}

static int depth_of(const AVFrame *gray) { return av_pix_fmt_desc_get(gray->format)->comp[0].depth; }

static const uint8_t *row_of(const AVFrame *f, int y) { return f->data[0] + (ptrdiff_t)y * f->linesize[0]; }

AVFrame *vf_alpha_of_field(const AVFrame *alpha, int bottom)
{
	int width = alpha->width, last = alpha->height - 1, deep = depth_of(alpha) > 8;
	AVFrame *f = picture(alpha->format, width, alpha->height);
	for (int y = 0; f && y <= last; y++) {
		int own = !last || (y & 1) == bottom;
		const uint8_t *a = row_of(alpha, own ? y : y ? y - 1 : 1), *b = row_of(alpha, own ? y : y < last ? y + 1 : y - 1);
		uint8_t *to = f->data[0] + (ptrdiff_t)y * f->linesize[0];
		for (int x = 0; x < width; x++) {
			if (deep)
				AV_WL16(to + 2 * x, (AV_RL16(a + 2 * x) + AV_RL16(b + 2 * x) + 1) >> 1);
			else
				to[x] = (a[x] + b[x] + 1) >> 1;
		}
	}
	return f;
}

// Adds a plane for alpha to a picture without one: alpha's own plane if it fits.
static int add_plane(AVFrame *f, int depth, const AVFrame *alpha, int *done)
{
	if (alpha && depth_of(alpha) == depth) {
		*done = 1;
		f->data[PLANE] = alpha->data[0];
		f->linesize[PLANE] = alpha->linesize[0];
		f->buf[PLANE] = av_buffer_ref(alpha->buf[0]);
		return f->buf[PLANE] ? 0 : AVERROR(ENOMEM);
	}
	int pitch = (f->width * (depth > 8 ? 2 : 1) + ALIGN - 1) / ALIGN * ALIGN;
	f->buf[PLANE] = av_buffer_alloc((size_t)pitch * f->height + ALIGN);
	if (!f->buf[PLANE])
		return AVERROR(ENOMEM);
	f->data[PLANE] = f->buf[PLANE]->data;
	f->linesize[PLANE] = pitch;
	return 0;
}

int vf_set_alpha(AVFrame *f, int fmt, const AVFrame *alpha)
{
	const AVComponentDescriptor *c = alpha_of(fmt);
	if (!c)
		return AVERROR(EINVAL);
	if (f->format != fmt) {
		int done = 0, err = add_plane(f, c->depth, alpha, &done);
		f->format = fmt;
		if (err < 0 || done)
			return err;
	}
	int big = !!(av_pix_fmt_desc_get(fmt)->flags & AV_PIX_FMT_FLAG_BE);
	unsigned most = (1u << c->depth) - 1, deep = alpha ? depth_of(alpha) : c->depth, from = (1u << deep) - 1;
	for (int y = 0; y < f->height; y++) {
		uint8_t *to = f->data[c->plane] + (ptrdiff_t)y * f->linesize[c->plane] + c->offset;
		const uint8_t *row = alpha ? alpha->data[0] + (ptrdiff_t)y * alpha->linesize[0] : NULL;
		for (int x = 0; x < f->width; x++, to += c->step) {
			unsigned v = !row ? from : deep > 8 ? AV_RL16(row + 2 * x) : row[x];
			v = (FFMIN(v, from) * most + from / 2) / from;
			if (c->depth == 8)
				*to = v;
			else if (big)
				AV_WB16(to, v);
			else
				AV_WL16(to, v);
		}
	}
	return 0;
}
