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

static int open_decoder(AVCodecContext **dec, const AVStream *st)
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
	(*dec)->thread_count = 1; // the first frame comes without waiting for others
	(*dec)->export_side_data |= AV_CODEC_EXPORT_DATA_FILM_GRAIN;
	return err < 0 ? err : avcodec_open2(*dec, codec, NULL);
}

int vf_decode_first(AVCodecContext **dec, const AVStream *st, const AVPacket *p, AVFrame **f)
{
	int err = *dec ? 0 : open_decoder(dec, st);
	if (err < 0)
		return err;
	AVFrame *whole = av_frame_alloc();
	if (!whole)
		return AVERROR(ENOMEM);
	if ((err = avcodec_send_packet(*dec, p)) >= 0)
		err = avcodec_receive_frame(*dec, whole);
	if (err >= 0 && !(*f = vf_describing(whole)))
		err = AVERROR(ENOMEM);
	av_frame_free(&whole);
	return err == AVERROR(EAGAIN) ? 0 : err;
}
