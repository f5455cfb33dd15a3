#include "glue.h"
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <libavutil/pixdesc.h>
#include <string.h>
#include <x264.h>

int vf_pad(AVFrame *dst, const AVFrame *src)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(src->format);
	if (!d)
		return AVERROR(EINVAL);
	int err = av_frame_copy_props(dst, src);
	for (int p = 0; p < d->nb_components && err >= 0; p++) {
		int chroma = p == 1 || p == 2, sample = (d->comp[p].depth + 7) / 8;
		int sx = chroma ? d->log2_chroma_w : 0, sy = chroma ? d->log2_chroma_h : 0;
		int width = AV_CEIL_RSHIFT(src->width, sx), height = AV_CEIL_RSHIFT(src->height, sy);
		int full = AV_CEIL_RSHIFT(dst->width, sx), lines = AV_CEIL_RSHIFT(dst->height, sy);
		for (int y = 0; y < lines; y++) {
			int from = y < height ? y : height - 1;
			uint8_t *to = dst->data[p] + (ptrdiff_t)y * dst->linesize[p];
			memcpy(to, src->data[p] + (ptrdiff_t)from * src->linesize[p], (size_t)width * sample);
			for (int x = width; x < full; x++)
				memcpy(to + x * sample, to + (width - 1) * sample, sample);
		}
	}
	return err;
}

static enum AVPixelFormat surface_format(int format)
{
	switch (format) {
	case AV_PIX_FMT_YUV420P:
		return AV_PIX_FMT_NV12;
	case AV_PIX_FMT_YUV420P10LE:
		return AV_PIX_FMT_P010LE;
	case AV_PIX_FMT_YUV444P10LE:
		return AV_PIX_FMT_YUV444P16LE;
	}
	return format;
}

int vf_encoder_on_device(AVCodecContext *c, void *context, void *stream, int format)
{
	AVBufferRef *device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA), *frames = NULL;
	if (!device)
		return AVERROR(ENOMEM);
	AVCUDADeviceContext *cuda = ((AVHWDeviceContext *)device->data)->hwctx;
	cuda->cuda_ctx = context;
	cuda->stream = stream;
	int err = av_hwdevice_ctx_init(device);
	if (err >= 0 && !(frames = av_hwframe_ctx_alloc(device)))
		err = AVERROR(ENOMEM);
	if (err >= 0) {
		AVHWFramesContext *f = (AVHWFramesContext *)frames->data;
		f->format = AV_PIX_FMT_CUDA;
		f->sw_format = surface_format(format);
		f->width = c->width;
		f->height = c->height;
		err = av_hwframe_ctx_init(frames);
	}
	av_buffer_unref(&device);
	if (err < 0) {
		av_buffer_unref(&frames);
		return err;
	}
	c->hw_frames_ctx = frames;
	c->pix_fmt = AV_PIX_FMT_CUDA;
	c->sw_pix_fmt = surface_format(format);
	c->opaque = c; // by which its messages are known
	return 0;
}

int vf_encoder_surface(AVCodecContext *c, AVFrame *f, struct vf_surface *s)
{
	int err = av_hwframe_get_buffer(c->hw_frames_ctx, f, 0);
	for (int i = 0; err >= 0 && i < 3; i++) {
		s->address[i] = (uint64_t)(uintptr_t)f->data[i];
		s->pitch[i] = f->linesize[i];
	}
	return err;
}

int vf_x264_param(const char *name, const char *value)
{
	x264_param_t p, standard;
	x264_param_default(&p);
	x264_param_default(&standard);
	int err = x264_param_parse(&p, name, value);
	if (err == 0)
		err = p.psz_dump_yuv || p.psz_cqm_file || p.psz_clbin_file || p.b_opencl || p.rc.b_stat_read ||
		      p.rc.b_stat_write || strcmp(p.rc.psz_stat_out, standard.rc.psz_stat_out) ||
		      strcmp(p.rc.psz_stat_in, standard.rc.psz_stat_in);
	x264_param_cleanup(&p);
	return err;
}

int vf_x264_cpu(void)
{
	x264_param_t p;
	x264_param_default(&p);
#ifdef X264_CPU_AVX512
	p.cpu &= ~X264_CPU_AVX512;
#endif
	return (int)p.cpu;
}

int vf_x265_param(const char *name, const char *value)
{
	x265_param *p = x265_param_alloc();
	if (!p)
		return X265_PARAM_BAD_VALUE;
	x265_param_default(p);
	int err = x265_param_parse(p, name, value);
	x265_param_free(p);
	return err;
}
