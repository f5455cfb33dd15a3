#include "glue.h"
#include "_cgo_export.h"
#include <libavcodec/avcodec.h>
#include <libavutil/buffer.h>
#include <libavutil/dict.h>
#include <libavutil/imgutils.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stdatomic.h>
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

void vf_set_fields(AVFrame *f, int interlaced, int top_first)
{
	f->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
	if (interlaced)
		f->flags |= AV_FRAME_FLAG_INTERLACED | (top_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
#if FF_API_INTERLACED_FRAME
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	f->interlaced_frame = interlaced;
	f->top_field_first = interlaced && top_first;
#pragma GCC diagnostic pop
#endif
}

int vf_set_extradata(AVCodecParameters *par, const uint8_t *data, int size)
{
	uint8_t *copy = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
	if (!copy)
		return AVERROR(ENOMEM);
	if (size)
		memcpy(copy, data, size);
	av_freep(&par->extradata);
	par->extradata = copy;
	par->extradata_size = size;
	return 0;
}

// Does not free: the memory is Go's, and goes back to it with the frame behind the handle.
static void release(void *opaque, uint8_t *data)
{
	(void)data;
	vfRelease((uintptr_t)opaque);
}

// For the further planes, which release gives back with the first.
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
		// One buffer per plane, since FFmpeg looks for the buffer of a plane. References are taken
		// and dropped for all of them together, so the first one's release is the end of the
		// frame.
		f->buf[i] = av_buffer_create(data[i], (size_t)pitch[i] * rows[i], i ? keep : release,
		                             i ? NULL : (void *)handle, AV_BUFFER_FLAG_READONLY);
		if (!f->buf[i]) {
			if (!i) // else freeing the frame drops buf[0], which releases
				vfRelease(handle);
			av_frame_free(&f);
			return NULL;
		}
	}
	return f;
}

int vf_colourless(AVFrame *f, int fmt)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(fmt);
	int w = AV_CEIL_RSHIFT(f->width, d->log2_chroma_w), h = AV_CEIL_RSHIFT(f->height, d->log2_chroma_h);
	int deep = d->comp[0].depth > 8, pitch = FFALIGN(w << deep, 64);
	size_t samples = (size_t)pitch * h >> deep;
	f->buf[1] = av_buffer_alloc((size_t)pitch * h + 64); // encoders may read a little more
	if (!f->buf[1])
		return AVERROR(ENOMEM);
	if (!deep)
		memset(f->buf[1]->data, 128, samples);
	for (size_t i = 0; deep && i < samples; i++)
		AV_WL16(f->buf[1]->data + 2 * i, 1 << (d->comp[0].depth - 1));
	f->format = fmt;
	f->data[1] = f->data[2] = f->buf[1]->data;
	f->linesize[1] = f->linesize[2] = pitch;
	f->buf[2] = av_buffer_ref(f->buf[1]);
	return f->buf[2] ? 0 : AVERROR(ENOMEM);
}

// ranged is a format without the promise of full range in its name: swscale warns of the others.
static int ranged(int fmt)
{
	switch (fmt) {
	case AV_PIX_FMT_YUVJ411P: return AV_PIX_FMT_YUV411P;
	case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P;
	case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P;
	case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P;
	case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P;
	}
	return fmt;
}

int vf_scale(vf_scaler *s, const AVFrame *src, int src_space, int src_full, uint8_t *const dst[4],
             const int pitch[4], int fmt, int w, int h, int space, int full)
{
	vf_scaler want = {s->sws, src->format, src->width, src->height, src_space, src_full,
	                  fmt, w, h, space, full};
	if (!s->sws || memcmp(s, &want, sizeof want)) {
		sws_freeContext(s->sws);
		memset(s, 0, sizeof *s);
		// Replication if only the subsampling changes: a chroma sample serves the luma samples it
		// was made for, as the filter itself assumes.
		int flags = src->width == w && src->height == h ? SWS_POINT : SWS_BICUBIC;
		flags |= SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
		struct SwsContext *c = sws_alloc_context();
		if (!c)
			return AVERROR(ENOMEM);
		av_opt_set_int(c, "srcw", src->width, 0);
		av_opt_set_int(c, "srch", src->height, 0);
		av_opt_set_int(c, "src_format", ranged(src->format), 0);
		av_opt_set_int(c, "dstw", w, 0);
		av_opt_set_int(c, "dsth", h, 0);
		av_opt_set_int(c, "dst_format", ranged(fmt), 0);
		av_opt_set_int(c, "sws_flags", flags, 0);
		// Ranges that are set later do not make it convert samples of more than 8 bits.
		av_opt_set_int(c, "src_range", src_full, 0);
		av_opt_set_int(c, "dst_range", full, 0);
		int err = sws_init_context(c, NULL, NULL);
		if (err < 0) {
			sws_freeContext(c);
			return err;
		}
		// Fails for formats without YUV on either side, which have no such properties.
		sws_setColorspaceDetails(c, sws_getCoefficients(src_space), src_full,
		                         sws_getCoefficients(space), full, 0, 1 << 16, 1 << 16);
		want.sws = c;
		*s = want;
	}
	int rows = sws_scale(s->sws, (const uint8_t *const *)src->data, src->linesize, 0, src->height, dst,
	                     pitch);
	return rows < 0 ? rows : 0;
}

int vf_has_alpha_mode(const AVStream *st)
{
	const AVDictionaryEntry *mode = av_dict_get(st->metadata, "alpha_mode", NULL, 0);
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(st->codecpar->format);
	int within = d && d->flags & AV_PIX_FMT_FLAG_ALPHA;
	return mode && strcmp(mode->value, "0") && !within;
}

int vf_moves_picture(const AVFrame *f)
{
	const AVFrameSideData *d = av_frame_get_side_data(f, AV_FRAME_DATA_PANSCAN);
	if (!d)
		return 0;
	const AVPanScan *pan = (const AVPanScan *)d->data;
	for (int i = 0; i < 3; i++)
		if (pan->position[i][0] || pan->position[i][1])
			return 1;
	return 0;
}

static int opaque_palette(const AVFrame *f)
{
	const uint32_t *colours = (const uint32_t *)f->data[1];
	for (int y = 0; y < f->height; y++) {
		const uint8_t *row = f->data[0] + (ptrdiff_t)y * f->linesize[0];
		for (int x = 0; x < f->width; x++)
			if (colours[row[x]] >> 24 != 0xff)
				return 0;
	}
	return 1;
}

int vf_transparent(const AVFrame *f)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
	if (!d || !(d->flags & AV_PIX_FMT_FLAG_ALPHA) || !f->data[0])
		return 0;
	if (d->flags & AV_PIX_FMT_FLAG_PAL)
		return !opaque_palette(f);
	if (d->flags & (AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT))
		return 1; // there is an alpha channel, which is not examined
	int alpha = d->nb_components - 1;
	uint16_t *line = av_malloc_array(f->width, sizeof *line);
	if (!line)
		return 0;
	int opaque = (1 << d->comp[alpha].depth) - 1, found = 0;
	for (int y = 0; y < f->height && !found; y++) {
		av_read_image_line(line, (const uint8_t **)f->data, f->linesize, d, 0, y, alpha, f->width, 0);
		for (int x = 0; x < f->width; x++)
			found |= line[x] != opaque;
	}
	av_free(line);
	return found;
}

static atomic_int threshold = AV_LOG_QUIET;

// Returns the owner of a message, as WatchMessages has it; 0 if unknown.
static uintptr_t owner(const void *ctx)
{
	const AVClass *class = ctx ? *(const AVClass *const *)ctx : NULL;
	if (!class)
		return 0;
	if (class == avformat_get_class())
		return (uintptr_t)ctx;
	// Threads of a decoder log with contexts of their own, which share the field opaque.
	if (class == avcodec_get_class())
		return (uintptr_t)((const AVCodecContext *)ctx)->opaque;
	return 0;
}

static _Thread_local vf_size refused;

// FFmpeg drops a size that it refuses, and reports it in its log only.
static void note_refused(const char *format, va_list args)
{
	if (strcmp(format, "Picture size %ux%u is invalid\n"))
		return;
	va_list copy;
	va_copy(copy, args);
	refused.width = va_arg(copy, unsigned);
	refused.height = va_arg(copy, unsigned);
	va_end(copy);
}

vf_size vf_refused(void)
{
	vf_size last = refused;
	refused = (vf_size){0, 0};
	return last;
}

// FFmpeg conceals pictures that H.264 has lost, and reports it only to its developers.
static int worth_watching(int level, const char *format)
{
	return level <= AV_LOG_WARNING || !strcmp(format, "Frame num gap %d %d\n");
}

static void log_line(void *ctx, int level, const char *format, va_list args);

static _Thread_local char *complaint; // NULL: no listener on this thread

void vf_listen(char *first)
{
	if (first)
		av_log_set_callback(log_line);
	complaint = first;
}

// FFmpeg logs on any of its threads. Longer lines are cut.
static void log_line(void *ctx, int level, const char *format, va_list args)
{
	note_refused(format, args);
	if (complaint && (level & 0xff) <= AV_LOG_ERROR) {
		int prefix = 1;
		if (!*complaint)
			av_log_format_line2(ctx, level, format, args, complaint, VF_COMPLAINT, &prefix);
		return;
	}
	uintptr_t who = worth_watching(level & 0xff, format) ? owner(ctx) : 0;
	int show = (level & 0xff) <= atomic_load(&threshold);
	if (!who && !show)
		return;
	char line[1024] = "";
	int prefix = 1;
	int length = av_log_format_line2(ctx, level, format, args, line, sizeof line, &prefix);
	if (who)
		vfLogOwned(who, level & 0xff, line);
	if (show && length >= 0)
		vfLog(level & 0xff, line);
}

int vf_log_start(int level)
{
	int before = atomic_exchange(&threshold, level);
	av_log_set_callback(log_line);
	return before;
}

void vf_log_watch(void)
{
	av_log_set_callback(log_line);
}

int vf_index_entry(AVStream *st, int number, int64_t *pos, int64_t *time, int *hidden)
{
	const AVIndexEntry *e = avformat_index_get_entry(st, number);
	if (!e)
		return 0;
	*pos = e->pos;
	*time = e->timestamp;
	*hidden = !!(e->flags & AVINDEX_DISCARD_FRAME);
	return 1;
}
