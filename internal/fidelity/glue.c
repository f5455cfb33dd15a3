#include "glue.h"

AVFrame *vf_describing(const AVFrame *f)
{
	AVFrame *d = av_frame_alloc();
	if (d && av_frame_copy_props(d, f) < 0)
		av_frame_free(&d);
	if (d) {
		d->format = f->format;
		d->width = f->width;
		d->height = f->height;
	}
	return d;
}

int vf_blank(AVFormatContext **fc, AVFrame **f)
{
	*f = av_frame_alloc();
	*fc = avformat_alloc_context();
	if (*f && *fc && avformat_new_stream(*fc, NULL))
		return 0;
	av_frame_free(f);
	avformat_free_context(*fc);
	*fc = NULL;
	return AVERROR(ENOMEM);
}

int vf_order(const AVFrame *f)
{
	if (!(f->flags & AV_FRAME_FLAG_INTERLACED))
		return 0;
	return f->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST ? 1 : 2;
}

int vf_says_the_same(const AVFrame *a, const AVFrame *b)
{
	static const enum AVFrameSideDataType kinds[] = {
		AV_FRAME_DATA_STEREO3D,            AV_FRAME_DATA_SPHERICAL,
		AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,
		AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT, AV_FRAME_DATA_ICC_PROFILE};
	if (a->color_primaries != b->color_primaries || a->color_trc != b->color_trc ||
	    a->chroma_location != b->chroma_location)
		return 0;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const AVFrameSideData *x = av_frame_get_side_data(a, kinds[i]), *y = av_frame_get_side_data(b, kinds[i]);
		if (!x != !y || (x && (x->size != y->size || memcmp(x->data, y->data, x->size))))
			return 0;
	}
	return 1;
}

static int open_decoder(AVCodecContext **dec, const AVStream *st, int threads)
{
	const AVCodecParameters *par = st->codecpar;
	// FFmpeg's own AV1 decoder needs hardware.
	const AVCodec *codec = par->codec_id == AV_CODEC_ID_AV1 ? avcodec_find_decoder_by_name("libdav1d")
	                                                        : avcodec_find_decoder(par->codec_id);
	if (!codec)
		return AVERROR_DECODER_NOT_FOUND;
	if (!(*dec = avcodec_alloc_context3(codec)))
		return AVERROR(ENOMEM);
	int err = avcodec_parameters_to_context(*dec, par);
	(*dec)->pkt_timebase = st->time_base;
	(*dec)->thread_count = threads;
	(*dec)->export_side_data |= AV_CODEC_EXPORT_DATA_FILM_GRAIN;
	return err < 0 ? err : avcodec_open2(*dec, codec, NULL);
}

int vf_decode(AVCodecContext **dec, const AVStream *st, const AVPacket *p, int first, AVFrame **f, int64_t orders[3])
{
	// With one thread, the first frame comes without waiting for others.
	int err = *dec ? 0 : open_decoder(dec, st, first);
	if (err < 0)
		return err;
	AVFrame *whole = av_frame_alloc();
	if (!whole)
		return AVERROR(ENOMEM);
	err = avcodec_send_packet(*dec, p);
	while (err >= 0 && (err = avcodec_receive_frame(*dec, whole)) >= 0) {
		orders[vf_order(whole)]++;
		if (!*f && !(*f = vf_describing(whole)))
			err = AVERROR(ENOMEM);
		av_frame_unref(whole);
		if (first)
			break;
	}
	av_frame_free(&whole);
	return err == AVERROR(EAGAIN) ? 0 : err;
}
