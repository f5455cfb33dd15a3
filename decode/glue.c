#include "glue.h"
#include "_cgo_export.h"
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <libavutil/imgutils.h>
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
#include <libavutil/video_enc_params.h>
#include <math.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdatomic.h>

int vf_stopped(struct vf_stop *stop)
{
	return atomic_load((atomic_int *)&stop->stop);
}

static int ends(void *opaque)
{
	struct vf_stop *stop = opaque;
	if (stop->fc->nb_streams < stop->max_streams)
		return vf_stopped(stop);
	// At the end of the data read so far FFmpeg opens a decoder for each stream, if it may.
	if (!stop->fc->codec_whitelist)
		stop->fc->codec_whitelist = av_strdup("none");
	return 1;
}

void vf_interruptible(AVFormatContext *fc, struct vf_stop *stop, unsigned max_streams)
{
	stop->fc = fc;
	stop->max_streams = max_streams;
	fc->interrupt_callback = (AVIOInterruptCB){ends, stop};
}

void vf_interrupt(struct vf_stop *stop)
{
	atomic_store((atomic_int *)&stop->stop, 1);
}

const char *vf_probe(const char *url, const char *protocols)
{
	AVIOContext *io = NULL;
	AVDictionary *options = NULL;
	const AVInputFormat *format = NULL;
	av_dict_set(&options, "protocol_whitelist", protocols, 0);
	if (avio_open2(&io, url, AVIO_FLAG_READ, NULL, &options) >= 0)
		av_probe_input_buffer2(io, &format, url, NULL, 0, 0);
	avio_closep(&io); // io is NULL where it could not be opened
	av_dict_free(&options);
	return format ? format->name : NULL;
}

AVFormatContext *vf_open_unedited(const char *url, const char *protocols, struct vf_stop *stop)
{
	AVFormatContext *fc = avformat_alloc_context();
	AVDictionary *options = NULL;
	if (!fc)
		return NULL;
	fc->interrupt_callback = (AVIOInterruptCB){ends, stop};
	av_dict_set(&options, "protocol_whitelist", protocols, 0);
	av_dict_set(&options, "advanced_editlist", "0", 0);
	avformat_open_input(&fc, url, av_find_input_format("mov"), &options); // frees fc where it fails
	av_dict_free(&options);
	return fc;
}

// Runs on the thread that drops the last reference to a buffer: the block goes back to its pool.
static void put(void *opaque, uint8_t *data)
{
	(void)data;
	vfPut((uintptr_t)opaque);
}

enum { ALIGN = 64, OVERREAD = 64 };

// FFmpeg checks sides after rounding up for its decoders, which adds at most this many pixels.
enum { PADDED = 64 * ((1 << 16) + (1 << 16)) };

// Called on the decoder's own threads. Sizes follow avcodec_align_dimensions2, since decoders write
// whole macroblocks and may read a little past the end of a plane. The frame gets the only
// reference to its block. The decoder may keep more, and put runs after the last, which may be
// after the decoder is freed.
static int get_buffer(AVCodecContext *c, AVFrame *f, int flags)
{
	if (c->max_pixels != INT_MAX && (int64_t)c->width * c->height > c->max_pixels - PADDED)
		return AVERROR(EINVAL); // before memory is taken for it
	if (!(c->codec->capabilities & AV_CODEC_CAP_DR1) || !vfWanted((uintptr_t)c->opaque, f->format))
		return avcodec_default_get_buffer2(c, f, flags);

	int w = f->width, h = f->height, aligns[AV_NUM_DATA_POINTERS];
	avcodec_align_dimensions2(c, &w, &h, aligns);
	int pitch[4], uneven, err;
	do { // widen until the rows of all planes are aligned, keeping the luma to chroma ratio
		if ((err = av_image_fill_linesizes(pitch, f->format, w)) < 0)
			return err;
		w += w & ~(w - 1);
		uneven = 0;
		for (int i = 0; i < 4; i++)
			uneven |= pitch[i] % ALIGN;
	} while (uneven);

	ptrdiff_t pitches[4];
	size_t sizes[4], offsets[4], total = 0;
	for (int i = 0; i < 4; i++)
		pitches[i] = pitch[i];
	if ((err = av_image_fill_plane_sizes(sizes, f->format, h, pitches)) < 0)
		return err;
	for (int i = 0; i < 4 && sizes[i]; i++) {
		offsets[i] = total;
		total += (sizes[i] + OVERREAD + ALIGN - 1) / ALIGN * ALIGN;
	}
	uint8_t *data = NULL;
	uintptr_t token = vfTake((uintptr_t)c->opaque, total, &data);
	if (!token)
		return AVERROR(ENOMEM);
	f->buf[0] = av_buffer_create(data, total, put, (void *)token, 0);
	if (!f->buf[0]) {
		vfPut(token); // no buffer will
		return AVERROR(ENOMEM);
	}
	for (int i = 0; i < 4 && sizes[i]; i++) {
		f->data[i] = data + offsets[i];
		f->linesize[i] = pitch[i];
	}
	f->extended_data = f->data;
	return 0;
}

void vf_decoder_setup(AVCodecContext *c, AVRational timebase, int64_t max_pixels, uintptr_t decoder)
{
	c->pkt_timebase = timebase;
	if (max_pixels > 0)
		c->max_pixels = max_pixels + PADDED; // the exact limit is get_buffer's
	c->opaque = (void *)decoder; // a cgo handle, never dereferenced here
	c->get_buffer2 = get_buffer;
	c->flags |= AV_CODEC_FLAG_UNALIGNED; // crop to the sample
	c->flags |= AV_CODEC_FLAG_COPY_OPAQUE; // for vf_number
	// Film grain that the stream only describes is not synthesized, since the filter would remove
	// it.
	c->export_side_data |= AV_CODEC_EXPORT_DATA_FILM_GRAIN | AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS;
}

// Called before the first picture and at each change. Without a format the decoder fails.
static enum AVPixelFormat choose_format(AVCodecContext *c, const enum AVPixelFormat *offered)
{
	struct vf_on_device *d = c->hwaccel_context;
	if (d->width && (d->format != c->sw_pix_fmt || d->width != c->coded_width || d->height != c->coded_height)) {
		d->refused = 1;
		return AV_PIX_FMT_NONE;
	}
	d->format = c->sw_pix_fmt;
	d->width = c->coded_width;
	d->height = c->coded_height;
	for (; *offered != AV_PIX_FMT_NONE; offered++)
		if (*offered == AV_PIX_FMT_CUDA)
			return AV_PIX_FMT_CUDA;
	d->refused = 1;
	return AV_PIX_FMT_NONE;
}

struct vf_on_device *vf_decoder_on_device(AVCodecContext *c, void *context, void *stream, int *err)
{
	struct vf_on_device *d = av_mallocz(sizeof *d);
	*err = AVERROR(ENOMEM);
	if (!d || !(d->device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA))) {
		vf_device_free(d);
		return NULL;
	}
	AVCUDADeviceContext *cuda = ((AVHWDeviceContext *)d->device->data)->hwctx;
	cuda->cuda_ctx = context;
	cuda->stream = stream;
	*err = av_hwdevice_ctx_init(d->device);
	if (*err >= 0 && !(c->hw_device_ctx = av_buffer_ref(d->device)))
		*err = AVERROR(ENOMEM);
	if (*err < 0) {
		vf_device_free(d);
		return NULL;
	}
	c->hwaccel_context = d; // NVDEC has no use for it
	c->get_format = choose_format;
	c->apply_cropping = 0; // vf_surface_of crops, also at the left and the top
	c->thread_count = 1;
	c->export_side_data &= ~AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS; // of blocks, which only the device reads
	return d;
}

void vf_decoder_opened(const AVCodecContext *c, struct vf_on_device *d)
{
	d->delay = c->has_b_frames;
	d->transfer = c->color_trc;
}

void vf_decoder_rest(AVCodecContext *c)
{
	avcodec_flush_buffers(c);
	c->opaque = NULL;
}

void vf_decoder_again(AVCodecContext *c, const struct vf_on_device *d, uintptr_t decoder)
{
	c->opaque = (void *)decoder;
	c->has_b_frames = d->delay;
	c->color_trc = d->transfer;
}

void vf_device_free(struct vf_on_device *d)
{
	if (d)
		av_buffer_unref(&d->device);
	av_free(d);
}

int vf_surface_of(AVFrame *f, int format, struct vf_surface *s)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
	if (f->format != AV_PIX_FMT_CUDA || !d)
		return 0;
	int bytes = (d->comp[0].depth + 7) / 8;
	for (int i = 0; i < 3 && f->data[i]; i++) {
		int across = i ? d->log2_chroma_w : 0, down = i ? d->log2_chroma_h : 0;
		int pairs = i && d->log2_chroma_w ? 2 : 1;
		s->address[i] = (uint64_t)(uintptr_t)f->data[i] + (f->crop_top >> down) * (uint64_t)f->linesize[i] +
		                (f->crop_left >> across) * (uint64_t)(pairs * bytes);
		s->pitch[i] = f->linesize[i];
	}
	f->width -= (int)(f->crop_left + f->crop_right);
	f->height -= (int)(f->crop_top + f->crop_bottom);
	f->crop_left = f->crop_right = f->crop_top = f->crop_bottom = 0;
	f->format = format;
	return 1;
}

void vf_strip(AVFrame *f)
{
	for (int i = 0; i < AV_NUM_DATA_POINTERS; i++) {
		av_buffer_unref(&f->buf[i]);
		f->data[i] = NULL;
		f->linesize[i] = 0;
	}
	av_buffer_unref(&f->hw_frames_ctx);
}

int vf_packet(AVPacket *p, const void *data, size_t size, int64_t pts)
{
	int err = size > INT_MAX / 2 ? AVERROR(EINVAL) : av_new_packet(p, (int)size);
	if (err < 0)
		return err;
	memcpy(p->data, data, size);
	p->pts = p->dts = pts;
	return 0;
}

void vf_number(AVPacket *p, uintptr_t n)
{
	p->opaque = (void *)n; // never dereferenced
}

uintptr_t vf_number_of(const AVFrame *f)
{
	return (uintptr_t)f->opaque;
}

int vf_has_components(int format, int components, int depth)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
	if (!d || d->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER))
		return 0;
	int alpha = !!(d->flags & AV_PIX_FMT_FLAG_ALPHA), rgb = !!(d->flags & AV_PIX_FMT_FLAG_RGB);
	if (d->nb_components - alpha != components || rgb != (components == 3))
		return 0;
	for (int i = 0; i < components; i++)
		if (d->comp[i].depth != depth)
			return 0;
	return 1;
}

int vf_is_direct(const AVFrame *f)
{
	return f->buf[0] && !f->buf[1] && vfIsToken((uintptr_t)av_buffer_get_opaque(f->buf[0]));
}

void vf_free_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void vf_matrix(const AVCodecParameters *par, const AVFrame *f, int32_t m[9])
{
	const AVPacketSideData *d = par ? av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data,
	                                                          AV_PKT_DATA_DISPLAYMATRIX)
	                                : NULL;
	const AVFrameSideData *own = av_frame_get_side_data(f, AV_FRAME_DATA_DISPLAYMATRIX);
	if (d && d->size >= 9 * sizeof *m)
		memcpy(m, d->data, 9 * sizeof *m);
	else if (own && own->size >= 9 * sizeof *m)
		memcpy(m, own->data, 9 * sizeof *m);
}

int vf_add_stated(AVFrame *f, const AVCodecParameters *par)
{
	static const struct {
		enum AVPacketSideDataType packet;
		enum AVFrameSideDataType frame;
	} kinds[] = {
		{AV_PKT_DATA_STEREO3D, AV_FRAME_DATA_STEREO3D},
		{AV_PKT_DATA_SPHERICAL, AV_FRAME_DATA_SPHERICAL},
		{AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA},
		{AV_PKT_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL},
		{AV_PKT_DATA_AMBIENT_VIEWING_ENVIRONMENT, AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT},
		{AV_PKT_DATA_ICC_PROFILE, AV_FRAME_DATA_ICC_PROFILE},
	};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const AVPacketSideData *d =
			av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data, kinds[i].packet);
		if (!d)
			continue;
		const AVFrameSideData *own = av_frame_get_side_data(f, kinds[i].frame);
		if (own && own->size == d->size && !memcmp(own->data, d->data, d->size))
			continue;
		av_frame_remove_side_data(f, kinds[i].frame);
		AVFrameSideData *new = av_frame_new_side_data(f, kinds[i].frame, d->size);
		if (!new)
			return AVERROR(ENOMEM);
		memcpy(new->data, d->data, d->size);
	}
	return 0;
}

double vf_rotation(const AVCodecParameters *par)
{
	const AVPacketSideData *d = av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data,
	                                                    AV_PKT_DATA_DISPLAYMATRIX);
	if (!d || d->size < 9 * sizeof(int32_t))
		return 0;
	double degrees = -av_display_rotation_get((const int32_t *)d->data);
	return isnan(degrees) ? 0 : degrees;
}

static int same_side_data(const AVCodecParameters *a, const AVCodecParameters *b)
{
	for (int i = 0; i < a->nb_coded_side_data; i++) {
		const AVPacketSideData *x = &a->coded_side_data[i];
		if (x->type == AV_PKT_DATA_CPB_PROPERTIES) // of no use to a decoder
			continue;
		const AVPacketSideData *y = av_packet_side_data_get(b->coded_side_data, b->nb_coded_side_data, x->type);
		if (!y || y->size != x->size || memcmp(x->data, y->data, x->size))
			return 0;
	}
	return 1;
}

const char *vf_differ(const AVStream *source, const AVStream *copy)
{
	const AVCodecParameters *a = source->codecpar, *b = copy->codecpar;
	if (a->codec_id != b->codec_id)
		return "codec";
	if (a->format != b->format)
		return "pixel format";
	if (a->width != b->width || a->height != b->height)
		return "size";
	if (a->field_order != b->field_order)
		return "field order";
	if (a->color_range != b->color_range)
		return "colour range";
	if (a->color_space != b->color_space || a->color_primaries != b->color_primaries || a->color_trc != b->color_trc)
		return "colour tags";
	if (a->chroma_location != b->chroma_location)
		return "place of chroma";
	if (a->extradata_size != b->extradata_size ||
	    (a->extradata_size && memcmp(a->extradata, b->extradata, a->extradata_size)))
		return "codec headers";
	if (!same_side_data(a, b) || !same_side_data(b, a))
		return "description (HDR, rotation, 3D)";
	return NULL;
}

// The step of the transform's coefficients, of an orthonormal transform, for a quantiser parameter.
static double step_of(int type, int qp)
{
	switch (type) {
	case AV_VIDEO_ENC_PARAMS_H264:
		return exp2((qp - 4) / 6.0);
	case AV_VIDEO_ENC_PARAMS_MPEG2: // and all relatives of MPEG
		return 1.6 * qp; // they widen the step about zero and, mostly, towards high frequencies
	default:
		return 0;
	}
}

// The same in scripts/ffmpeg-qp.h.
struct vf_qp {
	int type, mult, width, height, stride;
	const int8_t *table;
	int8_t *base;
};

float vf_quantiser(AVFrame *f)
{
	av_frame_remove_side_data(f, AV_FRAME_DATA_VIDEO_ENC_PARAMS); // VP9's, which vf_step also reads
	if (!f->opaque_ref)
		return 0;
	const struct vf_qp *q = (const struct vf_qp *)f->opaque_ref->data;
	double sum = 0;
	for (int y = 0; y < q->height; y++)
		for (int x = 0; x < q->width; x++) {
			double step = step_of(q->type, q->mult * q->table[y * q->stride + x]);
			sum += step * step;
		}
	sum /= q->width * q->height;
	av_buffer_unref(&f->opaque_ref);
	return (float)sqrt(sum);
}

struct vf_fields {
	enum AVCodecID codec;
	AVCodecParserContext *parser;
	AVCodecContext *context;
};

struct vf_fields *vf_fields_open(const AVCodecParameters *par)
{
	switch (par->codec_id) {
	case AV_CODEC_ID_H264:
	case AV_CODEC_ID_MPEG2VIDEO:
	case AV_CODEC_ID_VC1:
	case AV_CODEC_ID_PRORES:
		break;
	default:
		return NULL;
	}
	struct vf_fields *s = av_mallocz(sizeof *s);
	if (!s)
		return NULL;
	s->codec = par->codec_id;
	if (s->codec == AV_CODEC_ID_PRORES)
		return s;
	s->parser = av_parser_init(par->codec_id);
	s->context = avcodec_alloc_context3(NULL);
	if (!s->parser || !s->context || avcodec_parameters_to_context(s->context, par) < 0) {
		vf_fields_close(s);
		return NULL;
	}
	s->parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
	return s;
}

enum AVFieldOrder vf_fields_of(struct vf_fields *s, const AVPacket *p)
{
	if (s->codec == AV_CODEC_ID_PRORES) {
		enum { FLAGS = 20 }; // SMPTE RDD 36, 5.1: behind the size and the name
		static const enum AVFieldOrder orders[] = {AV_FIELD_PROGRESSIVE, AV_FIELD_TT, AV_FIELD_BB, AV_FIELD_UNKNOWN};
		return p->size > FLAGS ? orders[p->data[FLAGS] >> 2 & 3] : AV_FIELD_UNKNOWN;
	}
	uint8_t *out;
	int size;
	s->parser->field_order = AV_FIELD_UNKNOWN;
	av_parser_parse2(s->parser, s->context, &out, &size, p->data, p->size, p->pts, p->dts, p->pos);
	return s->parser->field_order;
}

void vf_fields_close(struct vf_fields *s)
{
	if (!s)
		return;
	av_parser_close(s->parser);
	avcodec_free_context(&s->context);
	av_free(s);
}
