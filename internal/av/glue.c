#include "glue.h"
#include "_cgo_export.h"
#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <string.h>

int vf_describe(int pix_fmt, vf_pixdesc *out)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(pix_fmt);
	if (!d)
		return -1;
	out->depth = d->comp[0].depth;
	for (int i = 1; i < d->nb_components; i++)
		if (d->comp[i].depth > out->depth)
			out->depth = d->comp[i].depth;
	out->rgb = !!(d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
	out->gray = d->nb_components < 3 && !out->rgb;
	out->alpha = !!(d->flags & AV_PIX_FMT_FLAG_ALPHA);
	out->log2w = d->log2_chroma_w;
	out->log2h = d->log2_chroma_h;
	return 0;
}

AVFrame *vf_props(const AVFrame *src)
{
	AVFrame *f = av_frame_alloc();
	if (f && av_frame_copy_props(f, src) < 0)
		av_frame_free(&f);
	return f;
}

static void release(void *opaque, uint8_t *data)
{
	(void)data;
	vfRelease((uintptr_t)opaque);
}

static void keep(void *opaque, uint8_t *data)
{
	(void)opaque;
	(void)data;
}

AVFrame *vf_wrap(int pix_fmt, int width, int height, uint8_t *const data[4], const int pitch[4],
                 const int rows[4], uintptr_t handle)
{
	AVFrame *f = av_frame_alloc();
	if (!f) {
		vfRelease(handle);
		return NULL;
	}
	f->format = pix_fmt;
	f->width = width;
	f->height = height;
	for (int i = 0; i < 4 && data[i]; i++) {
		f->data[i] = data[i];
		f->linesize[i] = pitch[i];
		// One reference a plane, since FFmpeg asks which buffer a plane lies in; the last one releases.
		f->buf[i] = av_buffer_create(data[i], (size_t)pitch[i] * rows[i], i ? keep : release,
		                             i ? NULL : (void *)handle, AV_BUFFER_FLAG_READONLY);
		if (!f->buf[i]) {
			if (!i)
				vfRelease(handle);
			av_frame_free(&f);
			return NULL;
		}
	}
	return f;
}

int vf_scale(vf_scaler *s, const AVFrame *src, int src_space, int src_full, uint8_t *const dst[4],
             const int pitch[4], int fmt, int w, int h, int space, int full)
{
	vf_scaler want = {s->sws, src->format, src->width, src->height, src_space, src_full,
	                  fmt, w, h, space, full};
	if (!s->sws || memcmp(s, &want, sizeof want)) {
		sws_freeContext(s->sws);
		memset(s, 0, sizeof *s);
		// Replication where only the subsampling changes: a chroma sample serves the luma samples it
		// was made for, which is what the filter itself assumes.
		int flags = src->width == w && src->height == h ? SWS_POINT : SWS_BICUBIC;
		flags |= SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
		struct SwsContext *c = sws_getContext(src->width, src->height, src->format, w, h, fmt, flags,
		                                      NULL, NULL, NULL);
		if (!c)
			return AVERROR(ENOMEM);
		// Refused for formats without YUV on either side, where there is nothing to set.
		sws_setColorspaceDetails(c, sws_getCoefficients(src_space), src_full,
		                         sws_getCoefficients(space), full, 0, 1 << 16, 1 << 16);
		want.sws = c;
		*s = want;
	}
	int rows = sws_scale(s->sws, (const uint8_t *const *)src->data, src->linesize, 0, src->height, dst,
	                     pitch);
	return rows < 0 ? rows : 0;
}

static int threshold = AV_LOG_WARNING;

// FFmpeg logs from any of its threads. Lines longer than the buffer are cut, never overrun.
static void log_line(void *ctx, int level, const char *format, va_list args)
{
	if ((level & 0xff) > threshold)
		return;
	char line[1024];
	int prefix = 1;
	if (av_log_format_line2(ctx, level, format, args, line, sizeof line, &prefix) >= 0)
		vfLog(level & 0xff, line);
}

void vf_log_start(int level)
{
	threshold = level;
	av_log_set_callback(log_line);
}
